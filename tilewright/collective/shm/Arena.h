// Arena: memory that other processes of the host can see.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_ARENA_H
#define TILEWRIGHT_COLLECTIVE_SHM_ARENA_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tilewright::collective::shm {

/// A file in memory, mapped. It has no name, so nothing is left of it when the last process that
/// has it is gone, however that ends.
class Mapping {
public:
  static Result<std::shared_ptr<Mapping>> create(size_t bytes);
  /// Takes the descriptor.
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

/// Gives out pieces of a mapping. A tensor that lies in one is reduced or copied by the other
/// processes of the host right where it is. The size is one of addresses: memory is
/// used where something was written. Thread-safe; pieces may outlive the engine, not the arena.
///
///   std::byte *weights = arena->allocate(bytes);   // null if there is no room
class Arena {
public:
  /// The first `reserved` bytes of the mapping are not given out.
  Arena(std::shared_ptr<Mapping> mapping, size_t reserved);

  static constexpr size_t alignment = 64;
  std::byte *allocate(size_t bytes);
  void free(std::byte *piece);
  /// Gives the memory of what is free back to the system.
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
  // guarded by mutex: offset to bytes
  std::map<size_t, size_t> gaps, pieces;
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_ARENA_H
