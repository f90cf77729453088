// Counts the instructions, memory accesses and waits of a launch.
#ifndef TILEWRIGHT_VGPU_COUNT_COUNTER_H
#define TILEWRIGHT_VGPU_COUNT_COUNTER_H

#include "tilewright/vgpu/count/Report.h"
#include "tilewright/vgpu/count/Timeline.h"
#include "tilewright/vgpu/machine/Observer.h"

#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace tilewright::vgpu::count {

struct CounterOptions {
  /// Whether to record a timeline, and the maximum number of its events. An event takes about 120
  /// bytes in the file.
  bool hasTimeline = false;
  size_t maxTimelineEvents = 200000;
};

/// Counts instructions, accesses, tensor-core work and waits of one launch, by source line.
///
///   Counter counter({.hasTimeline = true});
///   config.observer = &counter;
///   TILEWRIGHT_TRY(launch(*module, "gemm", config, arguments));
///   std::cout << counter.report().toText();
///   std::ofstream("gemm.trace.json") << counter.timeline();
///
/// AccessModel.h defines the costs: the model has no caches and no time. To use a checker as well,
/// put both in a machine::ObserverList. A second launch starts from zero.
class Counter : public machine::Observer {
public:
  explicit Counter(CounterOptions options = {});
  ~Counter() override;

  /// The counts of the last launch that ended.
  const Report &report() const { return result; }
  /// The timeline of the last launch, as a Chrome trace that Perfetto opens; empty unless the
  /// options have `hasTimeline`.
  const std::string &timeline() const { return timelineText; }

  void launchBegin(const machine::Grid &grid) override;
  void launchEnd(const machine::Grid &grid) override;
  void groupBegin(const machine::Group &group) override;
  void groupEnd(const machine::Group &group) override;
  void access(const machine::MemoryEvent &event) override;
  void synchronise(const machine::SyncEvent &event) override;
  void multiplied(const machine::Warp &warp, const machine::Op *op, const std::string &types,
                  uint64_t multiplyAdds) override;
  bool countsInstructions() const override { return true; }
  void instructionsCounted(const machine::Grid &grid,
                           std::span<const machine::InstructionCount> counts) override;

private:
  struct Thread;
  Thread &ofThread();

  const CounterOptions options;
  uint64_t serial = 0; // of the launch, unique in the process
  Report result;
  std::string timelineText;

  std::mutex mutex;
  std::map<std::thread::id, std::unique_ptr<Thread>> threads;   // guarded by mutex
  std::vector<std::pair<uint64_t, uint64_t>> instructionCounts; // guarded by mutex
  std::unique_ptr<TimelineBudget> budget;
};

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_COUNTER_H
