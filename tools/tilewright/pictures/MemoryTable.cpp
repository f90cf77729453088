#include "tools/tilewright/pictures/MemoryPicture.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstdio>

namespace tilewright::tools {

using artifact::MemoryTimeline;

/// The number of buffers that are listed; the others are summed up in one line.
static constexpr size_t shownHolders = 20;

/// The last step that begins at or before `time`.
static size_t stepAt(const MemoryTimeline &memory, int64_t time) {
  auto after = std::upper_bound(memory.times.begin(), memory.times.end(), time);
  return after == memory.times.begin() ? 0 : static_cast<size_t>(after - memory.times.begin() - 1);
}

static int64_t bytesIn(const artifact::Executable &executable, artifact::Storage storage) {
  int64_t sum = 0;
  for (const artifact::Allocation &allocation : executable.allocations)
    if (allocation.storage == storage)
      sum += allocation.bytes;
  return sum;
}

std::string memoryTable(const artifact::Executable &executable, const MemoryTimeline &memory) {
  const artifact::Step &peak = *memory.steps[stepAt(memory, memory.peakTime)];
  const int64_t arena = executable.arenaBytes[0];
  std::string out = concat(
      "temporaries  ", memory.peakBytes, " bytes at the peak, step ",
      stepAt(memory, memory.peakTime), " of ", memory.steps.size(), ": ", peak.name,
      peak.location.empty() ? "" : " at ", peak.location, "\n", "arena        ", arena, " bytes, ",
      arena - memory.peakBytes, " of them lost to fragmentation\n", "in addition  parameters ",
      bytesIn(executable, artifact::Storage::parameter), ", results ",
      bytesIn(executable, artifact::Storage::result), ", constants ", executable.constants.size(),
      " bytes\n\n", "       bytes  share       steps  made by\n");
  std::vector<size_t> holders = memory.aliveAt(memory.peakTime);
  int64_t rest = 0;
  for (size_t i = 0; i < holders.size(); ++i) {
    const MemoryTimeline::Buffer &buffer = memory.buffers[holders[i]];
    if (i >= shownHolders) {
      rest += buffer.bytes;
      continue;
    }
    const artifact::Step &maker = *memory.steps[buffer.maker];
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%12lld  %4.0f%%  %4zu - %4zu",
                  static_cast<long long>(buffer.bytes),
                  100.0 * static_cast<double>(buffer.bytes) / static_cast<double>(memory.peakBytes),
                  buffer.maker, stepAt(memory, buffer.end));
    out += concat(numbers, "  ", maker.name, maker.location.empty() ? "" : " at ", maker.location,
                  "\n");
  }
  if (rest > 0)
    out += concat(rest, " bytes in ", holders.size() - shownHolders, " smaller buffers\n");
  return out;
}

} // namespace tilewright::tools
