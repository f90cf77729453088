#include "tilewright/runtime/Buffer.h"
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/runtime/Storage.h"
#include "tilewright/runtime/copy/StridedCopy.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>

namespace tilewright::runtime {

constexpr uintptr_t bufferAlignment = artifact::bufferAlignment;

Result<size_t> byteCountOf(const TensorType &type) {
  TILEWRIGHT_ASSIGN(numerics::Shape shape, numerics::Shape::create(type.dims));
  return static_cast<size_t>(numerics::arrayBytes(type.element, shape.elementCount()));
}

Result<size_t> hostByteCountOf(const TensorType &type) {
  TILEWRIGHT_ASSIGN(numerics::Shape shape, numerics::Shape::create(type.dims));
  return static_cast<size_t>(shape.byteCount(type.element));
}

size_t Buffer::hostByteCount() const {
  if (!numerics::isPacked(elementType()))
    return bytes;
  Result<size_t> size = hostByteCountOf(*tensor);
  return size.isOk() ? *size : 0; // the type was checked when the buffer was made
}

/// Packs the elements of a host array of any layout.
static void packFromHost(std::byte *to, const HostBuffer &host, bool isDense, ThreadPool &pool) {
  const TensorType &type = host.type;
  const auto *from = static_cast<const std::byte *>(host.data);
  size_t count = 1;
  for (int64_t size : type.dims)
    count *= static_cast<size_t>(size);
  std::vector<std::byte> dense;
  if (!isDense) {
    dense.resize(count);
    copyStrided(dense.data(), denseStrides(type.dims, 1), from, host.byteStrides, type.dims, 1,
                &pool);
    from = dense.data();
  }
  numerics::packElements(type.element, to, from, static_cast<int64_t>(count));
}

static Status deletedStatus(std::string_view use) {
  return Status(Error::bufferDeleted,
                concat("cannot ", use,
                       " a buffer that was deleted or donated; keep a copy, or do not "
                       "donate the argument"));
}

Buffer::Buffer(std::shared_ptr<const TensorType> type, size_t bytes, Memory &memory,
               std::shared_ptr<Storage> storage, Event definition, bool inOrder)
    : tensor(std::move(type)), bytes(bytes), place(&memory), defined(std::move(definition)),
      inOrder(inOrder), storage(std::move(storage)) {}

Buffer::~Buffer() = default;

/// Checks numpy-style byte strides: one per dimension, and all elements within the address space.
static Status checkStrides(const HostBuffer &host) {
  if (host.byteStrides.empty())
    return Status();
  if (host.byteStrides.size() != host.type.dims.size())
    return Status(Error::hostLayout, concat("a host array of ", host.type.dims.size(),
                                            " dimensions must have one stride for each, got ",
                                            host.byteStrides.size(), " strides"));
  int64_t reach = 0;
  for (size_t i = 0; i < host.byteStrides.size(); ++i) {
    int64_t extent = 0;
    const int64_t steps = std::max<int64_t>(host.type.dims[i] - 1, 0);
    if (__builtin_mul_overflow(steps, host.byteStrides[i], &extent) ||
        extent == std::numeric_limits<int64_t>::min() ||
        __builtin_add_overflow(reach, std::abs(extent), &reach))
      return Status(Error::hostLayout,
                    concat("strides ", listed(host.byteStrides), " of a host array of shape ",
                           listed(host.type.dims), " exceed the address space"));
  }
  return Status();
}

Result<std::unique_ptr<Buffer>> Buffer::fromHost(const HostBuffer &host, Memory &memory,
                                                 Event *done) {
  TILEWRIGHT_ASSIGN(size_t bytes, byteCountOf(host.type));
  TILEWRIGHT_TRY(checkStrides(host));
  const size_t elementBytes = numerics::storageBytes(host.type.element);
  const bool dense =
      host.byteStrides.empty() || isDense(host.byteStrides, host.type.dims, elementBytes);
  auto type = std::make_shared<const TensorType>(host.type);
  auto *source = static_cast<std::byte *>(const_cast<void *>(host.data));

  const bool isPacked = numerics::isPacked(host.type.element);
  const bool mayAlias = !isPacked && (host.semantics == HostBufferSemantics::immutableZeroCopy ||
                                      host.semantics == HostBufferSemantics::mutableZeroCopy);
  if (mayAlias && dense && bytes > 0 &&
      reinterpret_cast<uintptr_t>(source) % bufferAlignment == 0 && memory.canAdoptHostBytes()) {
    std::function<void()> giveBack;
    if (done) {
      auto promise = std::make_shared<Promise>();
      *done = promise->event();
      giveBack = [promise] { promise->complete(); };
    }
    auto storage = std::make_shared<Storage>(
        source, host.semantics == HostBufferSemantics::mutableZeroCopy, std::move(giveBack));
    return std::unique_ptr<Buffer>(
        new Buffer(std::move(type), bytes, memory, std::move(storage), Event()));
  }

  TILEWRIGHT_ASSIGN(Allocator::Block block, memory.allocate(bytes, {"host array", type}));
  trace::Span span("copy", "host to device");
  ThreadPool &pool = memory.client().threadPool();
  // If the host cannot write to the device's memory, pack the array into pinned memory, from which
  // the device can copy.
  MemoryAddress from = {source, nullptr};
  Allocator::Block packed;
  const bool isCopiedAsItIs = dense && !isPacked;
  if (!isCopiedAsItIs && bytes > 0) {
    std::byte *to = block.data();
    if (!memory.isHostMemory()) {
      Memory &pinned = *memory.device().memoryOfKind(pinnedHostKind);
      TILEWRIGHT_ASSIGN(packed, pinned.allocate(bytes, {"packed host array", type}));
      to = packed.data();
      from = {to, &pinned};
    }
    if (isPacked)
      packFromHost(to, host, dense, pool);
    else
      copyStrided(to, denseStrides(host.type.dims, elementBytes), source, host.byteStrides,
                  host.type.dims, elementBytes, &pool);
  }
  Event arrived;
  if (bytes > 0 && (isCopiedAsItIs || packed.data()))
    arrived = memory.client().backend().copy({block.data(), &memory}, from, bytes, pool);
  if (arrived.isFailed())
    return arrived.status();
  auto storage = std::make_shared<Storage>(std::move(block));
  if (!arrived.isReady()) // keep both blocks until the copy is complete
    arrived.onReady(
        [storage, kept = std::make_shared<Allocator::Block>(std::move(packed))](const Status &) {});
  if (done)
    *done = Event();
  return std::unique_ptr<Buffer>(new Buffer(std::move(type), bytes, memory, std::move(storage),
                                            std::move(arrived), /*inOrder=*/true));
}

Result<std::unique_ptr<Buffer>> Buffer::uninitialized(TensorType type, Memory &memory,
                                                      Promise *promise, const char *what) {
  TILEWRIGHT_ASSIGN(size_t bytes, byteCountOf(type));
  auto shared = std::make_shared<const TensorType>(std::move(type));
  TILEWRIGHT_ASSIGN(Allocator::Block block, memory.allocate(bytes, {what, shared}));
  return std::unique_ptr<Buffer>(new Buffer(std::move(shared), bytes, memory,
                                            std::make_shared<Storage>(std::move(block)),
                                            promise ? promise->event() : Event()));
}

std::unique_ptr<Buffer> Buffer::failed(TensorType type, Memory &memory, Status why) {
  Result<size_t> bytes = byteCountOf(type);
  // A failed buffer has storage too, because frameworks ask for pointers before they check events.
  auto storage = std::make_shared<Storage>(nullptr, false, std::function<void()>());
  return std::unique_ptr<Buffer>(new Buffer(std::make_shared<const TensorType>(std::move(type)),
                                            bytes.isOk() ? *bytes : 0, memory, std::move(storage),
                                            Event::failed(std::move(why))));
}

Result<std::unique_ptr<Buffer>> Buffer::view(void *data, TensorType type, Memory &memory,
                                             std::function<void()> giveBack, Event definition) {
  TILEWRIGHT_ASSIGN(size_t bytes, byteCountOf(type));
  if (reinterpret_cast<uintptr_t>(data) % bufferAlignment != 0)
    return Status(Error::hostLayout,
                  concat("memory at ", data, " cannot be used in place: it is not aligned to ",
                         bufferAlignment, " bytes; copy it instead"));
  auto storage =
      std::make_shared<Storage>(static_cast<std::byte *>(data), false, std::move(giveBack));
  return std::unique_ptr<Buffer>(new Buffer(std::make_shared<const TensorType>(std::move(type)),
                                            bytes, memory, std::move(storage),
                                            std::move(definition)));
}

void Buffer::release() {
  std::shared_ptr<Storage> dropped;
  std::lock_guard lock(mutex);
  dropped.swap(storage); // freed after the lock is released
}

bool Buffer::isDeleted() const {
  std::lock_guard lock(mutex);
  return !storage;
}

std::shared_ptr<Storage> Buffer::hold() const {
  std::lock_guard lock(mutex);
  return storage;
}

std::shared_ptr<std::byte> Buffer::keepBytes() const {
  std::shared_ptr<Storage> kept = hold();
  std::byte *bytes = kept ? kept->data() : nullptr;
  return {std::move(kept), bytes};
}

std::shared_ptr<Storage> Buffer::takeForDonation(bool &isOurs) {
  std::lock_guard lock(mutex);
  isOurs = storage && externalReferences == 0 && storage->canBeTakenOver();
  return std::exchange(storage, nullptr);
}

std::optional<Storage::Reading> Buffer::read() const {
  // Take the Reading under the buffer's lock, so that a concurrent donation sees either the Reading
  // or a deleted buffer.
  std::lock_guard lock(mutex);
  if (!storage)
    return std::nullopt;
  return Storage::Reading(storage);
}

/// Calls `copy`, which returns an Event, once the bytes in `place` are defined: immediately if they
/// are and the host can read them, otherwise on the transfer stream. The returned event fails if
/// the definition or the copy fails.
template <typename Copy>
static Event copyWhenDefined(const Event &definition, const Memory &place, Storage::Reading reading,
                             Copy copy) {
  if (definition.isFailed())
    return definition;
  struct Pending {
    Promise promise;
    std::optional<Storage::Reading> reading;
    Copy copy;
    void finish(const Status &status) {
      reading.reset();
      promise.complete(copyOf(status));
    }
  };
  if (definition.isReady() && place.isHostMemory()) {
    Event done = copy(reading.data());
    if (done.isReady())
      return done;
    auto pending = std::make_shared<Pending>(Promise(), std::move(reading), std::move(copy));
    Event finished = pending->promise.event();
    done.onReady([pending](const Status &status) { pending->finish(status); });
    return finished;
  }
  auto pending = std::make_shared<Pending>(Promise(), std::move(reading), std::move(copy));
  Event finished = pending->promise.event();
  definition.onReady([pending, &stream = place.device().transferStream()](const Status &status) {
    if (!status.isOk())
      return pending->finish(status);
    stream.enqueue([pending] {
      pending->copy(pending->reading->data()).onReady([pending](const Status &status) {
        pending->finish(status);
      });
    });
  });
  return finished;
}

static Event copyToHost(std::byte *to, const std::byte *from, size_t bytes, const Memory &place) {
  if (bytes == 0)
    return Event();
  trace::Span span("copy", "device to host");
  Client &client = place.client();
  return client.backend().copy({to, nullptr}, {const_cast<std::byte *>(from), &place}, bytes,
                               client.threadPool());
}

/// - hostLayout: `minorToMajor` is neither empty nor a permutation of `rank` dimensions.
static Status checkPermutation(std::span<const int64_t> minorToMajor, size_t rank) {
  std::vector<bool> seen(rank);
  bool isPermutation = minorToMajor.empty() || minorToMajor.size() == rank;
  for (int64_t dim : minorToMajor) {
    isPermutation = isPermutation && dim >= 0 && static_cast<size_t>(dim) < rank &&
                    !seen[static_cast<size_t>(dim)];
    if (!isPermutation)
      break;
    seen[static_cast<size_t>(dim)] = true;
  }
  if (isPermutation)
    return Status();
  return Status(Error::hostLayout,
                concat("layout ", listed(minorToMajor), " must be a permutation of the ", rank,
                       " dimensions of the buffer"));
}

namespace {
/// Copies an array to the host and reorders or unpacks its elements there.
struct ReorderedCopy {
  std::byte *to;
  size_t elements;
  std::vector<int64_t> strides; // of `to`
  bool isDense;                 // whether `strides` are row-major
  std::shared_ptr<const TensorType> type;
  size_t bytes; // of the array on the device
  Memory *place;

