// The page docs/reference/ptx-support.md, made from the instruction table.
#ifndef TILEWRIGHT_VGPU_PTX_SUPPORTPAGE_H
#define TILEWRIGHT_VGPU_PTX_SUPPORTPAGE_H

#include <string>

namespace tilewright::vgpu::ptx {

/// Markdown: every row of the table with its modifiers, operands and lowest
/// version and target, then what is refused and why.
std::string supportPage();

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_SUPPORTPAGE_H
