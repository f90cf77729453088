// Format: the file of a flight recorder, byte for byte. README.md says it in words.
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
inline constexpr size_t mostLanes = 128;
inline constexpr size_t mostFailureBytes = 1024;
inline constexpr uint64_t mostEntries = uint64_t(1) << 24;
inline constexpr uint32_t mostRings = 1 << 16;

/// One instant on the clock of the entries and on those of the system, which are in nanoseconds.
struct Moment {
  uint64_t ticks = 0;
  int64_t monotonic = 0, real = 0;
};

enum class Ending : uint32_t { none, well, failed };

/// The first page. What is not atomic is written before the file has its name.
struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t rings;     // one for each rank of the process
  uint64_t fileBytes; // page + table + rings of page + entries
  uint64_t entries;   // of a ring; a power of two
  uint64_t epoch;
  int64_t process, processes;
  int64_t jobRanks;
  uint64_t pid, pidStart; // the second tells two processes of one number apart
  uint64_t pidNamespace;
  Moment first;
  Moment latest[2];               // written in turn
  std::atomic<uint32_t> isLatest; // which of them
  std::atomic<Ending> ending;
  std::atomic<uint64_t> tableUsed;
  char job[64], host[64], boot[64], command[256]; // texts end with a zero
};
static_assert(sizeof(FileHeader) <= pageBytes);

/// How far a rank is among the collectives of one clique: the run in the upper half, how many have
/// begun in it in the lower. Both wrap around.
struct LaneSlot {
  std::atomic<uint64_t> position;
  std::atomic<uint32_t> clique;
  uint32_t unused;
};

struct RingHeader {
  int64_t rank;
  std::atomic<uint64_t> next; // entries that were begun
  std::atomic<uint32_t> lanes;
  std::atomic<uint32_t> failureBytes;
  LaneSlot slots[mostLanes];
  char failure[mostFailureBytes]; // why the rank's last collective failed
};
static_assert(sizeof(RingHeader) <= pageBytes);

enum class State : uint32_t { none, started, waits, done, failed };

/// One collective of one rank. The stamp is the state and, above it, the low bits of the entry's
/// number; it is zero while the rest is written, and written last.
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

/// In front of each thing of the table.
struct RecordHeader {
  uint32_t bytes; // of what follows
  uint32_t check; // its checkOf()
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
