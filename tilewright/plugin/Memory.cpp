// PJRT_Memory.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Client.h"

namespace tilewright::plugin {
namespace {

const PJRT_Memory_FunctionTable functions = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .extension_start = nullptr,
    .instance_struct_size = PJRT_Memory_STRUCT_SIZE,
    .get_user_data = [](PJRT_Memory *memory, const void *key) -> void * {
      std::lock_guard lock(of(memory).mutex);
      auto found = of(memory).userData.find(key);
      return found == of(memory).userData.end() ? nullptr : found->second.data;
    },
    .set_user_data =
        [](PJRT_Memory *memory, const void *key, void *data, void (*destroy)(void *)) {
          MemoryHandle::UserData old;
          {
            std::lock_guard lock(of(memory).mutex);
            old = std::exchange(of(memory).userData[key], {data, destroy});
          }
          if (old.data && old.destroy)
            old.destroy(old.data);
        },
};

} // namespace

MemoryHandle::MemoryHandle(runtime::Memory &memory) : PJRT_Memory{&functions}, memory(memory) {}

MemoryHandle::~MemoryHandle() {
  for (auto &[key, entry] : userData)
    if (entry.data && entry.destroy)
      entry.destroy(entry.data);
}

PJRT_Error *Memory_Id(PJRT_Memory_Id_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, id);
  TILEWRIGHT_PJRT_HANDLE(args, memory);
  args->id = of(args->memory).memory.id();
  return nullptr;
}

PJRT_Error *Memory_Kind(PJRT_Memory_Kind_Args *args) {
  using Args = PJRT_Memory_Kind_Args;
  TILEWRIGHT_PJRT_ARGS(args, kind_size);
  TILEWRIGHT_PJRT_HANDLE(args, memory);
  giveText(args, &Args::kind, &Args::kind_size, of(args->memory).memory.kind());
  return nullptr;
}

PJRT_Error *Memory_Kind_Id(PJRT_Memory_Kind_Id_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, kind_id);
  TILEWRIGHT_PJRT_HANDLE(args, memory);
  args->kind_id = of(args->memory).memory.kindId();
  return nullptr;
}

PJRT_Error *Memory_DebugString(PJRT_Memory_DebugString_Args *args) {
  using Args = PJRT_Memory_DebugString_Args;
  TILEWRIGHT_PJRT_ARGS(args, debug_string_size);
  TILEWRIGHT_PJRT_HANDLE(args, memory);
  giveText(args, &Args::debug_string, &Args::debug_string_size,
           of(args->memory).memory.debugString());
  return nullptr;
}

PJRT_Error *Memory_ToString(PJRT_Memory_ToString_Args *args) {
  using Args = PJRT_Memory_ToString_Args;
  TILEWRIGHT_PJRT_ARGS(args, to_string_size);
  TILEWRIGHT_PJRT_HANDLE(args, memory);
  giveText(args, &Args::to_string, &Args::to_string_size, of(args->memory).memory.toString());
  return nullptr;
}

PJRT_Error *Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_devices);
  TILEWRIGHT_PJRT_HANDLE(args, memory);
  args->devices = of(args->memory).devices.data();
  args->num_devices = of(args->memory).devices.size();
  return nullptr;
}

} // namespace tilewright::plugin
