// ModuleCheck: the promises of bytecode::Module, looked at from outside.
#ifndef TEST_FUZZ_MODULECHECK_H
#define TEST_FUZZ_MODULECHECK_H

#include "tilewright/import/bytecode/Module.h"

#include <string>

namespace tilewright::fuzz {

/// The first promise of Module.h that `module` breaks, or nothing. Written
/// from the comments there and not from the reader.
std::string brokenPromise(const bytecode::Module &module);

/// Bytes that the tables of `module` take, without what they view.
size_t tableBytes(const bytecode::Module &module);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_MODULECHECK_H
