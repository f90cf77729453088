// PJRT_Memory.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Client.h"
#include "tilewright/plugin/Getters.h"

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

TILEWRIGHT_PJRT_VALUE(Memory_Id, memory, id, of(memory).memory.id())
TILEWRIGHT_PJRT_TEXT(Memory_Kind, memory, kind, of(memory).memory.kind())
TILEWRIGHT_PJRT_VALUE(Memory_Kind_Id, memory, kind_id, of(memory).memory.kindId())
TILEWRIGHT_PJRT_TEXT(Memory_DebugString, memory, debug_string, of(memory).memory.debugString())
TILEWRIGHT_PJRT_TEXT(Memory_ToString, memory, to_string, of(memory).memory.toString())
TILEWRIGHT_PJRT_LIST(Memory_AddressableByDevices, memory, devices, num_devices, of(memory).devices)

} // namespace tilewright::plugin
