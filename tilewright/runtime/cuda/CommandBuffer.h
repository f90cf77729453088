// CommandBuffer: consecutive launches and copies, submitted to a device as one CUDA graph.
#ifndef TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H
#define TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/cuda/CudaDevice.h"

#include <memory>
#include <span>
#include <vector>

namespace tilewright::runtime::cuda {

/// The addresses of a plan's allocations in a run.
using Addresses = std::span<const CUdeviceptr>;

/// One launch or copy, with the argument values of its latest run.
class Command {
public:
  Command(const artifact::GpuLaunch &launch, CUfunction function,
          std::span<const artifact::Slice> buffers);
  explicit Command(const artifact::CopyStep &copy) : copy(&copy) {}

  /// Computes the argument values of this run. Returns whether they differ from the previous ones.
  Result<bool> update(CudaDevice &device, Addresses addresses);
  Status submit(CudaDevice &device, CUstream stream);
  /// Adds a node to the graph after the node `before`; null if this is the first.
  Status addTo(CudaDevice &device, CUgraph graph, CUgraphNode before);
  /// Updates the node of an instantiated graph with the values of this run.
  Status renew(CudaDevice &device, CUgraphExec graph);
  CUgraphNode graphNode() const { return node; }

private:
  Status encode(CudaDevice &device, size_t map);
  CUDA_KERNEL_NODE_PARAMS_v2 nodeParameters();
  CUDA_MEMCPY3D copyParameters() const;
  /// Whether this copies memory to itself, which happens if a result takes over the memory of a
  /// donated parameter.
  bool isNothing() const { return copy && pointers[0] == pointers[1]; }

  const artifact::GpuLaunch *launch = nullptr; // either this or `copy`; inside the executable
  const artifact::CopyStep *copy = nullptr;
  CUfunction function = nullptr;
  std::vector<artifact::Slice> buffers;
  std::vector<CUdeviceptr> pointers; // of buffers; for a copy: to, from
  std::vector<CUtensorMap> maps;
  std::vector<void *> parameters; // pointers into `pointers` and `maps`
  CUgraphNode node = nullptr;
  bool isEnabled = true; // whether the node is enabled in the graph
};

/// Commands in order. The first run builds a CUDA graph of several commands; later runs update only
/// the nodes that changed and launch the graph with one call. A single command is launched
/// directly.
///
/// Not thread-safe: only the thread that runs the current task of the device's stream uses it.
class CommandBuffer {
public:
  explicit CommandBuffer(CudaDevice &device) : device(device) {}
  ~CommandBuffer();
  CommandBuffer(const CommandBuffer &) = delete;
  CommandBuffer &operator=(const CommandBuffer &) = delete;

  void add(Command command) { commands.push_back(std::move(command)); }
  Status submit(Addresses addresses);

  /// Counters over all command buffers of the process, for tests.
  struct Counts {
    int64_t graphsBuilt = 0, graphLaunches = 0, nodesRenewed = 0, singleLaunches = 0;
  };
  static Counts counts();

private:
  Status build();

  CudaDevice &device;
  std::vector<Command> commands;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H
