// Code objects: what drivers of AMD's GPUs load.
#ifndef TILEWRIGHT_TARGET_AMDGCN_CODEOBJECT_H
#define TILEWRIGHT_TARGET_AMDGCN_CODEOBJECT_H

#include "tilewright/support/Status.h"
#include "tilewright/target/Target.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::amdgcn {

/// Links an object file to a shared object with lld: `ld.lld-22` or `ld.lld` in PATH, or that of
/// ROCm.
///  - gpuCodegen: there is no lld, or it fails; the message contains its output.
Result<std::string> linkObject(std::string_view object);

/// The resources of each kernel, as LLVM noted them in a code object. Registers include AGPRs,
/// which share a file with the others.
///  - gpuCodegen: the object has no such note.
Result<std::vector<target::KernelBudget>> budgetsOf(std::string_view codeObject);

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_CODEOBJECT_H
