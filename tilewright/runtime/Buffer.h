// Buffer: a tensor in a memory of the runtime, whose bytes are valid now or later.
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

/// The size of a tensor in a buffer, in bytes: packed if its elements are (numerics::isPacked).
Result<size_t> byteCountOf(const TensorType &type);
/// The size of a tensor in host memory, where each element has bytes of its own.
Result<size_t> hostByteCountOf(const TensorType &type);
using numerics::ElementType;

/// How long the caller leaves host memory unchanged; the values are those of
/// PJRT_HostBufferSemantics.
enum class HostBufferSemantics {
  immutableOnlyDuringCall = 0,
  immutableUntilTransferCompletes = 1,
  immutableZeroCopy = 2, // unchanged until the done event; may be used in place, never written
  mutableZeroCopy = 3,   // the same, but may be written
};

/// A tensor in memory that the caller owns, storageBytes(type) for each element.
struct HostBuffer {
  const void *data = nullptr;
  TensorType type;
  /// One stride for each dimension, which may be negative or 0; empty means dense row-major. `data`
  /// points to the element with all indices 0.
  std::span<const int64_t> byteStrides;
  HostBufferSemantics semantics = HostBufferSemantics::immutableOnlyDuringCall;
};

/// A tensor: dense row-major; elements of 2, 4 and 6 bits are packed (numerics::isPacked), others
/// have storageBytes(type) each. Its bytes are valid once the definition event completes. If that
/// event fails, they never become valid, and everything computed from them fails with the same
/// status.
///
/// Has one owner, which may delete it at any time; work in flight keeps the bytes alive.
/// Thread-safe. May be destroyed after its client, but not used then.
class Buffer {
public:
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  /// A buffer with the bytes at `host`, copied during the call unless they can be used in place
  /// (zero-copy semantics, dense, not packed, 64-byte aligned, host memory). `done` completes when
  /// the caller may reuse its bytes.
  ///  - hostLayout (E5055): strides do not fit the rank, or reach beyond the address space.
  static Result<std::unique_ptr<Buffer>> fromHost(const HostBuffer &host, Memory &memory,
                                                  Event *done = nullptr);
  /// Memory that the caller writes through data(); the caller then completes `promise`.
  static Result<std::unique_ptr<Buffer>> uninitialized(TensorType type, Memory &memory,
                                                       Promise *promise = nullptr,
                                                       const char *what = "buffer");
  /// A buffer whose definition has failed; it never has valid bytes.
  static std::unique_ptr<Buffer> failed(TensorType type, Memory &memory, Status why);
  /// A buffer over memory that the caller owns, 64-byte aligned. Calls `giveBack` once no buffer
  /// and no work in flight uses the memory.
  static Result<std::unique_ptr<Buffer>> view(void *data, TensorType type, Memory &memory,
                                              std::function<void()> giveBack,
                                              Event definition = Event());

  const TensorType &type() const { return *tensor; }
  ElementType elementType() const { return tensor->element; }
  std::span<const int64_t> dims() const { return tensor->dims; }
  size_t byteCount() const { return bytes; }
  /// The size of the tensor in host memory, for toHost().
  size_t hostByteCount() const;
  Memory &memory() const { return *place; }
  Device &device() const { return place->device(); }

  /// Completes when the bytes are valid.
  const Event &definition() const { return defined; }

  /// Deletes the buffer; work in flight keeps the bytes until it is complete. A second call does
  /// nothing.
  void release();
  /// Whether the buffer was released or donated.
  bool isDeleted() const;

  /// Copies to `destination`, after the definition. `minorToMajor` is the order of dimensions in
  /// `destination`; empty means row-major. The event fails if the definition fails.
  ///  - bufferDeleted (E5051)
  ///  - hostLayout (E5055): not a permutation, or `size` is not hostByteCount().
  Result<Event> toHost(void *destination, size_t size,
                       std::span<const int64_t> minorToMajor = {}) const;
  /// Copies `size` raw bytes from `offset`, without reordering or unpacking.
  Result<Event> toHostRaw(void *destination, size_t offset, size_t size) const;

  /// Copies this buffer to `memory`, which may belong to another device. The copy starts after the
  /// definition event.
  Result<std::unique_ptr<Buffer>> copyTo(Memory &memory) const;

  /// While external references exist, the bytes stay at their address: a donation copies them
  /// first.
  Status addExternalReference();
  Status dropExternalReference();
  /// The address of the bytes, even before they are valid.
  ///  - bufferDeleted (E5051)
  Result<void *> data() const;
  /// The bytes for a writer outside the runtime, which keeps them alive whatever happens to the
  /// buffer meanwhile. Owns nothing if the buffer was deleted.
  std::shared_ptr<std::byte> keepBytes() const;

private:
  friend class LoadedExecutable;
  Buffer(std::shared_ptr<const TensorType> type, size_t bytes, Memory &memory,
         std::shared_ptr<Storage> storage, Event definition, bool inOrder = false);
  /// Keeps the bytes alive for work on the device's stream. Null if released.
  std::shared_ptr<Storage> hold() const;
  /// Keeps the bytes alive and unchanged for work on other streams or threads.
  std::optional<Storage::Reading> read() const;
  /// Like hold(), for a program that overwrites the bytes with a result; deletes the buffer.
  /// `isOurs` becomes false if the program must not write the bytes, for example because of an
  /// external reference.
  std::shared_ptr<Storage> takeForDonation(bool &isOurs);

  const std::shared_ptr<const TensorType> tensor;
  const size_t bytes;
  Memory *const place;
  const Event defined;
  /// Whether later work on the device's stream always runs after the definition, so that it need
  /// not wait for the event.
  const bool inOrder;

  /// The launch that last donated this buffer; detects that two arguments of a launch are the same
  /// buffer.
  std::atomic<int64_t> donatedBy = 0;

  mutable std::mutex mutex;
  std::shared_ptr<Storage> storage;  // guarded by mutex; null when released
  int64_t externalReferences = 0;    // guarded by mutex
  std::shared_ptr<Storage> external; // guarded by mutex; keeps the bytes after a release
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_BUFFER_H
