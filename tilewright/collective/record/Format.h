// Format: the file format of the flight recorder. README.md describes it.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_FORMAT_H
#define TILEWRIGHT_COLLECTIVE_RECORD_FORMAT_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tilewright::collective::record {

inline constexpr char fileMagic[8] = {'T', 'W', 'F', 'L', 'I', 'G', 'H', 'T'};
inline constexpr uint32_t fileVersion = 1;
inline constexpr size_t pageBytes = 4096;
inline constexpr size_t tableBytes = size_t(256) << 10;
inline constexpr size_t maxProgressSlots = 128;
inline constexpr size_t maxFailureBytes = 1024;
inline constexpr uint64_t maxEntries = uint64_t(1) << 24;
inline constexpr uint32_t maxRings = 1 << 16;

/// One instant, as read from the clock that timestamps entries (ticks) and from the system's clocks
/// (nanoseconds).
struct Moment {
  uint64_t ticks = 0;
  int64_t monotonic = 0, real = 0;
};

enum class Ending : uint32_t { none, well, failed };

/// The first page of the file. All fields that are not atomic are written before the file is
/// renamed to its final name.
struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t rings;     // one for each rank of the process
  uint64_t fileBytes; // page + table + rings of page + entries
  uint64_t entries;   // of a ring; a power of two
  uint64_t epoch;
  int64_t process, processes;
  int64_t jobRanks;
  uint64_t pid, pidStart; // the second distinguishes processes that reuse a pid
  uint64_t pidNamespace;
  Moment first;
  Moment latest[2];               // written alternately
  std::atomic<uint32_t> isLatest; // index of the valid `latest`
  std::atomic<Ending> ending;
  std::atomic<uint64_t> tableUsed;
  char job[64], host[64], boot[64], command[256]; // zero-terminated
};
static_assert(sizeof(FileHeader) <= pageBytes);

/// A rank's progress in one clique: the run in the upper half, the number of collectives begun in
/// that run in the lower half. Both wrap around.
struct ProgressSlot {
  std::atomic<uint64_t> position;
  std::atomic<uint32_t> clique;
  uint32_t unused;
};

struct RingHeader {
  int64_t rank;
  std::atomic<uint64_t> next; // number of entries begun
  std::atomic<uint32_t> usedSlots;
  std::atomic<uint32_t> failureBytes;
  ProgressSlot slots[maxProgressSlots];
  char failure[maxFailureBytes]; // why the rank's last collective failed
};
static_assert(sizeof(RingHeader) <= pageBytes);

enum class State : uint32_t { none, started, waits, done, failed };

/// One collective of one rank. The stamp consists of the state in its low bits and, above, the low
/// bits of the entry's number. It is zero while the other fields are being written, and is written
/// last.
struct Entry {
  std::atomic<uint32_t> stamp, site, sequence, run;
  std::atomic<uint64_t> begin, end; // ticks
};
static_assert(sizeof(Entry) == 32);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

inline constexpr uint32_t stateBits = 3;
inline uint32_t stampOf(uint64_t number, State state) {
  return static_cast<uint32_t>(number << stateBits) | static_cast<uint32_t>(state);
}

/// Precedes each record of the table.
struct RecordHeader {
  uint32_t bytes; // that follow
  uint32_t check; // checksum of the record, by checkOf()
};
enum class RecordKind : uint8_t { clique = 1, site = 2 };

inline uint32_t checkOf(const char *bytes, size_t size) {
  uint32_t hash = 2166136261U;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 16777619U;
  return hash;
}

inline constexpr size_t ringBytesOf(uint64_t entries) {
  return pageBytes + static_cast<size_t>(entries) * sizeof(Entry);
}
inline constexpr size_t fileBytesOf(uint64_t rings, uint64_t entries) {
  return pageBytes + tableBytes + static_cast<size_t>(rings) * ringBytesOf(entries);
}

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_FORMAT_H
