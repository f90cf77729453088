#include "tilewright/vgpu/count/Timeline.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/count/Report.h"
#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::count {

using machine::AccessKind;
using machine::AsyncId;
using machine::Block;
using machine::SyncEvent;
using machine::SyncKind;
using machine::Warp;

/// Tracks of barriers come after those of warps.
static constexpr uint64_t firstBarrierTrack = 100;

uint64_t Timeline::processOf(const Warp &warp) { return warp.block->linear + 1; }
uint64_t Timeline::warpNumber(const Warp &warp) { return warp.index; }

Timeline::WarpTrack &Timeline::trackOf(const Warp &warp) {
  const Block &block = *warp.block;
  return tracks[(block.clusterBase + block.rank) * block.warps.size() + warp.index];
}
int64_t Timeline::timeOf(const Warp &warp) {
  return static_cast<int64_t>(warp.executed) + trackOf(warp).skew;
}

void Timeline::add(const std::string &event) {
  if (budget.take())
    events.line().raw(event);
}

static std::string slice(std::string_view category, std::string_view name, uint64_t process,
                         uint64_t thread, int64_t begin, int64_t end, std::string_view key,
                         std::string_view value) {
  JsonWriter json;
  json.open('{').key("ph").text("X").key("cat").text(category).key("name").text(name);
  json.key("pid").number(process).key("tid").number(thread);
  json.key("ts").number(begin).key("dur").number(end - begin);
  json.key("args").open('{').key(key).text(value).close('}').close('}');
  return std::move(json).take();
}
static std::string naming(std::string_view what, uint64_t process, uint64_t thread,
                          std::string_view name) {
  JsonWriter json;
  json.open('{').key("ph").text("M").key("name").text(what);
  json.key("pid").number(process).key("tid").number(thread);
  json.key("args").open('{').key("name").text(name).close('}').close('}');
  return std::move(json).take();
}
static std::string bytesInFlight(uint64_t process, int64_t time, int64_t bytes) {
  JsonWriter json;
  json.open('{').key("ph").text("C").key("name").text("bytes in flight");
  json.key("pid").number(process).key("ts").number(time);
  json.key("args").open('{').key("bytes").number(bytes).close('}').close('}');
  return std::move(json).take();
}

void Timeline::groupBegin(const machine::Group &group) {
  const size_t warps = group.blocks.front().warps.size();
  tracks.assign(group.blocks.size() * warps, {});
  rendezvousByPhase.clear();
  phaseEnds.clear();
  waits.clear();
  inFlightOps.clear();
  byteChanges.clear();
  for (const Block &block : group.blocks) {
    const uint64_t process = block.linear + 1;
    add(naming("process_name", process, 0, concat("block ", listed(block.id))));
    for (const Warp &warp : block.warps)
      add(naming("thread_name", process, threadOf(warp), concat("warp ", warp.index)));
  }
}

void Timeline::groupEnd(const machine::Group &group) {
  int64_t end = 0;
  for (const Block &block : group.blocks)
    for (const Warp &warp : block.warps) {
      const int64_t time = timeOf(warp);
      end = std::max(end, time);
      if (const WarpTrack &track = trackOf(warp); time > track.since)
        add(slice("work", "work", processOf(warp), threadOf(warp), track.since, time, "until",
                  "its end"));
    }
  std::vector<AsyncId> left;
  for (const auto &[id, operation] : inFlightOps)
    left.push_back(id);
  std::sort(left.begin(), left.end());
  for (AsyncId id : left) {
    inFlightOps[id].name += ", never waited for";
    complete(id, end);
  }
  for (auto &[process, list] : byteChanges) {
    std::sort(list.begin(), list.end(),
              [](const ByteChange &a, const ByteChange &b) { return a.time < b.time; });
    int64_t bytes = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      bytes += list[i].change;
      if (i + 1 == list.size() || list[i + 1].time != list[i].time)
        add(bytesInFlight(process, list[i].time, bytes));
    }
  }
}

void Timeline::waited(const Warp &warp, const machine::Op *op, const std::string &what,
                      int64_t end) {
  WarpTrack &track = trackOf(warp);
  const int64_t time = timeOf(warp);
  if (end <= time)
    return;
  const std::string location = describePosition(*warp.block->group->grid->program, op);
  if (time > track.since)
    add(slice("work", "work", processOf(warp), threadOf(warp), track.since, time, "until",
              concat(what, " at ", location)));
  add(slice("wait", what, processOf(warp), threadOf(warp), time, end, "at", location));
  track.skew += end - time;
  track.since = end;
}

void Timeline::complete(AsyncId id, int64_t time) {
  auto it = inFlightOps.find(id);
  if (it == inFlightOps.end())
    return;
  const InFlightOp &operation = it->second;
  const int64_t end = std::max(time, operation.begin);
  auto event = [&](std::string_view phase, int64_t at) {
    JsonWriter json;
    json.open('{').key("ph").text(phase).key("cat").text(operation.category).key("id").number(id);
    json.key("pid").number(operation.block).key("tid").number(0);
    json.key("name").text(operation.name).key("ts").number(at);
    if (phase == "b")
      json.key("args").open('{').key("bytes").number(operation.bytes).close('}');
    return std::move(json.close('}')).take();
  };
  add(event("b", operation.begin));
  add(event("e", end));
  if (operation.bytes) {
    byteChanges[operation.block].push_back(
        {operation.begin, static_cast<int64_t>(operation.bytes)});
    byteChanges[operation.block].push_back({end, -static_cast<int64_t>(operation.bytes)});
  }
  inFlightOps.erase(it);
}

