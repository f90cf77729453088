// CommandBuffer: consecutive launches and copies, submitted to a device as one CUDA graph.
#ifndef TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H
#define TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H

#include "tilewright/runtime/cuda/CommandList.h"

#include <atomic>

namespace tilewright::runtime::cuda {

/// Commands in order, with the loops and branches that the device decides. The first run builds a
/// CUDA graph; later runs update only the nodes that changed and launch the graph with one call. A
/// single launch or copy is submitted directly.
///
/// Not thread-safe: only the thread that runs the current task of the device's stream uses it.
class CommandBuffer {
public:
  explicit CommandBuffer(CudaDevice &device) : device(device) {}
  ~CommandBuffer();
  CommandBuffer(const CommandBuffer &) = delete;
  CommandBuffer &operator=(const CommandBuffer &) = delete;

  CommandList &list() { return commands; }
  /// While a timeline is recorded, waits for the commands and records when each of them ran.
  Status submit(Addresses addresses);

  /// Counters over all command buffers of the process, for tests.
  struct Counts {
    int64_t graphsBuilt = 0, graphLaunches = 0, nodesRenewed = 0, singleLaunches = 0;
  };
  static Counts counts();
  /// How often the host has waited for a predicate, over all programs of the process, for tests.
  static inline std::atomic<int64_t> predicatesRead = 0;

private:
  Status build();
  Status submitAtOnce(Addresses addresses);
  Status submitTimed(Addresses addresses);

  CudaDevice &device;
  CommandList commands;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_COMMANDBUFFER_H
