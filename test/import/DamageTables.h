// Turns the tables of a good artifact into those of a bad program.
#ifndef TEST_IMPORT_DAMAGETABLES_H
#define TEST_IMPORT_DAMAGETABLES_H

#include "tilewright/import/bytecode/Module.h"

#include <random>

namespace tilewright {

/// Makes a few changes that keep every promise of bytecode::Module, so that
/// whatever crashes behind it is a mistake of the importer or of a verifier.
void damageTables(bytecode::Module &tables, std::mt19937_64 &random);

} // namespace tilewright

#endif // TEST_IMPORT_DAMAGETABLES_H
