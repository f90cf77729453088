// The symbol that JAX looks up in libtilewright_pjrt.so.
#include "tilewright/plugin/Api.h"

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  return &tilewright::plugin::pjrtApi();
}
