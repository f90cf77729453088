// The extension that describes the shardings of parameters and outputs.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/execute/Executable.h"

#include <xla/pjrt/c/pjrt_c_api_shardings_extension.h>

namespace tilewright::plugin {
namespace {

// The macros of Getters.h derive the name of a function's struct from the function's name.
using PJRT_Shardings_Parameters_Args = PJRT_Shardings_PJRT_Executable_ParameterShardings_Args;
using PJRT_Shardings_Outputs_Args = PJRT_Shardings_PJRT_Executable_OutputShardings_Args;

TILEWRIGHT_PJRT_TEXTS(Shardings_Parameters, executable, num_parameters, shardings, sharding_sizes,
                      executable->parameterShardings)
TILEWRIGHT_PJRT_TEXTS(Shardings_Outputs, executable, num_outputs, shardings, sharding_sizes,
                      executable->outputShardings)

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
