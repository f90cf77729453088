// write(): the inverse of read().
#ifndef TILEWRIGHT_IMPORT_BYTECODE_WRITER_H
#define TILEWRIGHT_IMPORT_BYTECODE_WRITER_H

#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Status.h"

#include <string>

namespace tilewright::bytecode {

/// Encodes `module` as a portable artifact for `module.producer`, in bytecode version
/// `module.bytecodeVersion` and with StableHLO's order of sections. Ids are unchanged, so reading
/// the result gives the same tables; the writer adds strings for the names of dialects and
/// operations that the module lacks.
///
/// `module` must satisfy the invariants of Module, except that its values may be numbered in any
/// order. Up to bytecode 4 an operation's inherent attributes may be in its dictionary, in its
/// properties or in both.
///  - invalidArgument: a type that its dialect cannot encode.
Result<std::string> write(const Module &module);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_WRITER_H
