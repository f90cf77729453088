// The one symbol of libtilewright_pjrt.so.
#include "tilewright/plugin/Api.h"

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  return &tilewright::plugin::pjrtApi();
}
