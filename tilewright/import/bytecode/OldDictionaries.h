// What bytecode before 5 has no place for is put where it had one.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_OLDDICTIONARIES_H
#define TILEWRIGHT_IMPORT_BYTECODE_OLDDICTIONARIES_H

#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

/// Gives each operation a dictionary that holds its properties too, sorted.
/// Operations whose dictionary has them all keep it.
void mergePropertiesIntoDictionaries(Module &module);

/// Gives each block argument without a location the unknown one.
void locateArguments(Module &module);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_OLDDICTIONARIES_H
