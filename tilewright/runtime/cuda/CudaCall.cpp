#include "tilewright/runtime/cuda/CudaCall.h"

#include "tilewright/runtime/Memory.h"
#include "tilewright/runtime/cuda/Transfer.h"
#include "tilewright/support/Concat.h"

namespace tilewright::runtime::cuda {

using artifact::Slice;

/// Handlers expect buffers at multiples of this, as in XLA.
static constexpr size_t alignment = 64;

Result<std::byte *> CudaRun::allocate(size_t bytes) {
  TILEWRIGHT_ASSIGN(Allocator::Block block,
                    run.device->defaultMemory().allocate(bytes, {"memory of a custom call"}));
  kept.push_back(std::move(block));
  return kept.back().data();
}

Result<std::byte *> CudaRun::staging(size_t bytes) {
  if (host.size() < bytes) {
    TILEWRIGHT_ASSIGN(
        Allocator::Block block,
        run.device->memoryOfKind(pinnedHostKind)->allocate(bytes, {"buffers of a host call"}));
    kept.push_back(std::exchange(host, std::move(block))); // copies from it may be queued
  }
  return host.data();
}

void CudaRun::keepUntil(const Event &done) {
  if (host.data())
    kept.push_back(std::move(host));
  if (!kept.empty())
    done.onReady([blocks = std::make_shared<std::vector<Allocator::Block>>(std::move(kept))](
                     const Status &) { blocks->clear(); });
}

static std::vector<artifact::TensorType> typesOf(const artifact::Executable &executable,
                                                 std::span<const artifact::Operand> operands) {
  std::vector<artifact::TensorType> types;
  for (const artifact::Operand &operand : operands)
    types.push_back(executable.types[operand.type]);
  return types;
}

Result<std::unique_ptr<CudaCall>> CudaCall::prepare(const artifact::Executable &executable,
                                                    const artifact::Step &step,
                                                    CustomCallResolver *resolver) {
  std::unique_ptr<CudaCall> call(new CudaCall);
  call->step = &std::get<artifact::CustomCallStep>(step.action);
  call->name = step.location.empty() ? concat("'", step.name, "'")
                                     : concat("'", step.name, "' (", step.location, ")");
  call->operandTypes = typesOf(executable, call->step->operands);
  call->resultTypes = typesOf(executable, call->step->results);
  if (resolver) {
    Result<std::unique_ptr<CustomCall>> found =
        resolver->prepare({call->step, call->operandTypes, call->resultTypes});
    if (!found.isOk())
      return std::move(found).takeStatus().during(concat("loading ", call->name));
    call->handler = *std::move(found);
  }
  if (!call->handler)
    return Status(Error::customCallUnknown,
                  concat("no handler is registered for custom call '", call->step->target,
                         "' (API version ", call->step->apiVersion, ") of ", call->name,
                         "; register it before the program is loaded, in JAX with "
                         "jax.ffi.register_ffi_target"));
  return call;
}

Status CudaCall::submit(CudaRun &run) const {
  Status status = handler->takesDeviceMemory() ? callOnDevice(run) : callOnHost(run);
  return status.isOk() ? Status() : std::move(status).during(concat("running ", name));
}

Status CudaCall::call(CudaRun &run, std::span<std::byte *const> operands,
                      std::span<std::byte *const> results, DeviceQueue *queue) const {
  return handler->run({.operands = operands,
                       .results = results,
                       .pool = run.run.pool,
                       .runId = run.run.runId,
                       .device = run.run.device,
                       .userContext = run.run.userContext,
                       .queue = queue});
}

Status CudaCall::callOnDevice(CudaRun &run) const {
  auto pointersOf = [&](std::span<const artifact::Operand> operands) {
    std::vector<std::byte *> pointers;
    for (const artifact::Operand &operand : operands)
      pointers.push_back(reinterpret_cast<std::byte *>(run.addresses[operand.slice.allocation]) +
                         operand.slice.offset);
    return pointers;
  };
  return call(run, pointersOf(step->operands), pointersOf(step->results), &run);
}

Status CudaCall::callOnHost(CudaRun &run) const {
  CudaDevice &gpu = run.gpu;
  const CUstream stream = gpu.programs().stream();
  auto addressOnDevice = [&](const Slice &slice) {
    return run.addresses[slice.allocation] + static_cast<CUdeviceptr>(slice.offset);
  };
  // If a result shares memory with an operand on the device, it must do so on the host, too: the
  // handler was declared to update the operand in place.
  std::vector<size_t> places; // of operands, then of results
  size_t bytes = 0;
  auto place = [&](const Slice &slice) {
    places.push_back(bytes);
    bytes += (static_cast<size_t>(slice.bytes) + alignment - 1) / alignment * alignment;
  };
  for (const artifact::Operand &operand : step->operands)
    place(operand.slice);
  for (const artifact::Operand &result : step->results) {
    size_t i = 0;
    while (i < step->operands.size() && step->operands[i].slice != result.slice)
      ++i;
    if (i < step->operands.size())
      places.push_back(places[i]);
    else
      place(result.slice);
  }
  std::byte *host = nullptr;
  if (bytes > 0) {
    TILEWRIGHT_ASSIGN(host, run.staging(bytes));
  }
  std::vector<std::byte *> pointers;
  for (size_t offset : places)
    pointers.push_back(host ? host + offset : nullptr);
  const std::span operands = std::span(pointers).first(step->operands.size());
  const std::span results = std::span(pointers).subspan(step->operands.size());

  for (size_t i = 0; i < operands.size(); ++i)
    if (const Slice &slice = step->operands[i].slice; slice.bytes > 0)
      TILEWRIGHT_TRY(TILEWRIGHT_CUDA(gpu, cuMemcpyAsync, addressOf(operands[i]),
                                     addressOnDevice(slice), static_cast<size_t>(slice.bytes),
                                     stream));
  // Waits even if there are no operands: effects happen after everything before them, and an
  // earlier call's uploads from the same staging memory must have ended before this call writes its
  // results.
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(gpu, cuStreamSynchronize, stream));
  TILEWRIGHT_TRY(call(run, operands, results, nullptr));
  for (size_t i = 0; i < results.size(); ++i)
    if (const Slice &slice = step->results[i].slice; slice.bytes > 0)
      TILEWRIGHT_TRY(TILEWRIGHT_CUDA(gpu, cuMemcpyAsync, addressOnDevice(slice),
                                     addressOf(results[i]), static_cast<size_t>(slice.bytes),
                                     stream));
  return Status();
}

} // namespace tilewright::runtime::cuda
