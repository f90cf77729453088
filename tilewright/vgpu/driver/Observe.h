// Where checkers and counters are attached to launches.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::driver {

/// What is about to be launched.
struct LaunchFacts {
  machine::LoadedModule &module;
  std::string_view kernel;
  const machine::LaunchConfig &config; // with no observer yet
  int device = 0;
  uint64_t stream = 0;          // its number
  uint64_t number = 0;          // of the launch in this process, from 1
  std::string_view counts = {}; // folder for what counting gives; empty: none
};

/// Watches one launch.
class Observation {
public:
  virtual ~Observation() = default;
  /// What the machine tells; outlives the launch.
  virtual machine::Observer &observer() = 0;
  /// The launch ended, with its own failure or without. What it gives is the failure of
  /// the launch: `status` itself, or what was found.
  virtual Status finished(Status status) = 0;
  /// After finished(): what was found in all launches so far, as text; empty if nothing
  /// new was.
  virtual std::string report() const { return ""; }
};

/// A kind of observation that TILEWRIGHT_VGPU_CHECK can name. A checker or a counter
/// adds a row to the table in Observe.cpp.
struct ObservationKind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Observation> (*start)(const LaunchFacts &facts);
};
std::span<const ObservationKind> observationKinds();

///  - vgpuSetting: no kind has one of the names.
Status checkObservationNames(const std::vector<std::string> &names);
/// An observation by the kinds of that name; null if there are none.
std::unique_ptr<Observation> startObservation(const std::vector<std::string> &names,
                                              const LaunchFacts &facts);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_H
