#include "tilewright/driver/MemoryBudget.h"

#include "tilewright/artifact/MemoryTimeline.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::driver {
namespace {

struct Tensor {
  int64_t bytes;
  std::string name;
};

std::string spell(const artifact::TensorType &type) {
  std::string text;
  for (int64_t size : type.dims)
    text += concat(size, "x");
  return text + std::string(numerics::spelling(type.element));
}

/// The buffers of temporaries that are live at the memory peak.
void addTemporaries(const artifact::Executable &executable, std::vector<Tensor> &tensors) {
  const auto memory = artifact::MemoryTimeline::of(executable);
  if (!memory)
    return;
  for (size_t buffer : memory->aliveAt(memory->peakTime)) {
    const artifact::Step &maker = *memory->steps[memory->buffers[buffer].maker];
    tensors.push_back({memory->buffers[buffer].bytes,
                       concat("the temporary of ", maker.name, maker.location.empty() ? "" : " at ",
                              maker.location)});
  }
}

} // namespace

Status checkDeviceMemory(const artifact::Executable &executable, int64_t limit) {
  int64_t parameters = 0, results = 0;
  std::vector<Tensor> tensors;
  for (const artifact::Allocation &allocation : executable.allocations) {
    const size_t index = allocation.index;
    if (allocation.storage == artifact::Storage::parameter) {
      const artifact::Parameter &parameter = executable.parameters[index];
      if (parameter.memoryKind != "device")
        continue;
      parameters += allocation.bytes;
      tensors.push_back(
          {allocation.bytes, concat("parameter ", index, ", ", spell(parameter.type))});
    } else if (allocation.storage == artifact::Storage::result) {
      const artifact::ResultInfo &result = executable.results[index];
      if (result.memoryKind != "device" || result.aliasOf != artifact::none)
        continue;
      results += allocation.bytes;
      tensors.push_back({allocation.bytes, concat("result ", index, ", ", spell(result.type))});
    }
  }
  const int64_t temporaries = executable.arenaBytes[0];
  const auto constants = static_cast<int64_t>(executable.constants.size());
  const int64_t needed = parameters + results + temporaries + constants;
  if (needed <= limit)
    return Status();
  addTemporaries(executable, tensors);
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Tensor &a, const Tensor &b) { return a.bytes > b.bytes; });
  constexpr size_t named = 3;
  tensors.resize(std::min(named, tensors.size()));
  std::string largest;
  for (const Tensor &tensor : tensors)
    largest += concat(largest.empty() ? "" : "; ", tensor.bytes, " bytes of ", tensor.name);
  return Status(Error::outOfMemory,
                concat("the program needs ", needed, " bytes on each device, but the limit is ",
                       limit, " bytes: ", parameters, " for parameters, ", results,
                       " for results, ", temporaries, " for temporaries, ", constants,
                       " for constants; largest: ", largest,
                       "; shard them over more devices, donate arguments, or raise "
                       "runtime.memory-limit"));
}

} // namespace tilewright::driver
