// The layouts extension: reports that all our buffers are row-major.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Buffer.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/Types.h"
#include "tilewright/plugin/execute/Executable.h"
#include "tilewright/support/Concat.h"

#include <xla/pjrt/c/pjrt_c_api_layouts_extension.h>

/// The row-major layout of a rank. Its text is in XLA's syntax: "{2,1,0}".
struct PJRT_Layouts_MemoryLayout {
  size_t rank = 0;
};

namespace tilewright::plugin {
namespace {

// The macros of Getters.h derive the name of a function's struct from the function's name.
using PJRT_MemoryLayout_Destroy_Args = PJRT_Layouts_MemoryLayout_Destroy_Args;
using PJRT_MemoryLayout_Serialize_Args = PJRT_Layouts_MemoryLayout_Serialize_Args;
using PJRT_GetOutputLayouts_Args = PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args;
using PJRT_GetParameterLayouts_Args = PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args;

std::string toText(const PJRT_Layouts_MemoryLayout &layout) {
  std::string text = "{";
  for (int64_t dim : rowMajor(layout.rank))
    text += concat(text.size() > 1 ? "," : "", dim);
  return text + "}";
}

TILEWRIGHT_PJRT_DESTROY(MemoryLayout_Destroy, layout)
TILEWRIGHT_PJRT_SERIALIZE(MemoryLayout_Serialize, layout, serialized_layout, toText(*layout))

PJRT_Error *Client_GetDefaultLayout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, layout);
  args->layout = new PJRT_Layouts_MemoryLayout{args->num_dims};
  return nullptr;
}

PJRT_Error *Topology_GetDefaultLayout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, layout);
  args->layout = new PJRT_Layouts_MemoryLayout{args->num_dims};
  return nullptr;
}

PJRT_Error *Buffer_MemoryLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, layout);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  args->layout = new PJRT_Layouts_MemoryLayout{args->buffer->buffer->dims().size()};
  return nullptr;
}

TILEWRIGHT_PJRT_LIST(GetOutputLayouts, executable, layouts, num_outputs, executable->outputLayouts)
TILEWRIGHT_PJRT_LIST(GetParameterLayouts, executable, layouts, num_parameters,
                     executable->parameterLayouts)

} // namespace

PJRT_Layouts_MemoryLayout *sharedLayout(size_t rank) {
  static std::mutex mutex;
  static std::map<size_t, std::unique_ptr<PJRT_Layouts_MemoryLayout>> layouts;
  std::lock_guard lock(mutex);
  std::unique_ptr<PJRT_Layouts_MemoryLayout> &layout = layouts[rank];
  if (!layout)
    layout = std::make_unique<PJRT_Layouts_MemoryLayout>(PJRT_Layouts_MemoryLayout{rank});
  return layout.get();
}

PJRT_Extension_Base *layoutsExtension(PJRT_Extension_Base *next) {
  static PJRT_Layouts_Extension extension = {
      {PJRT_Layouts_Extension_STRUCT_SIZE, PJRT_Extension_Type_Layouts, nullptr},
      MemoryLayout_Destroy,
      MemoryLayout_Serialize,
      Client_GetDefaultLayout,
      Buffer_MemoryLayout,
      Topology_GetDefaultLayout,
      GetOutputLayouts,
      GetParameterLayouts};
  extension.base.next = next;
  return &extension.base;
}

} // namespace tilewright::plugin
