// The extension that lists the memories of a device, which need not exist in this process.
#include "tilewright/plugin/Api.h"
#include "tilewright/runtime/Memory.h"

#include <xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h>

#include <string>

struct PJRT_MemoryDescription {
  std::string kind;
  int kindId;
};

namespace tilewright::plugin {
namespace {

/// All devices have the same memories; the first is the default.
const PJRT_MemoryDescription *const *descriptions() {
  static const PJRT_MemoryDescription device = {std::string(runtime::deviceKind), 0};
  static const PJRT_MemoryDescription pinnedHost = {std::string(runtime::pinnedHostKind), 1};
  static const PJRT_MemoryDescription unpinnedHost = {std::string(runtime::unpinnedHostKind), 2};
  static const PJRT_MemoryDescription *const list[] = {&device, &pinnedHost, &unpinnedHost};
  return list;
}

PJRT_Error *Descriptions(PJRT_DeviceDescription_MemoryDescriptions_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, default_memory_index);
  args->memory_descriptions = descriptions();
  args->num_memory_descriptions = 3;
  args->default_memory_index = 0;
  return nullptr;
}

PJRT_Error *Kind(PJRT_MemoryDescription_Kind_Args *args) {
  using Args = PJRT_MemoryDescription_Kind_Args;
  TILEWRIGHT_PJRT_ARGS(args, kind_id);
  TILEWRIGHT_PJRT_HANDLE(args, memory_description);
  giveText(args, &Args::kind, &Args::kind_size, args->memory_description->kind);
  args->kind_id = args->memory_description->kindId;
  return nullptr;
}

} // namespace

PJRT_Extension_Base *memoryDescriptionsExtension(PJRT_Extension_Base *next) {
  static PJRT_MemoryDescriptions_Extension extension = {
      {PJRT_MemoryDescriptions_Extension_STRUCT_SIZE, PJRT_Extension_Type_MemoryDescriptions,
       nullptr},
      Descriptions,
      Kind};
  extension.base.next = next;
  return &extension.base;
}

} // namespace tilewright::plugin