void Timeline::access(const machine::MemoryEvent &event) {
  if (!event.async || event.kind == AccessKind::read)
    return;
  if (auto it = inFlightOps.find(event.async); it != inFlightOps.end())
    it->second.bytes += uint64_t(std::popcount(event.mask)) * event.bytes;
}

uint64_t Timeline::barrierTrack(const Warp &warp, const std::string &name) {
  const uint64_t process = processOf(warp);
  auto [it, isNew] =
      barrierTracks.try_emplace({process, name}, firstBarrierTrack + barrierTracks.size());
  if (isNew)
    add(naming("thread_name", process, it->second, name));
  return it->second;
}

void Timeline::synchronise(const SyncEvent &event) {
  const Warp &warp = event.warp;
  const uint64_t block = warp.block->linear;
  const uint64_t cluster = warp.block->group->blocks[warp.block->clusterBase].linear;
  enum Kind : uint64_t { named, mbarrier, ofCluster };
  auto key = [&](Kind kind, uint64_t owner, uint64_t object) {
    return std::tuple<uint64_t, uint64_t, uint64_t>(uint64_t(kind) << 60 | owner, object,
                                                    event.phase);
  };
  // Records the phase on the barrier's own track, once per phase, and ends the warp's wait.
  auto leave = [&](const auto &which, const std::string &name) {
    auto it = rendezvousByPhase.find(which);
    if (it == rendezvousByPhase.end())
      return;
    if (it->second.first >= 0) {
      add(slice("barrier", concat("phase ", event.phase), processOf(warp), barrierTrack(warp, name),
                it->second.first, it->second.last, "of", name));
      it->second.first = -1;
    }
    waited(warp, event.op, name, it->second.last);
  };
  switch (event.kind) {
  case SyncKind::barrierArrive:
    rendezvousByPhase[key(named, block, event.object)].arrive(timeOf(warp));
    break;
  case SyncKind::barrierLeave:
    leave(key(named, block, event.object), concat("barrier ", event.object));
    break;
  case SyncKind::clusterArrive:
    rendezvousByPhase[key(ofCluster, cluster, 0)].arrive(timeOf(warp));
    break;
  case SyncKind::clusterLeave:
    leave(key(ofCluster, cluster, 0), "cluster");
    break;
  case SyncKind::mbarrierArrive:
  case SyncKind::mbarrierComplete: {
    int64_t time = timeOf(warp);
    if (auto it = inFlightOps.find(event.async); event.async && it != inFlightOps.end())
      time = it->second.begin;
    rendezvousByPhase[key(mbarrier, 0, InFlightOps::mbarrierOf(event))].arrive(time);
    break;
  }
  case SyncKind::mbarrierPhase: {
    const auto which = key(mbarrier, 0, InFlightOps::mbarrierOf(event));
    const Rendezvous &rendezvous = rendezvousByPhase[which];
    const std::string name = concat("mbarrier at ", event.object & machine::sharedOffsetMask);
    add(slice("barrier", concat("phase ", event.phase), processOf(warp), barrierTrack(warp, name),
              std::max<int64_t>(rendezvous.first, 0), rendezvous.last, "of", name));
    phaseEnds[{InFlightOps::mbarrierOf(event), event.phase}] = rendezvous.last;
    rendezvousByPhase.erase(which);
    break;
  }
  case SyncKind::mbarrierWait:
    if (auto it = phaseEnds.find({InFlightOps::mbarrierOf(event), event.phase});
        it != phaseEnds.end())
      waited(
          warp, event.op,
          concat("mbarrier at ", event.object & machine::sharedOffsetMask, " phase ", event.phase),
          it->second);
    break;
  case SyncKind::asyncIssue: {
    const machine::Program &program = *warp.block->group->grid->program;
    const uint32_t number = instructionNumber(program, event.op);
    InFlightOp operation;
    operation.name = number < program.instructionCount
                         ? std::string(ptx::rowOf(instructionAt(program, number)).opcode)
                         : "operation";
    if (event.group == machine::GroupKind::matrix)
      operation.category = "matrix";
    operation.block = processOf(warp);
    operation.begin = timeOf(warp);
    inFlightOps[event.async] = std::move(operation);
    break;
  }
  default:
    break;
  }
  for (AsyncId id : waits.waitedFor(event))
    complete(id, timeOf(warp));
}

std::string Timeline::toJson(const std::vector<const Timeline *> &timelines,
                             const std::string &title, bool isComplete) {
  std::string clock = "One microsecond here is one instruction of a warp. The virtual GPU has no "
                      "time: a warp's clock counts the instructions it executed and, after a wait, "
                      "is at least that of the last one it waited for. All blocks begin at 0. A "
                      "copy is in flight from its issue until a warp waits for it.";
  if (!isComplete)
    clock += " The limit of events was reached: later blocks and events are missing.";
  JsonWriter json;
  json.open('{').key("displayTimeUnit").text("ms").key("otherData").open('{');
  json.key("launch").text(title).key("clock").text(clock).close('}').key("traceEvents").open('[');
  json.line().raw(naming("process_name", 0, 0, concat("about: ", title)));
  json.line().raw(naming("thread_name", 0, 1, "1 us is one instruction of a warp"));
  json.line().raw(slice("about", isComplete ? "read me" : "read me: not complete", 0, 1, 0, 1000,
                        "clock", clock));
  for (const Timeline *one : timelines)
    if (!one->events.written().empty())
      json.raw(one->events.written());
  json.line().close(']').close('}').line();
  return std::move(json).take();
}

} // namespace tilewright::vgpu::count
