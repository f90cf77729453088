// Arena: memory that other processes of this host can map.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_ARENA_H
#define TILEWRIGHT_COLLECTIVE_SHM_ARENA_H

#include "tilewright/collective/Communicator.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tilewright::collective::shm {

/// A mapped anonymous file in memory (memfd). The kernel frees it when the last process that has it
/// ends, for whatever reason.
class Mapping {
public:
  static Result<std::shared_ptr<Mapping>> create(size_t bytes);
  /// Takes ownership of the descriptor.
  static Result<std::shared_ptr<Mapping>> open(int descriptor, size_t bytes);
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  int descriptor() const { return file; }
  std::byte *base() const { return start; }
  size_t size() const { return bytes; }

private:
  Mapping(int file, std::byte *start, size_t bytes) : file(file), start(start), bytes(bytes) {}
  static Result<std::shared_ptr<Mapping>> map(int file, size_t bytes);
  const int file;
  std::byte *const start;
  const size_t bytes;
};

/// Allocates memory from a mapping. Tensors in the arena need no copies: other processes of the
/// host read them in place. The mapping only reserves address space; pages are allocated when they
/// are first written. allocate() and free() keep pages for the next user, take() and give() are for
/// memory that many others share. Thread-safe. Allocations may outlive the engine, but not the
/// arena.
///
///   std::byte *weights = arena->allocate(bytes);   // null if the arena is full
class Arena final : public OperandMemory {
public:
  /// The first `reserved` bytes of the mapping are never allocated.
  Arena(std::shared_ptr<Mapping> mapping, size_t reserved);

  static constexpr size_t alignment = 64;
  std::byte *allocate(size_t bytes);
  void free(std::byte *piece);
  std::byte *take(size_t bytes) override { return allocate(bytes); }
  void give(std::byte *piece) override;
  /// Returns the pages of free blocks to the kernel.
  void trim();

  bool contains(const std::byte *piece, size_t bytes) const {
    const std::byte *base = mapping->base();
    return piece >= base && bytes <= mapping->size() &&
           static_cast<size_t>(piece - base) <= mapping->size() - bytes;
  }
  uint64_t offsetOf(const std::byte *piece) const {
    return static_cast<uint64_t>(piece - mapping->base());
  }
  const Mapping &memory() const { return *mapping; }
  size_t largestFree() const;

private:
  const std::shared_ptr<Mapping> mapping;
  mutable std::mutex mutex;
  // Guarded by mutex; each maps an offset to a size in bytes.
  std::map<size_t, size_t> gaps, pieces;
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_ARENA_H
