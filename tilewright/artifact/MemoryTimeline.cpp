#include "tilewright/artifact/MemoryTimeline.h"

#include "tilewright/artifact/Statistics.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tilewright::artifact {

namespace {

constexpr const char *timesName = "arena.step-times", *buffersName = "arena.buffers";

/// Calls `visit(block, index)` for every step, and for a loop or branch before the steps of its
/// blocks. The blocks of a checked executable form a tree; the traversal uses an explicit stack
/// instead of recursion.
template <typename Visit> void forEachStep(const Executable &executable, Visit visit) {
  std::vector<std::pair<Index, size_t>> open;
  if (!executable.blocks.empty())
    open.push_back({0, 0});
  while (!open.empty()) {
    auto [block, index] = open.back();
    if (index == executable.blocks[block].steps.size()) {
      open.pop_back();
      continue;
    }
    ++open.back().second;
    visit(block, index);
    std::vector<Index> inner = blocksOf(executable.blocks[block].steps[index]);
    for (auto next = inner.rbegin(); next != inner.rend(); ++next)
      open.push_back({*next, 0});
  }
}

} // namespace

void addMemoryTimeline(Executable &executable, std::span<const std::vector<int64_t>> stepTimes,
                       std::span<const int64_t> arena) {
  std::vector<int64_t> times;
  forEachStep(executable,
              [&](Index block, size_t index) { times.push_back(stepTimes[block][index]); });
  addStatistic(executable, timesName, times);
  addStatistic(executable, buffersName, arena);
}

std::optional<MemoryTimeline> MemoryTimeline::of(const Executable &executable) {
  MemoryTimeline memory;
  forEachStep(executable, [&](Index block, size_t index) {
    memory.steps.push_back(&executable.blocks[block].steps[index]);
  });
  memory.times = statisticList(executable, timesName);
  std::vector<int64_t> numbers = statisticList(executable, buffersName);
  // The file is untrusted: the code below must not overflow or read out of bounds.
  constexpr int64_t latest = int64_t(1) << 40;
  auto isTime = [](int64_t time) { return time >= 0 && time <= latest; };
  if (memory.times.size() != memory.steps.size() || numbers.size() % 4 != 0 ||
      !std::is_sorted(memory.times.begin(), memory.times.end()) ||
      !std::all_of(memory.times.begin(), memory.times.end(), isTime) || memory.steps.empty())
    return std::nullopt;
  memory.endTime = memory.times.back() + 1;
  const int64_t arena = executable.arenaBytes[0];
  std::map<int64_t, int64_t> deltas;
  for (size_t i = 0; i < numbers.size(); i += 4) {
    Buffer buffer{numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]};
    if (buffer.bytes <= 0 || buffer.bytes > arena || buffer.offset < 0 ||
        buffer.offset > arena - buffer.bytes || !isTime(buffer.begin) || !isTime(buffer.end) ||
        buffer.begin > buffer.end)
      return std::nullopt;
    auto after = std::upper_bound(memory.times.begin(), memory.times.end(), buffer.begin);
    buffer.maker =
        after == memory.times.begin() ? 0 : static_cast<size_t>(after - memory.times.begin() - 1);
    deltas[buffer.begin] += buffer.bytes;
    deltas[buffer.end + 1] -= buffer.bytes;
    memory.endTime = std::max(memory.endTime, buffer.end);
    memory.buffers.push_back(buffer);
  }
  std::stable_sort(memory.buffers.begin(), memory.buffers.end(),
                   [](const Buffer &a, const Buffer &b) { return a.begin < b.begin; });
  int64_t bytes = 0;
  for (auto [time, delta] : deltas) {
    bytes += delta;
    // Buffers that are live at the same time do not overlap, so in a valid timeline their total
    // never exceeds the arena.
    if (bytes > arena)
      return std::nullopt;
    memory.changes.push_back({time, bytes});
    if (bytes > memory.peakBytes) {
      memory.peakBytes = bytes;
      memory.peakTime = time;
    }
  }
  return memory;
}

int64_t MemoryTimeline::bytesAt(int64_t time) const {
  auto after = std::upper_bound(changes.begin(), changes.end(), time,
                                [](int64_t at, const Change &change) { return at < change.time; });
  return after == changes.begin() ? 0 : std::prev(after)->bytes;
}

std::vector<size_t> MemoryTimeline::aliveAt(int64_t time) const {
  std::vector<size_t> alive;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].begin <= time && time <= buffers[i].end)
      alive.push_back(i);
  std::stable_sort(alive.begin(), alive.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  return alive;
}

} // namespace tilewright::artifact
