// The extensions that frameworks use to register handlers and to pass data to them.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/ffi/CustomCallExtension.h"
#include "tilewright/plugin/ffi/Registry.h"
#include "tilewright/plugin/ffi/UserData.h"

#include <xla/pjrt/c/pjrt_c_api_ffi_extension.h>

namespace tilewright::plugin {
namespace {

PJRT_Error *FFI_Type_Register(PJRT_FFI_Type_Register_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, type_id);
  PJRT_FFI_Type_Info *info = take(args, &PJRT_FFI_Type_Register_Args::type_info);
  return toError(ffi::Registry::global().addType(textOf(args->type_name, args->type_name_size),
                                                 args->type_id, info ? info->deleter : nullptr));
}

PJRT_Error *FFI_UserData_Add(PJRT_FFI_UserData_Add_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, user_data);
  TILEWRIGHT_PJRT_HANDLE(args, context);
  args->context->userData[args->user_data.type_id] = args->user_data.data;
  return nullptr;
}

/// Accepts and drops handlers for platforms of which this plugin has no devices.
PJRT_Error *addHandlers(std::string_view name, std::string_view platform,
                        const XLA_FFI_Handler_Bundle &bundle) {
  std::optional<ffi::Platform> known = ffi::platformNamed(platform);
  return known ? toError(ffi::Registry::global().addHandlers(name, *known, bundle)) : nullptr;
}

PJRT_Error *FFI_Register_Handler(PJRT_FFI_Register_Handler_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, handler);
  XLA_FFI_Handler_Bundle bundle = {};
  bundle.execute = reinterpret_cast<XLA_FFI_Handler *>(args->handler);
  std::string_view platform =
      textOf(take(args, &PJRT_FFI_Register_Handler_Args::platform_name),
             take(args, &PJRT_FFI_Register_Handler_Args::platform_name_size));
  return addHandlers(textOf(args->target_name, args->target_name_size), platform, bundle);
}

PJRT_Error *Register_Custom_Call(TILEWRIGHT_Register_Custom_Call_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, execute);
  auto handler = [](void *address) { return reinterpret_cast<XLA_FFI_Handler *>(address); };
  XLA_FFI_Handler_Bundle bundle = {handler(args->instantiate), handler(args->prepare),
                                   handler(args->initialize), handler(args->execute)};
  std::string_view platform =
      textOf(take(args, &TILEWRIGHT_Register_Custom_Call_Args::platform),
             take(args, &TILEWRIGHT_Register_Custom_Call_Args::platform_size));
  return addHandlers(textOf(args->target_name, args->target_name_size), platform, bundle);
}

} // namespace

PJRT_Extension_Base *ffiExtension(PJRT_Extension_Base *next) {
  static PJRT_FFI_Extension extension = {
      {PJRT_FFI_Extension_STRUCT_SIZE, PJRT_Extension_Type_FFI, nullptr},
      FFI_Type_Register,
      FFI_UserData_Add,
      FFI_Register_Handler};
  extension.base.next = next;
  return &extension.base;
}

PJRT_Extension_Base *customCallExtension(PJRT_Extension_Base *next) {
  static TILEWRIGHT_CustomCall_Extension extension = {
      {sizeof(TILEWRIGHT_CustomCall_Extension),
       static_cast<PJRT_Extension_Type>(TILEWRIGHT_CUSTOM_CALL_EXTENSION), nullptr},
      Register_Custom_Call};
  extension.base.next = next;
  return &extension.base;
}

} // namespace tilewright::plugin
