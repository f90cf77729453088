// Command: one launch or copy of a plan.
#ifndef TILEWRIGHT_RUNTIME_CUDA_COMMAND_H
#define TILEWRIGHT_RUNTIME_CUDA_COMMAND_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/cuda/CudaDevice.h"

#include <atomic>
#include <span>
#include <vector>

namespace tilewright::runtime::cuda {

/// Sets the sizes of a launch in CUDA's parameters of a launch or of a graph's node.
template <typename T> void setSizes(T &to, const artifact::GpuLaunch &launch) {
  to.gridDimX = launch.grid[0];
  to.gridDimY = launch.grid[1];
  to.gridDimZ = launch.grid[2];
  to.blockDimX = launch.block[0];
  to.blockDimY = launch.block[1];
  to.blockDimZ = launch.block[2];
  to.sharedMemBytes = launch.sharedBytes;
}

/// The attribute of a launch or node that sets the size of its clusters.
CUlaunchAttribute clusterAttribute(const artifact::GpuLaunch &launch);

/// The addresses of a plan's allocations in a run.
using Addresses = std::span<const CUdeviceptr>;

/// One launch or copy, with the argument values of its latest run.
class Command {
public:
  /// A launch with pointers to `buffers`, the tensor maps, and `values`.
  Command(const artifact::GpuLaunch &launch, CUfunction function,
          std::span<const artifact::Slice> buffers, std::vector<uint64_t> values = {});
  Command(const artifact::Slice &to, const artifact::Slice &from) : buffers{to, from} {}
  /// A copy from a fixed address.
  Command(const artifact::Slice &to, CUdeviceptr from) : buffers{to}, fixed(from) {}

  /// Computes the argument values of this run. Returns whether they differ from the previous ones.
  Result<bool> update(CudaDevice &device, Addresses addresses);
  Status submit(CudaDevice &device, CUstream stream);
  /// Adds a node to the graph after the node `before`; null if this is the first.
  Status addTo(CudaDevice &device, CUgraph graph, CUgraphNode before);
  /// Updates the node of an instantiated graph with the values of this run.
  Status renew(CudaDevice &device, CUgraphExec graph);
  CUgraphNode graphNode() const { return node; }
  bool isLaunch() const { return launch != nullptr; }
  /// The step, for timelines; null if the command is not a step of the program.
  const artifact::Step *step = nullptr;
  /// How often a copy has been left out of a graph, over all commands of the process, for tests.
  static inline std::atomic<int64_t> copiesLeftOut = 0;
  /// Sets the last of the values: the handle of the conditional node that this launch decides.
  void setHandle(uint64_t handle) { values.back() = handle; }

private:
  Status encode(CudaDevice &device, size_t map);
  CUDA_KERNEL_NODE_PARAMS_v2 nodeParameters();
  CUDA_MEMCPY3D copyParameters() const;
  /// Whether this copies memory to itself: the case if a result takes over the memory of a donated
  /// parameter.
  bool isNothing() const { return !launch && pointers[0] == pointers[1]; }

  const artifact::GpuLaunch *launch = nullptr; // inside the executable; null for a copy
  CUfunction function = nullptr;
  std::vector<artifact::Slice> buffers; // for a copy: to, from
  CUdeviceptr fixed = 0;                // the source of a copy if it is not in the plan
  std::vector<CUdeviceptr> pointers;    // of buffers; for a copy: to, from
  std::vector<CUtensorMap> maps;
  std::vector<uint64_t> values;
  std::vector<void *> parameters; // pointers into `pointers`, `maps` and `values`
  CUgraphNode node = nullptr;
  bool isEnabled = true; // whether the node is enabled in the graph
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_COMMAND_H
