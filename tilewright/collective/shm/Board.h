// Board: the control structures that processes of a host share, at the beginning of their arenas.
//
// Only the owner writes a field (except doorbells); all processes read it. Sequence numbers are
// published with release stores, so a reader that has seen one sees everything written before it.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_BOARD_H
#define TILEWRIGHT_COLLECTIVE_SHM_BOARD_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tilewright::collective::shm {

constexpr uint64_t boardMagic = 0x32'6d'68'73'77'6c'69'74; // "tilwshm2"

/// A line of text for error messages. A reader may see a mixture of an old and a new line, which is
/// harmless.
template <size_t words> class SharedText {
public:
  void write(std::string_view text) {
    char bytes[words * 8] = {};
    std::memcpy(bytes, text.data(), std::min(text.size(), sizeof bytes - 1));
    const size_t used = std::min(text.size(), sizeof bytes - 1) / 8 + 1;
    for (size_t i = 0; i < used; ++i) {
      uint64_t word;
      std::memcpy(&word, bytes + 8 * i, 8);
      content[i].store(word, std::memory_order_relaxed);
    }
  }
  std::string read() const {
    char bytes[words * 8 + 1] = {};
    for (size_t i = 0; i < words; ++i) {
      const uint64_t word = content[i].load(std::memory_order_relaxed);
      std::memcpy(bytes + 8 * i, &word, 8);
    }
    return bytes;
  }

private:
  std::atomic<uint64_t> content[words];
};

/// A member's contribution to one collective. Consecutive collectives alternate between two slots,
/// so a slot is reused only after all members have joined the collective in between.
struct Slot {
  enum Form : uint64_t { operands, offsets };
  static constexpr size_t room = 8192 - 24;
  std::atomic<uint64_t> came; // the collective's sequence number in its channel, plus one
  uint64_t site;
  uint64_t form;
  /// Form `operands`: the operands themselves. Form `offsets`: the offset of a table in the arena,
  /// which contains the offset of each operand, then the offset of this member's share of each
  /// result, then the offset of the ragged table.
  std::byte data[room];
};
static_assert(sizeof(Slot) == 8192);

/// The slots of a rank in one clique.
struct alignas(64) SharedChannel {
  Slot slots[2];
  alignas(64) std::atomic<uint64_t> step; // 2 * number + 1: first half done; + 2: done
  alignas(64) SharedText<32> texts[2];    // of the calls in the slots
};

struct alignas(64) RankBoard {
  std::atomic<int64_t> leftRun; // the rank has left all runs up to this one
  std::atomic<uint32_t> core;   // where it last ran, plus one; 0: it sleeps
  SharedText<40> status;
  struct ChannelSlot {
    std::atomic<uint64_t> channel, offset; // 0: none
  };
  static constexpr size_t capacity = 1024;
  ChannelSlot channels[capacity];
};

struct alignas(64) ProcessBoard {
  uint64_t magic, epoch;
  int64_t process;
  uint64_t ranks;
  /// Peers increment this after they have written data, if a thread of this process sleeps.
  alignas(64) std::atomic<uint32_t> doorbell;
  alignas(64) std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> hasFailed, isLeaving;
  SharedText<80> failure;

  RankBoard *rank(size_t index) { return reinterpret_cast<RankBoard *>(this + 1) + index; }
  static size_t bytesFor(size_t ranks) { return sizeof(ProcessBoard) + ranks * sizeof(RankBoard); }
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_BOARD_H
