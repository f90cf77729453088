// ModuleCheck: checks the invariants of bytecode::Module.
#ifndef TEST_FUZZ_MODULECHECK_H
#define TEST_FUZZ_MODULECHECK_H

#include "tilewright/import/bytecode/Module.h"

#include <string>

namespace tilewright::fuzz {

/// The first invariant of Module.h that `module` violates, or nothing. Written from the comments
/// there and independent of the reader.
std::string brokenPromise(const bytecode::Module &module);

/// Bytes that the tables of `module` take, without the bytes that they only view.
size_t tableBytes(const bytecode::Module &module);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_MODULECHECK_H
