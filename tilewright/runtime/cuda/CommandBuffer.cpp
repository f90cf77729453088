#include "tilewright/runtime/cuda/CommandBuffer.h"

#include "tilewright/runtime/cuda/Stopwatch.h"
#include "tilewright/support/Trace.h"

namespace tilewright::runtime::cuda {

static std::atomic<int64_t> graphsBuilt = 0, graphLaunches = 0, nodesRenewed = 0,
                            singleLaunches = 0;

CommandBuffer::Counts CommandBuffer::counts() {
  return {graphsBuilt, graphLaunches, nodesRenewed, singleLaunches};
}

CommandBuffer::~CommandBuffer() {
  if (!graph)
    return;
  const ContextScope scope(device);
  if (executable)
    device.api().cuGraphExecDestroy(executable);
  device.api().cuGraphDestroy(graph);
}

Status CommandBuffer::build() {
  if (graph) // an earlier attempt failed
    device.api().cuGraphDestroy(std::exchange(graph, nullptr));
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuGraphCreate, &graph, 0u));
  TILEWRIGHT_TRY(commands.addTo(device, graph));
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuGraphInstantiateWithFlags, &executable, graph, 0ull));
  ++graphsBuilt;
  return Status();
}

Status CommandBuffer::submit(Addresses addresses) {
  return trace::isOn() ? submitTimed(addresses) : submitAtOnce(addresses);
}

/// Submits commands one by one, because the driver would report a graph as a single event. Loops
/// and branches on the device remain a graph, so each of them is a single span of the timeline.
Status CommandBuffer::submitTimed(Addresses addresses) {
  const CUstream stream = device.programs().stream();
  const std::vector<Command *> all = commands.straight();
  // The commands now have new values that the graph does not have.
  if (executable && !all.empty())
    device.api().cuGraphExecDestroy(std::exchange(executable, nullptr));
  Stopwatch watch(device, stream);
  TILEWRIGHT_TRY(watch.start());
  for (Command *command : all) {
    TILEWRIGHT_ASSIGN([[maybe_unused]] bool isChanged, command->update(device, addresses));
    TILEWRIGHT_TRY(command->submit(device, stream));
    const artifact::Step *step = command->step;
    TILEWRIGHT_TRY(watch.lap(command->isLaunch() ? "kernel" : "copy",
                             step ? std::string_view(step->name) : "command",
                             step ? std::string_view(step->source) : ""));
  }
  if (all.empty() && !commands.isEmpty()) {
    TILEWRIGHT_TRY(submitAtOnce(addresses));
    TILEWRIGHT_TRY(watch.lap("control", "loops and branches on the device", ""));
  }
  return watch.finish();
}

Status CommandBuffer::submitAtOnce(Addresses addresses) {
  const CUstream stream = device.programs().stream();
  if (Command *command = commands.single()) {
    TILEWRIGHT_ASSIGN([[maybe_unused]] bool isChanged, command->update(device, addresses));
    ++singleLaunches;
    return command->submit(device, stream);
  }
  const bool isNew = !executable;
  std::vector<Command *> changed;
  TILEWRIGHT_TRY(commands.update(device, addresses, changed));
  if (isNew)
    TILEWRIGHT_TRY(build());
  // Update the instantiated graph; runs already submitted keep their values. A new graph is updated
  // too, to disable copies that are no-ops in this run.
  for (Command *command : changed) {
    if (Status status = command->renew(device, executable); !status.isOk()) {
      device.api().cuGraphExecDestroy(std::exchange(executable, nullptr)); // rebuilt next time
      return status;
    }
    nodesRenewed += !isNew;
  }
  ++graphLaunches;
  return TILEWRIGHT_CUDA(device, cuGraphLaunch, executable, stream);
}

} // namespace tilewright::runtime::cuda
