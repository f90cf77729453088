#include "tilewright/plugin/Api.h"

namespace tilewright::plugin {
namespace {

#define TILEWRIGHT_PJRT(name)
#define TILEWRIGHT_PJRT_STUB(name)                                                                 \
  PJRT_Error *name##_Stub(PJRT_##name##_Args *) { return toError(unimplemented(#name)); }
#include "tilewright/plugin/Functions.def"

PJRT_Api makeApi() {
  PJRT_Api api = {};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  // jaxlib reads layouts whenever there are shardings, so provide both extensions or neither.
  api.extension_start = shardingsExtension(layoutsExtension(
      ffiExtension(memoryDescriptionsExtension(customCallExtension(profilerExtension(nullptr))))));
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  api.PJRT_Error_Destroy = Error_Destroy;
  api.PJRT_Error_Message = Error_Message;
#define TILEWRIGHT_PJRT(name) api.PJRT_##name = name;
#define TILEWRIGHT_PJRT_STUB(name) api.PJRT_##name = name##_Stub;
#include "tilewright/plugin/Functions.def"
  return api;
}

} // namespace

const PJRT_Api &pjrtApi() {
  static const PJRT_Api api = makeApi();
  return api;
}

} // namespace tilewright::plugin
