// The memory that the ranks of a communicator share, whether they are threads or processes.
#ifndef TILEWRIGHT_VGPU_NCCL_BOARD_H
#define TILEWRIGHT_VGPU_NCCL_BOARD_H

#include "tilewright/vgpu/nccl/NcclTypes.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

namespace tilewright::vgpu::nccl {

/// A call of a rank, so that ranks can compare their calls. Only plain data: processes share it.
struct CallRecord {
  uint32_t function = 0; // a CallKind
  uint32_t type = 0, operation = 0;
  int32_t root = -1; // or the peer
  uint64_t count = 0;
  uint64_t number = 0; // of the collective, or of the message between two ranks, from 0
};

/// "ncclAllReduce(count 4, ncclFloat32, ncclSum)"
std::string describe(const CallRecord &call);

/// The state of a rank of a communicator.
enum class RankState : uint32_t { absent, joined, revoked, aborted, left };

/// A rank's part of an exchange between hosts. Ranks with equal keys take part in the same
/// exchange.
struct HostLane {
  static constexpr size_t payloadBytes = 400;
  std::atomic<uint64_t> key, step;
  // Indexed by the parity of the step, because the next step may begin before all ranks have read
  // this one.
  char what[2][96];
  char payload[2][payloadBytes];
};

/// The part of the board that one rank writes. All of its counters only grow.
struct RankSlot {
  std::atomic<uint32_t> claimed; // 1: the rank was taken
  std::atomic<RankState> state;
  std::atomic<int32_t> process;
  int32_t device = -1;
  HostLane calls, shrinks;
  std::atomic<uint32_t> connected; // a bit for each kind of collective that was called once
  // Collectives on the device: how many were announced, and how many steps of them are done.
  std::atomic<uint64_t> announced, filled, reduced, drained;
  CallRecord call[2]; // by parity
};

/// Messages from one rank to another.
struct Mailbox {
  std::atomic<uint32_t> senderConnected, receiverConnected;
  std::atomic<uint64_t> sends, receives; // announced
  std::atomic<uint64_t> sent, received;  // done
  std::atomic<uint64_t> filled, drained; // chunks
  CallRecord send, receive;              // the last announced
};

/// Shared memory without a name. The process that makes it keeps its file open until all ranks have
/// joined; the others open it through that process.
class Board {
public:
  /// How a process finds a board; stored in an ncclUniqueId or in an exchanged payload.
  struct Place {
    char magic[8] = {'t', 'w', 'n', 'c', 'c', 'l', '0', '1'};
    int32_t process = 0, file = -1;
    uint64_t inode = 0, nonce = 0;
    bool isValid() const;
  };

  /// Makes the file of a board; `file` is -1 if the host has no memory left.
  static Place create();
  /// Closes the file of a board if this process made it.
  static void close(const Place &place);

  Board() = default;
  ~Board();
  Board(const Board &) = delete;
  Board &operator=(const Board &) = delete;

  /// Maps the board for a communicator of `ranks` ranks; all ranks must pass the same number.
  /// Returns why that is impossible, or an empty text.
  std::string open(const Place &place, int ranks);

  int ranks() const { return count; }
  RankSlot &slot(int rank) const { return slots[rank]; }
  Mailbox &mailbox(int from, int to) const;
  std::byte *mailboxChunk(int from, int to) const;
  size_t mailboxChunkBytes() const { return messageBytes; }
  /// Staging memory of a rank for one step of a collective.
  std::byte *data(int rank, uint64_t step) const;
  std::byte *result(int rank, uint64_t step) const;
  static constexpr size_t chunkBytes = 256 << 10;

  /// The same for all ranks; tells communicators apart in logs.
  uint64_t id() const { return identity; }

  /// Changes whenever a rank calls notify().
  uint32_t changes() const { return *futex; }
  void notify() const;
  /// Waits until changes() differs from `seen`, or until `longest` has passed.
  void wait(uint32_t seen, std::chrono::milliseconds longest) const;

private:
  std::byte *base = nullptr;
  size_t bytes = 0;
  int count = 0;
  size_t messageBytes = 0, dataBegin = 0, mailBegin = 0, chunkBegin = 0;
  uint64_t identity = 0;
  RankSlot *slots = nullptr;
  std::atomic<uint32_t> *futex = nullptr;
};

/// Detects when processes of peers have ended. Thread-safe.
class Peers {
public:
  ~Peers();
  /// A member that joined and whose process ended without leaving; -1 if there is none.
  int ended(const Board &board, std::span<const int> members);

private:
  std::mutex mutex;
  std::unordered_map<int, int> descriptors; // by process; -1: ended before it was watched
};

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_BOARD_H
