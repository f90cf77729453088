#include "tilewright/vgpu/machine/Op.h"

namespace tilewright::vgpu::machine {

#if defined(__x86_64__)
namespace v3 {
const Run *allHandlers();
}
namespace v4 {
const Run *allHandlers();
}
const Run *handlersFor(std::string_view instructionSet) {
  if (instructionSet == "v4")
    return __builtin_cpu_supports("x86-64-v4") ? v4::allHandlers() : nullptr;
  return instructionSet == "v3" && __builtin_cpu_supports("x86-64-v3") ? v3::allHandlers()
                                                                       : nullptr;
}
const Run *handlersForHost() {
  const Run *best = handlersFor("v4");
  return best ? best : handlersFor("v3");
}
#else
namespace portable {
const Run *allHandlers();
}
const Run *handlersFor(std::string_view instructionSet) {
  return instructionSet == "portable" ? portable::allHandlers() : nullptr;
}
const Run *handlersForHost() { return portable::allHandlers(); }
#endif

} // namespace tilewright::vgpu::machine
