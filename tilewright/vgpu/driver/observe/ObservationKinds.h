// The kinds of observation that TILEWRIGHT_VGPU_CHECK can name. The command line prints them, so
// this knows nothing of the executor, the checker and the counter: in a library with them, the
// executor's thread-local variables would take the memory that programs have for those of libraries
// which are loaded late.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVATIONKINDS_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVATIONKINDS_H

#include "tilewright/support/Status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::driver {

/// The tool that observes a launch. One checker runs all checks.
enum class ObserverKind : uint8_t { checker, counter, recorder };

struct ObservationKind {
  std::string_view name;
  std::string_view summary;
  ObserverKind observer;
};
std::span<const ObservationKind> observationKinds();
/// Null if no kind has this name.
const ObservationKind *findObservationKind(std::string_view name);

/// Checks that each name is the name of a kind.
///  - vgpuSetting: unknown name.
Status checkObservationNames(const std::vector<std::string> &names);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVATIONKINDS_H
