// Reads PTX text into a Module.
#ifndef TILEWRIGHT_VGPU_PTX_PARSER_H
#define TILEWRIGHT_VGPU_PTX_PARSER_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <string_view>

namespace tilewright::vgpu::ptx {

/// Reads a whole module: what LLVM, Triton, nvcc and CUTLASS write, PTX ISA 6.0
/// to 9.x. Checks every name, every instruction against its row, and every
/// operand's kind and type; what is not understood is refused, never skipped.
///
///   TILEWRIGHT_ASSIGN(Module module, parse(text));
///   const Function *kernel = module.findDefinition("softmax");
///
/// A failure is one of E7001 to E7017 and begins with "line 12, column 5: ". The
/// Module keeps no view into `text`. Time and memory are in proportion to it.
Result<Module> parse(std::string_view text);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_PARSER_H
