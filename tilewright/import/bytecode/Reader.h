// read(): from bytes that nobody vouches for to a Module that can be relied on.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_READER_H
#define TILEWRIGHT_IMPORT_BYTECODE_READER_H

#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>

namespace tilewright::bytecode {

/// Decodes a portable artifact and checks everything Module promises. Time and
/// memory are linear in the size of the input, whatever it holds; the input is
/// not copied and must outlive the Module.
///
/// Fails with one of E1001 to E1099: what the bytes break, at which offset or
/// entry, and what to do.
Result<Module> read(std::span<const std::byte> artifact, const ImportOptions &options);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_READER_H
