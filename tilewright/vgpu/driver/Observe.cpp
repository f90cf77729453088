#include "tilewright/vgpu/driver/Observe.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::vgpu::driver {

// One row for each kind that exists; `start` makes what watches one launch.
static constexpr std::array<ObservationKind, 0> kinds{};

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
      return Status(Error::vgpuSetting, concat("TILEWRIGHT_VGPU_CHECK names '", name,
                                               "', which is no check; there are ", listed(known)));
    }
  return Status();
}

namespace {
/// Several observations of one launch as one.
class Several final : public Observation, public machine::Observer {
public:
  explicit Several(std::vector<std::unique_ptr<Observation>> all) : all(std::move(all)) {}
  machine::Observer &observer() override { return *this; }
  void access(const machine::MemoryEvent &event) override {
    for (const auto &one : all)
      one->observer().access(event);
  }
  void synchronise(const machine::SyncEvent &event) override {
    for (const auto &one : all)
      one->observer().synchronise(event);
  }
  Status finished(Status status) override {
    for (const auto &one : all)
      status = one->finished(std::move(status));
    return status;
  }

private:
  std::vector<std::unique_ptr<Observation>> all;
};
} // namespace

std::unique_ptr<Observation> startObservation(const std::vector<std::string> &names,
                                              const LaunchFacts &facts) {
  std::vector<std::unique_ptr<Observation>> all;
  for (const std::string &name : names)
    if (const ObservationKind *kind = findKind(name))
      if (std::unique_ptr<Observation> one = kind->start(facts))
        all.push_back(std::move(one));
  if (all.size() > 1)
    return std::make_unique<Several>(std::move(all));
  return all.empty() ? nullptr : std::move(all.front());
}

} // namespace tilewright::vgpu::driver
