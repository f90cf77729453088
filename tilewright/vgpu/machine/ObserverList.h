// Combines several observers of one launch.
#ifndef TILEWRIGHT_VGPU_MACHINE_OBSERVERLIST_H
#define TILEWRIGHT_VGPU_MACHINE_OBSERVERLIST_H

#include "tilewright/vgpu/machine/Observer.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tilewright::vgpu::machine {

/// Passes every event to each of several observers, in order.
///
///   ObserverList both({&checker, &counter});
///   config.observer = &both;
class ObserverList : public Observer {
public:
  explicit ObserverList(std::vector<Observer *> observers) : observers(std::move(observers)) {}

  void launchBegin(const Grid &grid) override {
    for (Observer *one : observers)
      one->launchBegin(grid);
  }
  void launchEnd(const Grid &grid) override {
    for (Observer *one : observers)
      one->launchEnd(grid);
  }
  void groupBegin(const Group &group) override {
    for (Observer *one : observers)
      one->groupBegin(group);
  }
  void groupEnd(const Group &group) override {
    for (Observer *one : observers)
      one->groupEnd(group);
  }
  /// With several observers, reads must not be logged: the log of one observer would hide them from
  /// the others.
  SharedReads *sharedReads(const Block &block) override {
    return observers.size() == 1 ? observers.front()->sharedReads(block) : nullptr;
  }
  void access(const MemoryEvent &event) override {
    for (Observer *one : observers)
      one->access(event);
  }
  void valueRead(const MemoryEvent &event) override {
    for (Observer *one : observers)
      one->valueRead(event);
  }
  void synchronise(const SyncEvent &event) override {
    for (Observer *one : observers)
      one->synchronise(event);
  }
  bool countsInstructions() const override {
    return std::any_of(observers.begin(), observers.end(),
                       [](const Observer *one) { return one->countsInstructions(); });
  }
  void instructionsCounted(const Grid &grid, std::span<const InstructionCount> counts) override {
    for (Observer *one : observers)
      if (one->countsInstructions())
        one->instructionsCounted(grid, counts);
  }
  void accessInFlight(const Warp &warp, const Op *op, uint32_t mask, uint32_t slot,
                      AsyncId operation) override {
    for (Observer *one : observers)
      one->accessInFlight(warp, op, mask, slot, operation);
  }

  void hazard(const HazardEvent &event) override {
    for (Observer *one : observers)
      one->hazard(event);
  }
  void multiplied(const Warp &warp, const Op *op, const std::string &types,
                  uint64_t multiplyAdds) override {
    for (Observer *one : observers)
      one->multiplied(warp, op, types, multiplyAdds);
  }

private:
  const std::vector<Observer *> observers;
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_OBSERVERLIST_H
