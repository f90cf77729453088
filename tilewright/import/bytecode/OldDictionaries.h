// Converts properties and block arguments to the form that bytecode before version 5 requires.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_OLDDICTIONARIES_H
#define TILEWRIGHT_IMPORT_BYTECODE_OLDDICTIONARIES_H

#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

/// Gives each operation a sorted dictionary that also contains its properties. An operation whose
/// dictionary already contains them keeps it.
void mergePropertiesIntoDictionaries(Module &module);

/// Gives each block argument without a location the unknown location.
void locateArguments(Module &module);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_OLDDICTIONARIES_H