  Event operator()(const std::byte *from) const {
    if (bytes == 0)
      return Event();
    // The host needs bytes that it can read.
    Allocator::Block readable;
    if (!place->isHostMemory()) {
      Result<Allocator::Block> block =
          place->device().memoryOfKind(pinnedHostKind)->allocate(bytes, {"array to reorder", type});
      if (!block.isOk())
        return Event::failed(std::move(block).takeStatus());
      readable = *std::move(block);
      Event copied = copyToHost(readable.data(), from, bytes, *place);
      if (Status status = copied.await(); !status.isOk())
        return copied;
      from = readable.data();
    }
    trace::Span span("copy", "reorder on the host");
    const size_t elementBytes = numerics::storageBytes(type->element);
    std::vector<std::byte> unpacked;
    if (numerics::isPacked(type->element)) {
      if (!isDense)
        unpacked.resize(elements);
      std::byte *target = isDense ? to : unpacked.data();
      numerics::unpackElements(type->element, target, from, static_cast<int64_t>(elements));
      if (isDense)
        return Event();
      from = target;
    }
    copyStrided(to, strides, from, denseStrides(type->dims, elementBytes), type->dims, elementBytes,
                &place->client().threadPool());
    return Event();
  }
};
} // namespace

Result<Event> Buffer::toHost(void *destination, size_t size,
                             std::span<const int64_t> minorToMajor) const {
  if (size != hostByteCount())
    return Status(Error::hostLayout,
                  concat("cannot copy a buffer of ", hostByteCount(), " bytes to ", size,
                         " bytes of host memory; the sizes must be equal"));
  TILEWRIGHT_TRY(checkPermutation(minorToMajor, dims().size()));
  std::optional<Storage::Reading> reading = read();
  if (!reading)
    return deletedStatus("read");
  auto *to = static_cast<std::byte *>(destination);
  const size_t elementBytes = numerics::storageBytes(elementType());
  std::vector<int64_t> strides = denseStrides(dims(), elementBytes, minorToMajor);
  const bool dense = isDense(strides, dims(), elementBytes);
  if (dense && !numerics::isPacked(elementType()))
    return copyWhenDefined(defined, *place, std::move(*reading),
                           [to, bytes = bytes, place = place](const std::byte *from) {
                             return copyToHost(to, from, bytes, *place);
                           });
  return copyWhenDefined(defined, *place, std::move(*reading),
                         ReorderedCopy{to, size, std::move(strides), dense, tensor, bytes, place});
}

Result<Event> Buffer::toHostRaw(void *destination, size_t offset, size_t size) const {
  if (offset > bytes || size > bytes - offset)
    return Status(Error::hostLayout, concat("bytes ", offset, " to ", offset + size,
                                            " are outside the buffer of ", bytes, " bytes"));
  std::optional<Storage::Reading> reading = read();
  if (!reading)
    return deletedStatus("read");
  return copyWhenDefined(defined, *place, std::move(*reading),
                         [to = static_cast<std::byte *>(destination), offset, size,
                          place = place](const std::byte *from) {
                           return copyToHost(to, from + offset, size, *place);
                         });
}

Result<std::unique_ptr<Buffer>> Buffer::copyTo(Memory &memory) const {
  std::optional<Storage::Reading> reading = read();
  if (!reading)
    return deletedStatus("copy");
  if (defined.isFailed())
    return failed(*tensor, memory, defined.status());
  TILEWRIGHT_ASSIGN(Allocator::Block block, memory.allocate(bytes, {"copy", tensor}));
  auto storage = std::make_shared<Storage>(std::move(block));
  Event done =
      copyWhenDefined(defined, *place, std::move(*reading),
                      [storage, bytes = bytes, place = place, &memory](const std::byte *from) {
                        if (bytes == 0)
                          return Event();
                        trace::Span span("copy", "device to device");
                        Client &client = memory.client();
                        return client.backend().copy({storage->data(), &memory},
                                                     {const_cast<std::byte *>(from), place}, bytes,
                                                     client.threadPool());
                      });
  return std::unique_ptr<Buffer>(
      new Buffer(tensor, bytes, memory, std::move(storage), std::move(done)));
}

Status Buffer::addExternalReference() {
  std::lock_guard lock(mutex);
  if (!storage && externalReferences == 0)
    return deletedStatus("refer to");
  if (externalReferences++ == 0)
    external = storage;
  return Status();
}

Status Buffer::dropExternalReference() {
  std::shared_ptr<Storage> dropped;
  std::lock_guard lock(mutex);
  if (externalReferences == 0)
    return Status(Code::failedPrecondition,
                  "cannot drop an external reference: the buffer has none");
  if (--externalReferences == 0)
    dropped.swap(external); // freed after the lock is released
  return Status();
}

Result<void *> Buffer::data() const {
  std::lock_guard lock(mutex);
  const std::shared_ptr<Storage> &held = storage ? storage : external;
  if (!held)
    return deletedStatus("take the address of");
  return static_cast<void *>(held->data());
}

} // namespace tilewright::runtime
