#include "tilewright/runtime/cuda/Transfer.h"
#include "tilewright/runtime/copy/StridedCopy.h"

#include <algorithm>
#include <optional>

namespace tilewright::runtime::cuda {

/// Returns a failed event after all submitted work has ended, so that the caller may free memory.
static Event failAfter(CudaDevice &device, CudaQueue &queue, Status status) {
  device.api().cuStreamSynchronize(queue.stream());
  return Event::failed(std::move(status));
}

static Result<Event> uploadInPieces(CudaDevice &device, std::byte *to, const std::byte *from,
                                    size_t bytes, ThreadPool &pool) {
  CudaQueue &queue = device.uploads();
  Event last;
  for (size_t at = 0; at < bytes; at += Staging::slotBytes) {
    const size_t size = std::min(Staging::slotBytes, bytes - at);
    TILEWRIGHT_ASSIGN(Staging::Slot taken, device.staging().acquire());
    auto slot = std::make_shared<Staging::Slot>(std::move(taken));
    copyDense(slot->data(), from + at, size, &pool);
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuMemcpyAsync, addressOf(to + at),
                                   addressOf(slot->data()), size, queue.stream()));
    last = queue.finished();
    if (last.isFailed())
      return last.status();
    last.onReady([slot](const Status &) {});
  }
  TILEWRIGHT_TRY(device.programs().waitFor(queue));
  return last;
}

Event upload(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes,
             ThreadPool &pool) {
  if (Status status = device.isUsable(); !status.isOk())
    return Event::failed(std::move(status));
  const ContextScope scope(device);
  Result<Event> done = uploadInPieces(device, to, from, bytes, pool);
  if (!done.isOk())
    return failAfter(device, device.uploads(), std::move(done).takeStatus());
  return *std::move(done);
}

Event uploadPinned(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes) {
  if (Status status = device.isUsable(); !status.isOk())
    return Event::failed(std::move(status));
  const ContextScope scope(device);
  CudaQueue &queue = device.uploads();
  Status status =
      TILEWRIGHT_CUDA(device, cuMemcpyAsync, addressOf(to), addressOf(from), bytes, queue.stream());
  if (status.isOk())
    status = device.programs().waitFor(queue);
  if (!status.isOk())
    return failAfter(device, queue, std::move(status));
  return queue.finished();
}

/// A piece of a copy that is in flight from the device to host memory.
struct Flight {
  Staging::Slot slot;
  Event arrived;
  std::byte *to = nullptr;
  size_t size = 0;

  Status land(ThreadPool &pool) {
    TILEWRIGHT_TRY(arrived.await());
    copyDense(to, slot.data(), size, &pool);
    return Status();
  }
};

static Status downloadInPieces(CudaDevice &device, std::byte *to, const std::byte *from,
                               size_t bytes, ThreadPool &pool) {
  CudaQueue &queue = device.downloads();
  // Overlap the copy out of one slot with the transfer into the next, if a second slot is free. Do
  // not block on a slot while holding one: two threads could deadlock.
  std::optional<Flight> before;
  for (size_t at = 0; at < bytes; at += Staging::slotBytes) {
    Staging::Slot slot;
    if (before)
      slot = device.staging().tryAcquire();
    if (!slot) {
      if (before)
        TILEWRIGHT_TRY(before->land(pool));
      before.reset();
      TILEWRIGHT_ASSIGN(slot, device.staging().acquire());
    }
    Flight flight{std::move(slot), Event(), to + at, std::min(Staging::slotBytes, bytes - at)};
    Status status = TILEWRIGHT_CUDA(device, cuMemcpyAsync, addressOf(flight.slot.data()),
                                    addressOf(from + at), flight.size, queue.stream());
    if (status.isOk()) {
      flight.arrived = queue.finished();
      if (before)
        status = before->land(pool);
    }
    if (!status.isOk()) {
      device.api().cuStreamSynchronize(queue.stream()); // ends all writes to the slots
      return status;
    }
    before.emplace(std::move(flight));
  }
  return before ? before->land(pool) : Status();
}

Event download(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes,
               ThreadPool &pool) {
  if (Status status = device.isUsable(); !status.isOk())
    return Event::failed(std::move(status));
  const ContextScope scope(device);
  return Event::failed(downloadInPieces(device, to, from, bytes, pool));
}

Event downloadPinned(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes) {
  if (Status status = device.isUsable(); !status.isOk())
    return Event::failed(std::move(status));
  const ContextScope scope(device);
  CudaQueue &queue = device.downloads();
  if (Status status = TILEWRIGHT_CUDA(device, cuMemcpyAsync, addressOf(to), addressOf(from), bytes,
                                      queue.stream());
      !status.isOk())
    return failAfter(device, queue, std::move(status));
  return queue.finished();
}

Event copyBetween(CudaDevice &target, std::byte *to, CudaDevice &source, const std::byte *from,
                  size_t bytes) {
  for (CudaDevice *device : {&target, &source})
    if (Status status = device->isUsable(); !status.isOk())
      return Event::failed(std::move(status));
  const ContextScope scope(source);
  CudaQueue &queue = source.peers();
  Status status = TILEWRIGHT_CUDA(source, cuMemcpyPeerAsync, addressOf(to), target.context(),
                                  addressOf(from), source.context(), bytes, queue.stream());
  if (status.isOk())
    status = target.programs().waitFor(queue);
  if (!status.isOk())
    return failAfter(source, queue, std::move(status));
  return queue.finished();
}

} // namespace tilewright::runtime::cuda
