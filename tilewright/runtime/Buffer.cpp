#include "tilewright/runtime/Buffer.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/runtime/Storage.h"
#include "tilewright/runtime/StridedCopy.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>

namespace tilewright::runtime {

constexpr uintptr_t bufferAlignment = artifact::bufferAlignment;

static Result<size_t> byteCountOf(const TensorType &type) {
  TILEWRIGHT_ASSIGN(numerics::Shape shape, numerics::Shape::create(type.dims));
  return static_cast<size_t>(shape.byteCount(type.element));
}

static Status deletedStatus(std::string_view use) {
  return Status(Error::bufferDeleted,
                concat("cannot ", use,
                       " a buffer that was deleted or donated; keep a copy, or do not "
                       "donate the argument"));
}

Buffer::Buffer(std::shared_ptr<const TensorType> type, size_t bytes, Memory &memory,
               std::shared_ptr<Storage> storage, Event definition)
    : tensor(std::move(type)), bytes(bytes), place(&memory), defined(std::move(definition)),
      storage(std::move(storage)) {}

Buffer::~Buffer() = default;

/// Strides as numpy has them: one for each dimension, and no element further away than a pointer
/// can go.
static Status checkStrides(const HostBuffer &host) {
  if (host.byteStrides.empty())
    return Status();
  if (host.byteStrides.size() != host.type.dims.size())
    return Status(Error::hostLayout,
                  concat("a host array of ", host.type.dims.size(), " dimensions has ",
                         host.byteStrides.size(), " strides; there must be one for each"));
  int64_t reach = 0;
  for (size_t i = 0; i < host.byteStrides.size(); ++i) {
    int64_t extent = 0;
    const int64_t steps = std::max<int64_t>(host.type.dims[i] - 1, 0);
    if (__builtin_mul_overflow(steps, host.byteStrides[i], &extent) ||
        extent == std::numeric_limits<int64_t>::min() ||
        __builtin_add_overflow(reach, std::abs(extent), &reach))
      return Status(Error::hostLayout,
                    concat("strides ", listed(host.byteStrides), " of a host array of shape ",
                           listed(host.type.dims), " reach beyond all memory"));
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

  const bool mayAlias = host.semantics == HostBufferSemantics::immutableZeroCopy ||
                        host.semantics == HostBufferSemantics::mutableZeroCopy;
  if (mayAlias && dense && bytes > 0 &&
      reinterpret_cast<uintptr_t>(source) % bufferAlignment == 0 && memory.isHostMemory()) {
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
  ThreadPool *pool = &memory.client().threadPool();
  if (dense)
    copyDense(block.data(), source, bytes, pool);
  else
    copyStrided(block.data(), denseStrides(host.type.dims, elementBytes), source, host.byteStrides,
                host.type.dims, elementBytes, pool);
  if (done)
    *done = Event();
  return std::unique_ptr<Buffer>(new Buffer(std::move(type), bytes, memory,
                                            std::make_shared<Storage>(std::move(block)), Event()));
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
  // It has a place to point at, because frameworks ask for pointers before they look at events.
  auto storage = std::make_shared<Storage>(nullptr, false, std::function<void()>());
  return std::unique_ptr<Buffer>(new Buffer(std::make_shared<const TensorType>(std::move(type)),
                                            bytes.isOk() ? *bytes : 0, memory, std::move(storage),
                                            Event::failed(std::move(why))));
}

Result<std::unique_ptr<Buffer>> Buffer::view(void *data, TensorType type, Memory &memory,
                                             std::function<void()> giveBack, Event definition) {
  TILEWRIGHT_ASSIGN(size_t bytes, byteCountOf(type));
  if (reinterpret_cast<uintptr_t>(data) % bufferAlignment != 0)
    return Status(Error::hostLayout, concat("memory at ", data,
                                            " is to be used in place, but is "
                                            "not aligned to ",
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
  dropped.swap(storage); // freed after the lock
}

bool Buffer::isDeleted() const {
  std::lock_guard lock(mutex);
  return !storage;
}

std::shared_ptr<Storage> Buffer::hold() const {
  std::lock_guard lock(mutex);
  return storage;
}

std::shared_ptr<Storage> Buffer::takeForDonation(bool &isOurs) {
  std::lock_guard lock(mutex);
  isOurs = storage && externalReferences == 0 && storage->canBeTakenOver();
  return std::exchange(storage, nullptr);
}

std::optional<Storage::Reading> Buffer::read() const {
  // Under the buffer's lock, so that a donation sees either no buffer or the reading.
  std::lock_guard lock(mutex);
  if (!storage)
    return std::nullopt;
  return Storage::Reading(storage);
}

/// Runs `copy` after the definition: now if that has happened, else on the transfer stream. The
/// event fails as the definition does.
template <typename Copy>
static Event copyWhenDefined(const Event &definition, Client &client, Storage::Reading reading,
                             Copy copy) {
  if (definition.isReady()) {
    if (definition.isFailed())
      return definition;
    copy(reading.data());
    return Event();
  }
  struct Pending {
    Promise promise;
    std::optional<Storage::Reading> reading;
    Copy copy;
  };
  auto pending = std::make_shared<Pending>(Promise(), std::move(reading), std::move(copy));
  Event done = pending->promise.event();
  definition.onReady([pending, &client](const Status &status) {
    if (!status.isOk()) {
      pending->reading.reset();
      return pending->promise.complete(copyOf(status));
    }
    client.transferStream().enqueue([pending] {
      pending->copy(pending->reading->data());
      pending->reading.reset();
      pending->promise.complete();
    });
  });
  return done;
}

Result<Event> Buffer::toHost(void *destination, size_t size,
                             std::span<const int64_t> minorToMajor) const {
  if (size != bytes)
    return Status(Error::hostLayout, concat("a buffer of ", bytes, " bytes is to be copied to ",
                                            size, " bytes of host memory; they must be equal"));
  std::vector<bool> seen(dims().size());
  bool isPermutation = minorToMajor.empty() || minorToMajor.size() == seen.size();
  for (int64_t dim : minorToMajor) {
    isPermutation = isPermutation && dim >= 0 && static_cast<size_t>(dim) < seen.size() &&
                    !seen[static_cast<size_t>(dim)];
    if (!isPermutation)
      break;
    seen[static_cast<size_t>(dim)] = true;
  }
  if (!isPermutation)
    return Status(Error::hostLayout,
                  concat("layout ", listed(minorToMajor), " is not an order of the ", seen.size(),
                         " dimensions of the buffer"));

  std::optional<Storage::Reading> reading = read();
  if (!reading)
    return deletedStatus("read");
  Client &client = place->client();
  auto *to = static_cast<std::byte *>(destination);
  const size_t elementBytes = numerics::storageBytes(elementType());
  std::vector<int64_t> toStrides = denseStrides(dims(), elementBytes, minorToMajor);
  if (isDense(toStrides, dims(), elementBytes))
    return copyWhenDefined(defined, client, std::move(*reading),
                           [to, bytes = bytes, &client](const std::byte *from) {
                             trace::Span span("copy", "device to host");
                             copyDense(to, from, bytes, &client.threadPool());
                           });
  return copyWhenDefined(defined, client, std::move(*reading),
                         [to, type = tensor, toStrides = std::move(toStrides), elementBytes,
                          &client](const std::byte *from) {
                           trace::Span span("copy", "device to host");
                           copyStrided(to, toStrides, from, denseStrides(type->dims, elementBytes),
                                       type->dims, elementBytes, &client.threadPool());
                         });
}

Result<Event> Buffer::toHostRaw(void *destination, size_t offset, size_t size) const {
  if (offset > bytes || size > bytes - offset)
    return Status(Error::hostLayout, concat("bytes ", offset, " to ", offset + size,
                                            " are asked of a buffer of ", bytes));
  std::optional<Storage::Reading> reading = read();
  if (!reading)
    return deletedStatus("read");
  Client &client = place->client();
  return copyWhenDefined(
      defined, client, std::move(*reading),
      [to = static_cast<std::byte *>(destination), offset, size, &client](const std::byte *from) {
        trace::Span span("copy", "device to host");
        copyDense(to, from + offset, size, &client.threadPool());
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
  Client &client = memory.client();
  Event done = copyWhenDefined(defined, client, std::move(*reading),
                               [storage, bytes = bytes, &client](const std::byte *from) {
                                 trace::Span span("copy", "device to device");
                                 copyDense(storage->data(), from, bytes, &client.threadPool());
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
    return Status(Code::failedPrecondition, "a buffer has no external reference to drop");
  if (--externalReferences == 0)
    dropped.swap(external); // freed after the lock
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
