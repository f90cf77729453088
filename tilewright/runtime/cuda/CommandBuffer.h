// CommandBuffer: launches and copies that follow each other, given to a device as one.
#ifndef TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H
#define TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/cuda/CudaDevice.h"

#include <memory>
#include <span>
#include <vector>

namespace tilewright::runtime::cuda {

/// Where the allocations of a plan are in a run.
using Addresses = std::span<const CUdeviceptr>;

/// One launch or copy, with the values that it had the last time.
class Command {
public:
  Command(const artifact::GpuLaunch &launch, CUfunction function,
          std::span<const artifact::Slice> buffers);
  explicit Command(const artifact::CopyStep &copy) : copy(&copy) {}

  /// Works out the values of this run; true if they are not those of before.
  Result<bool> update(CudaDevice &device, Addresses addresses);
  Status submit(CudaDevice &device, CUstream stream);
  /// Adds itself behind `before` (null: as the first).
  Status addTo(CudaDevice &device, CUgraph graph, CUgraphNode before);
  /// Tells a graph that was made of it the values of this run.
  Status renew(CudaDevice &device, CUgraphExec graph);
  CUgraphNode graphNode() const { return node; }

private:
  Status encode(CudaDevice &device, size_t map);
  CUDA_KERNEL_NODE_PARAMS_v2 nodeParameters();
  CUDA_MEMCPY3D copyParameters() const;
  /// The plan may be right both when two allocations are the same memory and when not.
  bool isNothing() const { return copy && pointers[0] == pointers[1]; }

  const artifact::GpuLaunch *launch = nullptr; // one of the two, inside the executable
  const artifact::CopyStep *copy = nullptr;
  CUfunction function = nullptr;
  std::vector<artifact::Slice> buffers;
  std::vector<CUdeviceptr> pointers; // of buffers; of a copy: to, from
  std::vector<CUtensorMap> maps;
  std::vector<void *> parameters; // into pointers and maps
  CUgraphNode node = nullptr;
  bool isEnabled = true; // in the graph
};

/// Commands in order. Several become a CUDA graph on the first run, which later
/// runs tell only what has changed and then launch with one call; a single one
/// is launched as it is.
///
/// Used by one thread at a time: the turn of the device's stream.
class CommandBuffer {
public:
  explicit CommandBuffer(CudaDevice &device) : device(device) {}
  ~CommandBuffer();
  CommandBuffer(const CommandBuffer &) = delete;
  CommandBuffer &operator=(const CommandBuffer &) = delete;

  void add(Command command) { commands.push_back(std::move(command)); }
  Status submit(Addresses addresses);

  /// Of all command buffers of the process, for tests.
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
