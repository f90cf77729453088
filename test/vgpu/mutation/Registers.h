// Registers: decides whether the registers of a wgmma are unused while it runs. It works on the
// text, since logs do not contain registers.
#ifndef TEST_VGPU_MUTATION_REGISTERS_H
#define TEST_VGPU_MUTATION_REGISTERS_H

#include <string>

namespace tilewright::vgpu::mutation {

/// Whether, on every path from every wgmma of the printed kernel, a wait for its group comes before
/// any instruction other than wgmma that names one of its registers.
bool registersRestUntilWaits(const std::string &text);
/// Whether, on every path from the kernel's begin and from any instruction other than wgmma that
/// names a register of a wgmma, a wgmma.fence comes before a wgmma with that register.
bool registersAreFenced(const std::string &text);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_REGISTERS_H
