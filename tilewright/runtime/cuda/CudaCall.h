// CudaCall: custom calls between the commands of a program.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDACALL_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDACALL_H

#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/CustomCall.h"
#include "tilewright/runtime/cuda/CommandBuffer.h"

#include <map>
#include <memory>
#include <vector>

namespace tilewright::runtime::cuda {

/// The state of one run. It is not kept in the program, because a handler may start another run of
/// the same program.
class CudaRun final : public DeviceQueue {
public:
  CudaRun(CudaDevice &gpu, const ProgramRun &run) : gpu(gpu), run(run) {}

  void *stream() const override { return gpu.programs().stream(); }
  Result<std::byte *> allocate(size_t bytes) override;
  /// Pinned host memory for the operands and results of one call. The device may still use it for
  /// an earlier call, in stream order.
  Result<std::byte *> staging(size_t bytes);
  /// Keeps the memory that the run has allocated until the event completes.
  void keepUntil(const Event &done);

  CudaDevice &gpu;
  const ProgramRun &run;
  std::vector<CUdeviceptr> addresses;  // of the plan's allocations
  std::map<uint32_t, CUevent> started; // collectives that are under way, by id
  /// A library computed a wrong result, but the device remains usable.
  bool blamesLibrary = false;

private:
  Allocator::Block host;
  std::vector<Allocator::Block> kept;
};

/// A custom call of the plan with its handler, for all devices of the program.
class CudaCall {
public:
  ///  - customCallUnknown (E5034): no handler has the call's name.
  ///  - any failure of the handler's preparation
  static Result<std::unique_ptr<CudaCall>> prepare(const artifact::Executable &executable,
                                                   const artifact::Step &step,
                                                   CustomCallResolver *resolver);

  /// Calls the handler after all work that was submitted before. A handler for device memory queues
  /// its work on the stream; before a handler for host memory, waits for the stream and copies the
  /// operands to the host, and afterwards the results back.
  /// Fails with the handler's failure; the message names the step.
  Status submit(CudaRun &run) const;

private:
  CudaCall() = default;
  Status callOnDevice(CudaRun &run) const;
  Status callOnHost(CudaRun &run) const;
  Status call(CudaRun &run, std::span<std::byte *const> operands,
              std::span<std::byte *const> results, DeviceQueue *queue) const;

  const artifact::CustomCallStep *step = nullptr;
  std::string name; // for messages: "'scale' (model.py:7)"
  std::vector<artifact::TensorType> operandTypes, resultTypes;
  std::unique_ptr<CustomCall> handler;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDACALL_H
