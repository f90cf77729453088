// write(): the inverse of read().
#ifndef TILEWRIGHT_IMPORT_BYTECODE_WRITER_H
#define TILEWRIGHT_IMPORT_BYTECODE_WRITER_H

#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Status.h"

#include <string>

namespace tilewright::bytecode {

/// Encodes `module` as a portable artifact for `module.producer`, in the form
/// `module.bytecodeVersion`, sections in the order StableHLO uses. Ids stay as
/// they are, so reading the result gives the same tables; strings for the names
/// of dialects and operations are added where the module lacks them.
///
/// `module` must keep the promises of Module, except that its values may be
/// numbered in any order. Up to bytecode 4 an operation's inherent attributes
/// may be in its dictionary, in its properties or in both.
///  - invalidArgument: a type that its dialect cannot spell.
Result<std::string> write(const Module &module);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_WRITER_H
