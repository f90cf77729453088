// Storage: the bytes of buffers, and their readers.
#ifndef TILEWRIGHT_RUNTIME_STORAGE_H
#define TILEWRIGHT_RUNTIME_STORAGE_H

#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/Event.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace tilewright::runtime {

/// Bytes that the runtime or another owner allocated, shared by a buffer and the work in flight
/// that uses it. The last owner to release them frees them.
///
/// Work on the device's own stream needs no further synchronisation: a program that overwrites the
/// bytes (donation) runs later on the same stream. Readers outside the stream (copies) hold a
/// Reading, and the program that overwrites the bytes waits for whenUnread().
class Storage {
public:
  explicit Storage(Allocator::Block block)
      : block(std::move(block)), start(this->block.data()), isOwn(true), isWritable(true) {}
  Storage(std::byte *data, bool isWritable, std::function<void()> giveBack)
      : start(data), isOwn(false), isWritable(isWritable), giveBack(std::move(giveBack)) {}
  /// Takes over the bytes of `taken` for a donation: `taken` keeps counting the readers of the old
  /// contents, this object counts those of the new contents.
  explicit Storage(std::shared_ptr<Storage> taken)
      : root(taken->root ? taken->root : taken), start(taken->start), isOwn(taken->isOwn),
        isWritable(taken->isWritable) {}
  ~Storage() {
    if (giveBack)
      giveBack();
  }
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  std::byte *data() const { return start; }
  /// Whether another program may write its result here.
  bool canBeTakenOver() const { return isOwn && isWritable; }

  /// Keeps the bytes alive and unchanged.
  class Reading {
  public:
    explicit Reading(std::shared_ptr<Storage> storage) : storage(std::move(storage)) {
      std::lock_guard lock(this->storage->mutex);
      ++this->storage->readers;
    }
    Reading(Reading &&) noexcept = default;
    Reading &operator=(Reading &&) = delete;
    ~Reading() {
      if (storage)
        storage->endReading();
    }
    const std::byte *data() const { return storage->data(); }

  private:
    std::shared_ptr<Storage> storage;
  };

  /// Completes when all current readers are done. No new reader may start after this call.
  Event whenUnread() {
    std::lock_guard lock(mutex);
    if (readers == 0)
      return Event();
    if (!unread)
      unread.emplace();
    return unread->event();
  }

private:
  void endReading() {
    std::optional<Promise> last;
    {
      std::lock_guard lock(mutex);
      if (--readers == 0)
        last.swap(unread);
    }
    if (last)
      last->complete();
  }

  const Allocator::Block block;        // empty if the bytes have another owner or are in `root`
  const std::shared_ptr<Storage> root; // the storage that has the block, if this one took it over
  std::byte *const start;
  const bool isOwn, isWritable;
  const std::function<void()> giveBack;

  std::mutex mutex;
  int64_t readers = 0;           // guarded by mutex
  std::optional<Promise> unread; // guarded by mutex
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_STORAGE_H
