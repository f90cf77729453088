// Decodes the IR section to Module::operations, regions and values.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_OPERATIONS_H
#define TILEWRIGHT_IMPORT_BYTECODE_OPERATIONS_H

#include "tilewright/import/bytecode/Container.h"
#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

/// Decodes all operations. `module` must hold its strings, types and attributes.
Status readOperations(const Container &container, const ImportOptions &options, Module &module);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_OPERATIONS_H
