#include "tilewright/vgpu/driver/observe/Observe.h"

#include "tilewright/vgpu/driver/observe/ObservationKinds.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/driver/observe/ObserveCount.h"
#include "tilewright/vgpu/driver/observe/ObserveRecord.h"
#include "tilewright/vgpu/machine/ObserverList.h"

#include <algorithm>

namespace tilewright::vgpu::driver {

static std::unique_ptr<Observation> start(ObserverKind observer, const LaunchFacts &facts) {
  switch (observer) {
  case ObserverKind::checker:
    return startChecking();
  case ObserverKind::counter:
    return startCounting(facts);
  case ObserverKind::recorder:
    return startRecording(facts);
  }
  return nullptr;
}

namespace {
/// Combines several observations of one launch.
class Several final : public Observation {
public:
  explicit Several(std::vector<std::unique_ptr<Observation>> all)
      : all(std::move(all)), list(observersOf(this->all)) {}
  machine::Observer &observer() override { return list; }
  Status finished(Status status) override {
    for (const auto &one : all)
      status = one->finished(std::move(status));
    return status;
  }
  std::string report() const override {
    std::string text;
    for (const auto &one : all)
      text += one->report();
    return text;
  }

private:
  static std::vector<machine::Observer *>
  observersOf(const std::vector<std::unique_ptr<Observation>> &all) {
    std::vector<machine::Observer *> observers;
    for (const std::unique_ptr<Observation> &one : all)
      observers.push_back(&one->observer());
    return observers;
  }
  std::vector<std::unique_ptr<Observation>> all;
  machine::ObserverList list;
};
} // namespace

std::unique_ptr<Observation> startObservation(const std::vector<std::string> &names,
                                              const LaunchFacts &facts) {
  std::vector<std::unique_ptr<Observation>> all;
  std::vector<ObserverKind> started;
  for (const std::string &name : names) {
    const ObservationKind *kind = findObservationKind(name);
    if (!kind || std::find(started.begin(), started.end(), kind->observer) != started.end())
      continue;
    started.push_back(kind->observer);
    if (std::unique_ptr<Observation> one = start(kind->observer, facts))
      all.push_back(std::move(one));
  }
  if (all.size() > 1)
    return std::make_unique<Several>(std::move(all));
  return all.empty() ? nullptr : std::move(all.front());
}

} // namespace tilewright::vgpu::driver
