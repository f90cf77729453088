// The functions of the PJRT C API, declared once for all files that define them.
#ifndef TILEWRIGHT_PLUGIN_API_H
#define TILEWRIGHT_PLUGIN_API_H

#include "tilewright/plugin/Arguments.h"

#include <xla/pjrt/c/pjrt_c_api.h>

/// The functions keep their PJRT names, without the prefix, so that readers who know the C API find
/// them.
namespace tilewright::plugin {

void Error_Destroy(PJRT_Error_Destroy_Args *args);
void Error_Message(PJRT_Error_Message_Args *args);
#define TILEWRIGHT_PJRT(name) PJRT_Error *name(PJRT_##name##_Args *args);
#include "tilewright/plugin/Functions.def"

/// The table that GetPjrtApi returns; built once.
const PJRT_Api &pjrtApi();

/// Each function prepends its extension to the chain `next`. The file named after an extension
/// defines it.
PJRT_Extension_Base *shardingsExtension(PJRT_Extension_Base *next);
PJRT_Extension_Base *layoutsExtension(PJRT_Extension_Base *next);
PJRT_Extension_Base *memoryDescriptionsExtension(PJRT_Extension_Base *next);
PJRT_Extension_Base *ffiExtension(PJRT_Extension_Base *next);
PJRT_Extension_Base *customCallExtension(PJRT_Extension_Base *next);
PJRT_Extension_Base *profilerExtension(PJRT_Extension_Base *next);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_API_H
