// Allocator: memory for buffers and arenas, with a limit, a cache and statistics.
#ifndef TILEWRIGHT_RUNTIME_ALLOCATOR_H
#define TILEWRIGHT_RUNTIME_ALLOCATOR_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// The underlying source of memory: the heap of the host, or a device's driver.
class RawMemory {
public:
  virtual ~RawMemory() = default;
  /// Null if no memory is available. Aligned to 64 bytes.
  virtual std::byte *take(size_t bytes) = 0;
  virtual void give(std::byte *data, size_t bytes) = 0;
  /// Why take() returned null, if the reason is not lack of memory.
  virtual Status whyNone() const { return Status(); }
};

/// The purpose of a block, for messages: "result 3 of jit_step, 8x128xf32". Stored in parts, so
/// that creating a label does not format a string.
struct Label {
  const char *what = "buffer"; // a string literal; never freed
  std::shared_ptr<const artifact::TensorType> type = nullptr;
  std::shared_ptr<const std::string> of = nullptr;
  int64_t index = -1;
  std::string toString() const;
};

/// The numbers of PJRT's memory statistics.
struct AllocationStatistics {
  int64_t bytesInUse = 0;
  int64_t peakBytesInUse = 0;
  int64_t largestAllocation = 0;
  int64_t allocationCount = 0; // total since the start
  int64_t liveCount = 0;
  int64_t bytesLimit = 0;
  int64_t bytesCached = 0; // free, kept for reuse; of the whole allocator
};

/// Allocates blocks aligned to 64 bytes. It caches freed blocks and reuses them for requests of the
/// same size class: a fresh page costs a page fault (some 0.25 µs for 4 KiB), which for a large
/// result takes longer than computing it.
///
/// The limit counts bytes in use; before a request fails, the allocator frees the cached blocks.
/// Thread-safe. Blocks keep their allocator alive.
class Allocator : public std::enable_shared_from_this<Allocator> {
public:
  struct Limits {
    int64_t bytesInUse = 0;  // of all accounts
    int64_t bytesCached = 0; // free blocks kept
    std::string optionToRaise = "runtime.memory-limit";
  };
  /// One account for each memory space, numbered from 0.
  using Account = uint32_t;

  Allocator(std::unique_ptr<RawMemory> raw, Limits limits);
  ~Allocator();

  Account openAccount();

  /// A block, freed by its destructor.
  class Block;

  ///  - outOfMemory (E5050): the request would exceed the limit; the message names the largest live
  ///    blocks.
  Result<Block> allocate(size_t bytes, Account account, Label label);

  AllocationStatistics statistics(Account account) const;
  void resetPeak(Account account);
  /// Frees cached blocks until at most `bytes` remain cached.
  void trim(int64_t bytes = 0);

  /// The labels that hold the most bytes, the largest first: "1.5 GiB in 2 blocks of result 3 of
  /// jit_step, …".
  std::vector<std::string> largest(size_t count) const;

  /// Like largest(), but at the time of peak use. Recorded while tracing, accurate to a sixteenth.
  std::vector<std::string> largestAtPeak() const;

  /// The number of bytes allocated for a request of `bytes`.
  static size_t sizeClassOf(size_t bytes);

private:
  struct Live;
  Block open(Live *live, size_t bytes, Account account, Label &&label);
  void release(Live *live);
  int64_t bytesInUse() const;
  std::vector<std::string> largestLocked(size_t count) const;
  Status exhausted(size_t bytes, const Label &label, const std::string &why) const;

  struct Books {
    int64_t inUse = 0, peak = 0, largest = 0, count = 0, live = 0;
  };
  const std::unique_ptr<RawMemory> raw;
  const Limits limits;

  struct Lists;
  const std::unique_ptr<Lists> lists; // its contents are guarded by mutex
  mutable std::mutex mutex;
  // guarded by mutex:
  std::vector<Books> books;
  int64_t inUse = 0, cached = 0;
  int64_t peakSeen = 0;
  std::vector<std::string> peakUsers;
};

class Allocator::Block {
public:
  Block() = default;
  Block(Block &&other) noexcept { *this = std::move(other); }
  Block &operator=(Block &&other) noexcept;
  ~Block() { reset(); }

  std::byte *data() const { return start; }
  size_t size() const { return bytes; }
  void reset();

private:
  friend class Allocator;
  std::shared_ptr<Allocator> allocator;
  Live *live = nullptr;
  std::byte *start = nullptr;
  size_t bytes = 0;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_ALLOCATOR_H
