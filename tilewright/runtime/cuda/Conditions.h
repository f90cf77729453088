// Conditions: kernels that decide whether the conditional nodes of a CUDA graph run, so that the
// device repeats loops and chooses branches without the host.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CONDITIONS_H
#define TILEWRIGHT_RUNTIME_CUDA_CONDITIONS_H

#include "tilewright/runtime/cuda/Command.h"

#include <memory>

namespace tilewright::runtime::cuda {

/// The kernels on one device. Each is launched with a single thread; the last value of a command is
/// the handle of the node, which is set when the graph is built.
class Conditions {
public:
  /// Null if the driver has no conditional nodes, which begin with CUDA 12.3.
  static Result<std::unique_ptr<Conditions>> load(CudaDevice &device);
  ~Conditions();
  Conditions(const Conditions &) = delete;

  /// The node runs if the byte at `predicate` is not 0.
  Command setIf(const artifact::Slice &predicate) const;
  /// The node runs; sets the count of its rounds to 0.
  Command start(CUdeviceptr counter) const;
  /// The node repeats until it has run `rounds` times since start().
  Command setUntil(CUdeviceptr counter, uint64_t rounds) const;
  /// The node runs if `selector` selects branch `index` of `count`. The selector is an i32, whose
  /// out-of-range values select the last branch, or a predicate, whose value 0 selects branch 1.
  Command setBranch(const artifact::Slice &selector, bool isPredicate, uint64_t index,
                    uint64_t count) const;

private:
  explicit Conditions(CudaDevice &device) : device(device) {}
  CudaDevice &device;
  CUmodule module = nullptr;
  CUfunction ifFunction = nullptr, startFunction = nullptr, untilFunction = nullptr,
             branchFunction = nullptr;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CONDITIONS_H
