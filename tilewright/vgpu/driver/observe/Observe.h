// Attaches checkers and counters to launches.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVE_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::driver {

/// The launch that is about to start.
struct LaunchFacts {
  machine::LoadedModule &module;
  std::string_view kernel;
  const machine::LaunchConfig &config; // no observer is set yet
  int device = 0;
  uint64_t stream = 0;          // its number
  uint64_t number = 0;          // of the launch in this process, from 1
  std::string_view counts = {}; // folder for files of the counter and of recordings; empty: none
  std::span<const std::span<const std::byte>> parameters = {};
};

/// Observes one launch.
class Observation {
public:
  virtual ~Observation() = default;
  /// The observer that the machine calls; must outlive the launch.
  virtual machine::Observer &observer() = 0;
  /// Called when the launch has ended with `status`. Returns the status to report for the launch:
  /// `status` itself, or an error of the observation.
  virtual Status finished(Status status) = 0;
  /// Called after finished(). Returns the findings of all launches so far, as text; empty if none
  /// are new.
  virtual std::string report() const { return ""; }
};

/// Starts the observations of the kinds with these names; null if there are none.
std::unique_ptr<Observation> startObservation(const std::vector<std::string> &names,
                                              const LaunchFacts &facts);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVE_H
