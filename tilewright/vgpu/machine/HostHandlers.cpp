#include "tilewright/vgpu/machine/Op.h"
#include "tilewright/vgpu/machine/matrix/TileKernels.h"

namespace tilewright::vgpu::machine {

#if defined(__x86_64__)
namespace v3 {
const Run *allHandlers();
extern const TileKernels tileKernelTable;
} // namespace v3
namespace v4 {
const Run *allHandlers();
extern const TileKernels tileKernelTable;
} // namespace v4
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
const TileKernels *tileKernelsFor(const char *instructionSet) {
  const std::string_view name = instructionSet;
  return !handlersFor(name) ? nullptr : name == "v4" ? &v4::tileKernelTable : &v3::tileKernelTable;
}
const TileKernels &tileKernels() {
  static const TileKernels *best =
      tileKernelsFor("v4") ? &v4::tileKernelTable : &v3::tileKernelTable;
  return *best;
}
#else
namespace portable {
const Run *allHandlers();
extern const TileKernels tileKernelTable;
} // namespace portable
const Run *handlersFor(std::string_view instructionSet) {
  return instructionSet == "portable" ? portable::allHandlers() : nullptr;
}
const Run *handlersForHost() { return portable::allHandlers(); }
const TileKernels *tileKernelsFor(const char *instructionSet) {
  return handlersFor(instructionSet) ? &portable::tileKernelTable : nullptr;
}
const TileKernels &tileKernels() { return portable::tileKernelTable; }
#endif

} // namespace tilewright::vgpu::machine
