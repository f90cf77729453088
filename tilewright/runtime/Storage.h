// Storage: the bytes behind buffers, and who still reads them.
#ifndef TILEWRIGHT_RUNTIME_STORAGE_H
#define TILEWRIGHT_RUNTIME_STORAGE_H

#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/Event.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace tilewright::runtime {

/// Bytes of ours or of another owner. Shared by the buffer and the work in
/// flight that uses it; the last one gives the bytes back.
///
/// Work of the device's own stream needs nothing more: whoever takes the bytes
/// over (donation) comes later on the same stream. Readers beside the stream
/// (copies) hold a Reading, and whoever takes over waits for whenUnread().
class Storage {
public:
  explicit Storage(Allocator::Block block)
      : block(std::move(block)), start(this->block.data()), isOwn(true), isWritable(true) {}
  Storage(std::byte *data, bool isWritable, std::function<void()> giveBack)
      : start(data), isOwn(false), isWritable(isWritable), giveBack(std::move(giveBack)) {}
  /// The same bytes for whoever takes them over: those who read the old content are counted there,
  /// those who will read the new one here.
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
  /// Another program may write its result here.
  bool canBeTakenOver() const { return isOwn && isWritable; }

  /// Keeps the bytes, as they are.
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

  /// Happens when the readers of now are done. Nobody may begin to read after this is asked.
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

  const Allocator::Block block;        // empty if not ours, or if the root's
  const std::shared_ptr<Storage> root; // who has the block, if it was taken over
  std::byte *const start;
  const bool isOwn, isWritable;
  const std::function<void()> giveBack;

  std::mutex mutex;
  int64_t readers = 0;           // guarded by mutex
  std::optional<Promise> unread; // guarded by mutex
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_STORAGE_H
