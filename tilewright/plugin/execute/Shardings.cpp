// The extension that describes the shardings of parameters and outputs.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/execute/Executable.h"

#include <xla/pjrt/c/pjrt_c_api_shardings_extension.h>

namespace tilewright::plugin {
namespace {

PJRT_Error *Shardings_Parameters(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, sharding_sizes);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  const PJRT_Executable::Texts &shardings = args->executable->parameterShardings;
  args->num_parameters = shardings.data.size();
  args->shardings = shardings.data.data();
  args->sharding_sizes = shardings.sizes.data();
  return nullptr;
}

PJRT_Error *Shardings_Outputs(PJRT_Shardings_PJRT_Executable_OutputShardings_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, sharding_sizes);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  const PJRT_Executable::Texts &shardings = args->executable->outputShardings;
  args->num_outputs = shardings.data.size();
  args->shardings = shardings.data.data();
  args->sharding_sizes = shardings.sizes.data();
  return nullptr;
}

} // namespace

PJRT_Extension_Base *shardingsExtension(PJRT_Extension_Base *next) {
  static PJRT_Shardings_Extension extension = {
      {PJRT_Shardings_Extension_STRUCT_SIZE, PJRT_Extension_Type_Shardings, nullptr},
      Shardings_Parameters,
      Shardings_Outputs};
  extension.base.next = next;
  return &extension.base;
}

} // namespace tilewright::plugin
