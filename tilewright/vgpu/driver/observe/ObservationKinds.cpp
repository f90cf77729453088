#include "tilewright/vgpu/driver/observe/ObservationKinds.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <array>

namespace tilewright::vgpu::driver {

static constexpr std::array kinds{
    ObservationKind{"all", "all four checks", ObserverKind::checker},
    ObservationKind{"races", "unordered accesses, missing fences, registers of wgmma",
                    ObserverKind::checker},
    ObservationKind{"uninit", "reads of shared and device memory that was never written",
                    ObserverKind::checker},
    ObservationKind{"bounds", "accesses before and past the end of allocations",
                    ObserverKind::checker},
    ObservationKind{"barriers", "barriers that are used in ways PTX does not define",
                    ObserverKind::checker},
    ObservationKind{"strict", "all rules of PTX, even those from which compilers deviate",
                    ObserverKind::checker},
    ObservationKind{"count",
                    "instructions, sectors, bank conflicts, tensor-core work and waits by line",
                    ObserverKind::counter},
    ObservationKind{"record", "each launch, to repeat it: module, sizes, parameters and memory",
                    ObserverKind::recorder},
};

std::span<const ObservationKind> observationKinds() { return kinds; }

const ObservationKind *findObservationKind(std::string_view name) {
  auto found = std::find_if(kinds.begin(), kinds.end(),
                            [&](const ObservationKind &kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

Status checkObservationNames(const std::vector<std::string> &names) {
  for (const std::string &name : names)
    if (!findObservationKind(name)) {
      std::vector<std::string_view> known;
      for (const ObservationKind &kind : kinds)
        known.push_back(kind.name);
      return Status(Error::vgpuSetting,
                    concat("unknown check '", name, "' in TILEWRIGHT_VGPU_CHECK; the checks are ",
                           listed(known)));
    }
  return Status();
}

} // namespace tilewright::vgpu::driver
