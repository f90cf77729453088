// read(): decodes untrusted bytes to a valid Module.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_READER_H
#define TILEWRIGHT_IMPORT_BYTECODE_READER_H

#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>

namespace tilewright::bytecode {

/// Decodes a portable artifact and checks all invariants of Module. Time and memory are linear in
/// the size of the input for any content. The Module refers to the input, which must outlive it.
///
/// Fails with one of E1001 to E1099; the message states what is invalid, at which offset or entry,
/// and what to do.
Result<Module> read(std::span<const std::byte> artifact, const ImportOptions &options);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_READER_H
