// Board: what processes of a host tell each other, in the first bytes of their arenas.
//
// Everything is written by its owner only (doorbells excepted) and read by all. Readers see what
// was written before the number that they wait for.
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

/// A line that people read. Half of one and half of the next is possible, and harmless.
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

/// What a member brings to one collective. Two that follow each other use different slots, so a
/// slot is written again only after all have come to the collective after it.
struct Slot {
  enum Form : uint64_t { operands, offsets };
  static constexpr size_t room = 8192 - 24;
  std::atomic<uint64_t> came; // the collective's number in its lane, plus one
  uint64_t site;
  uint64_t form;
  /// The operands themselves, or for each tensor where its operand is, then for each where its
  /// share of the result will be, then where the table of a ragged exchange is.
  std::byte data[room];
};
static_assert(sizeof(Slot) == 8192);

/// The slots of a rank in one clique.
struct alignas(64) SharedLane {
  Slot slots[2];
  alignas(64) std::atomic<uint64_t> step; // 2 * number + 1: half done; + 2: done
  alignas(64) SharedText<32> texts[2];    // of the calls in the slots
};

struct alignas(64) RankBoard {
  std::atomic<int64_t> leftRun; // all runs up to here
  std::atomic<uint32_t> core;   // where it was last seen to run, plus one; 0: nowhere
  SharedText<40> where;
  struct Entry {
    std::atomic<uint64_t> lane, offset; // 0: none
  };
  static constexpr size_t capacity = 1024;
  Entry lanes[capacity];
};

struct alignas(64) ProcessBoard {
  uint64_t magic, epoch;
  int64_t process;
  uint64_t ranks;
  /// Rung by others when they have written something, if somebody sleeps.
  alignas(64) std::atomic<uint32_t> doorbell;
  alignas(64) std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> hasFailed, isLeaving;
  SharedText<80> failure;

  RankBoard *rank(size_t index) { return reinterpret_cast<RankBoard *>(this + 1) + index; }
  static size_t bytesFor(size_t ranks) { return sizeof(ProcessBoard) + ranks * sizeof(RankBoard); }
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_BOARD_H
