// Our own extension of the C API: registers all four stages of a handler. PJRT's FFI extension
// accepts only the stage `execute`; the Python package uses this one.
#ifndef TILEWRIGHT_PLUGIN_FFI_CUSTOMCALLEXTENSION_H
#define TILEWRIGHT_PLUGIN_FFI_CUSTOMCALLEXTENSION_H

#include <xla/pjrt/c/pjrt_c_api.h>

extern "C" {

/// "TWCC" in ASCII, far from the extension numbers that PJRT assigns.
enum { TILEWRIGHT_CUSTOM_CALL_EXTENSION = 0x54574343 };

struct TILEWRIGHT_Register_Custom_Call_Args {
  size_t struct_size;
  const char *target_name;
  size_t target_name_size;
  void *instantiate; // XLA_FFI_Handler, or null
  void *prepare;
  void *initialize;
  void *execute;
  const char *platform; // as JAX names it: "Host" or "CUDA"; null means "Host"
  size_t platform_size;
};

struct TILEWRIGHT_CustomCall_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*register_custom_call)(TILEWRIGHT_Register_Custom_Call_Args *args);
};
}

#endif // TILEWRIGHT_PLUGIN_FFI_CUSTOMCALLEXTENSION_H
