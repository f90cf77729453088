// Data that the caller of a program passes to its custom calls.
#ifndef TILEWRIGHT_PLUGIN_FFI_USERDATA_H
#define TILEWRIGHT_PLUGIN_FFI_USERDATA_H

#include <cstdint>
#include <map>

namespace tilewright::plugin::ffi {

/// The caller's pointers, by type id. The caller keeps the objects alive until the run has ended.
using UserData = std::map<int64_t, void *>;

} // namespace tilewright::plugin::ffi

struct PJRT_ExecuteContext {
  tilewright::plugin::ffi::UserData userData;
};

#endif // TILEWRIGHT_PLUGIN_FFI_USERDATA_H
