// Functions of the library as a whole: Plugin_Initialize and Plugin_Attributes.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/options/NamedValues.h"

namespace tilewright::plugin {

// Ahead-of-time compilation never calls this function, so nothing may depend on it.
PJRT_Error *Plugin_Initialize(PJRT_Plugin_Initialize_Args *) { return nullptr; }

PJRT_Error *Plugin_Attributes(PJRT_Plugin_Attributes_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_attributes);
  static const NamedValues *attributes = [] {
    auto *list = new NamedValues; // callers keep pointers into it for the life of the process
    // JAX exports programs for the older of this version and its own. Without this attribute it
    // would choose the version of twelve weeks ago, which lacks newer types and ops.
    list->add("stablehlo_current_version", std::vector<int64_t>{1, 20, 0});
    list->add("stablehlo_minimum_version", std::vector<int64_t>{0, 9, 0});
    list->add("sdy_current_version", std::vector<int64_t>{0, 0, 1});
    return list;
  }();
  args->attributes = attributes->data();
  args->num_attributes = attributes->size();
  return nullptr;
}

} // namespace tilewright::plugin
