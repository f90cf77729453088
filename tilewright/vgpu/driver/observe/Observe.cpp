#include "tilewright/vgpu/driver/observe/Observe.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/driver/observe/ObserveCount.h"
#include "tilewright/vgpu/driver/observe/ObserveRecord.h"
#include "tilewright/vgpu/machine/ObserverList.h"

#include <algorithm>

namespace tilewright::vgpu::driver {

static std::unique_ptr<Observation> startCheckingOf(const LaunchFacts &) { return startChecking(); }

// One row for each kind of observation; `start` creates the observation of one launch.
static constexpr std::array kinds{
    ObservationKind{"all", "all four checks", startCheckingOf},
    ObservationKind{"races", "unordered accesses, missing fences, registers of wgmma",
                    startCheckingOf},
    ObservationKind{"uninit", "reads of shared and device memory that was never written",
                    startCheckingOf},
    ObservationKind{"bounds", "accesses before and past the end of allocations", startCheckingOf},
    ObservationKind{"barriers", "barriers that are used in ways PTX does not define",
                    startCheckingOf},
    ObservationKind{"strict", "all rules of PTX, even those from which compilers deviate",
                    startCheckingOf},
    ObservationKind{"count",
                    "instructions, sectors, bank conflicts, tensor-core work and waits by line",
                    startCounting},
    ObservationKind{"record", "each launch, to repeat it: module, sizes, parameters and memory",
                    startRecording},
};

std::span<const ObservationKind> observationKinds() { return kinds; }

static const ObservationKind *findKind(std::string_view name) {
  auto found = std::find_if(kinds.begin(), kinds.end(),
                            [&](const ObservationKind &kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

Status checkObservationNames(const std::vector<std::string> &names) {
  for (const std::string &name : names)
    if (!findKind(name)) {
      std::vector<std::string_view> known;
      for (const ObservationKind &kind : kinds)
        known.push_back(kind.name);
      return Status(Error::vgpuSetting,
                    concat("unknown check '", name, "' in TILEWRIGHT_VGPU_CHECK; the checks are ",
                           listed(known)));
    }
  return Status();
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
  std::vector<decltype(ObservationKind::start)> started; // all checks have the same start function
  for (const std::string &name : names) {
    const ObservationKind *kind = findKind(name);
    if (!kind || std::find(started.begin(), started.end(), kind->start) != started.end())
      continue;
    started.push_back(kind->start);
    if (std::unique_ptr<Observation> one = kind->start(facts))
      all.push_back(std::move(one));
  }
  if (all.size() > 1)
    return std::make_unique<Several>(std::move(all));
  return all.empty() ? nullptr : std::move(all.front());
}

} // namespace tilewright::vgpu::driver
