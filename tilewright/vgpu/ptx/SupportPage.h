// The page docs/reference/ptx-support.md, generated from the instruction table.
#ifndef TILEWRIGHT_VGPU_PTX_SUPPORTPAGE_H
#define TILEWRIGHT_VGPU_PTX_SUPPORTPAGE_H

#include <string>

namespace tilewright::vgpu::ptx {

/// The page in Markdown: every row of the table with its modifiers, operands and lowest version and
/// target, then the rejected instructions with the reasons.
std::string supportPage();

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_SUPPORTPAGE_H
