// Allocator: memory for buffers and arenas, with a limit, a cache and accounts.
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

/// Where memory really comes from: the heap of the host, or a device's driver.
class RawMemory {
public:
  virtual ~RawMemory() = default;
  /// Null if there is none. Aligned to 64 bytes.
  virtual std::byte *take(size_t bytes) = 0;
  virtual void give(std::byte *data, size_t bytes) = 0;
  /// Why take() gave nothing, if not for lack of memory.
  virtual Status whyNone() const { return Status(); }
};

/// What made a block, in parts that cost nothing to keep: "result 3 of jit_step, 8x128xf32".
struct Label {
  const char *what = "buffer"; // lives for ever
  std::shared_ptr<const artifact::TensorType> type = nullptr;
  std::shared_ptr<const std::string> of = nullptr;
  int64_t index = -1;
  std::string toString() const;
};

/// For PJRT's memory statistics.
struct AllocationStatistics {
  int64_t bytesInUse = 0;
  int64_t peakBytesInUse = 0;
  int64_t largestAllocation = 0;
  int64_t allocationCount = 0; // ever
  int64_t liveCount = 0;
  int64_t bytesLimit = 0;
  int64_t bytesCached = 0; // free, kept for reuse; of the whole allocator
};

/// Hands out blocks aligned to 64 bytes. A freed block is kept and handed out
/// again for the same size class: a fresh page costs a fault (some 0.25 µs for
/// 4 KiB), which for a large result is more than computing it.
///
/// The limit counts bytes in use; blocks kept for reuse are given back before
/// a request fails. Thread-safe. Blocks keep their allocator alive.
class Allocator : public std::enable_shared_from_this<Allocator> {
public:
  struct Limits {
    int64_t bytesInUse = 0;  // of all accounts
    int64_t bytesCached = 0; // free blocks kept
    std::string optionToRaise = "runtime.memory-limit";
  };
  /// One for each memory space, numbered from 0.
  using Account = uint32_t;

  Allocator(std::unique_ptr<RawMemory> raw, Limits limits);
  ~Allocator();

  Account openAccount();

  /// A block, given back when destroyed.
  class Block;

  /// - outOfMemory (E5050): the limit would be passed; names the largest live blocks.
  Result<Block> allocate(size_t bytes, Account account, Label label);

  AllocationStatistics statistics(Account account) const;
  void resetPeak(Account account);
  /// Gives free blocks back until at most `bytes` are kept.
  void trim(int64_t bytes = 0);

  /// Who holds most, the largest first: "1.5 GiB in 2 times result 3 of jit_step, …".
  std::vector<std::string> largest(size_t count) const;

  /// The same at the highest use that was seen while tracing, give or take a sixteenth.
  std::vector<std::string> largestAtPeak() const;

  /// What a request of `bytes` takes.
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
  const std::unique_ptr<Lists> lists; // what it holds is guarded by mutex
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
