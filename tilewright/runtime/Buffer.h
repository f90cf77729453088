// Buffer: a tensor in a memory of the runtime, now or soon.
#ifndef TILEWRIGHT_RUNTIME_BUFFER_H
#define TILEWRIGHT_RUNTIME_BUFFER_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/Event.h"
#include "tilewright/runtime/Memory.h"
#include "tilewright/runtime/Storage.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace tilewright::runtime {

using artifact::TensorType;
using numerics::ElementType;

/// How long the caller leaves host memory alone; PJRT_HostBufferSemantics, value for value.
enum class HostBufferSemantics {
  immutableOnlyDuringCall = 0,
  immutableUntilTransferCompletes = 1,
  immutableZeroCopy = 2, // until the done event; may be used in place, never written
  mutableZeroCopy = 3,   // the same, may be written
};

/// Bytes of another owner, as a tensor.
struct HostBuffer {
  const void *data = nullptr;
  TensorType type;
  /// One for each dimension, may be negative or 0; empty is dense row-major. `data` is the
  /// element with all indices 0.
  std::span<const int64_t> byteStrides;
  HostBufferSemantics semantics = HostBufferSemantics::immutableOnlyDuringCall;
};

/// A tensor: dense row-major, storageBytes(type) for each element. Its bytes are
/// valid once the definition event has happened; if that failed, they never will
/// be, and whatever is computed from them fails in the same way.
///
/// One owner, who may delete it at any time; work in flight keeps the bytes.
/// Thread-safe. May be destroyed after its client, but not used.
class Buffer {
public:
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  /// A buffer of the bytes at `host`, copied during the call unless they can be used in place
  /// (zero-copy semantics, dense, 64-byte aligned, host memory). `done` happens when the caller may
  /// have its bytes back.
  ///  - hostLayout (E5055): strides do not fit the rank, or reach beyond the address space.
  static Result<std::unique_ptr<Buffer>> fromHost(const HostBuffer &host, Memory &memory,
                                                  Event *done = nullptr);
  /// Bytes that the caller writes through data() and then announces by keeping `promise`.
  static Result<std::unique_ptr<Buffer>> uninitialized(TensorType type, Memory &memory,
                                                       Promise *promise = nullptr,
                                                       const char *what = "buffer");
  /// Never has bytes.
  static std::unique_ptr<Buffer> failed(TensorType type, Memory &memory, Status why);
  /// Uses bytes of another owner, 64-byte aligned; `giveBack` is called when nobody needs them.
  static Result<std::unique_ptr<Buffer>> view(void *data, TensorType type, Memory &memory,
                                              std::function<void()> giveBack,
                                              Event definition = Event());

  const TensorType &type() const { return *tensor; }
  ElementType elementType() const { return tensor->element; }
  std::span<const int64_t> dims() const { return tensor->dims; }
  size_t byteCount() const { return bytes; }
  Memory &memory() const { return *place; }
  Device &device() const { return place->device(); }

  /// Happens when the bytes are valid.
  const Event &definition() const { return defined; }

  /// Gives the bytes up; work in flight keeps them until it is done. Again does nothing.
  void release();
  /// Released or donated.
  bool isDeleted() const;

  /// Copies to `destination`, after the definition. `minorToMajor` is the order of dimensions
  /// there; empty is row-major. The event fails if the definition did.
  ///  - bufferDeleted (E5051)
  ///  - hostLayout (E5055): not a permutation, or `size` is not byteCount().
  Result<Event> toHost(void *destination, size_t size,
                       std::span<const int64_t> minorToMajor = {}) const;
  /// `size` bytes from `offset`, as they lie.
  Result<Event> toHostRaw(void *destination, size_t offset, size_t size) const;

  /// A copy in another memory, after the definition; of another device, if it belongs to one.
  Result<std::unique_ptr<Buffer>> copyTo(Memory &memory) const;

  /// While there are external references the bytes stay where they are: donation copies.
  Status addExternalReference();
  Status dropExternalReference();
  /// Where the bytes are or will be. Null if released.
  ///  - bufferDeleted (E5051)
  Result<void *> data() const;

private:
  friend class LoadedExecutable;
  Buffer(std::shared_ptr<const TensorType> type, size_t bytes, Memory &memory,
         std::shared_ptr<Storage> storage, Event definition, bool inOrder = false);
  /// For work on the device's stream. Null if released.
  std::shared_ptr<Storage> hold() const;
  /// For work beside it.
  std::optional<Storage::Reading> read() const;
  /// The same for a program that writes a result there; the buffer is deleted. `isOurs` says
  /// whether it may be written: not if somebody outside refers to it.
  std::shared_ptr<Storage> takeForDonation(bool &isOurs);

  const std::shared_ptr<const TensorType> tensor;
  const size_t bytes;
  Memory *const place;
  const Event defined;
  /// What is started later on the device's stream comes after the definition, whenever that is.
  const bool inOrder;

  /// The launch that last donated it, to see that no other argument of it is the same buffer.
  std::atomic<int64_t> donatedBy = 0;

  mutable std::mutex mutex;
  std::shared_ptr<Storage> storage;  // guarded by mutex; null when released
  int64_t externalReferences = 0;    // guarded by mutex
  std::shared_ptr<Storage> external; // guarded by mutex; kept for them after a release
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_BUFFER_H
