// Turns the tables of a valid artifact into those of an invalid program.
#ifndef TEST_IMPORT_DAMAGETABLES_H
#define TEST_IMPORT_DAMAGETABLES_H

#include "tilewright/import/bytecode/Module.h"

#include <random>

namespace tilewright {

/// Makes a few changes that keep all invariants of bytecode::Module, so that any crash is a bug in
/// the importer or in a verifier.
void damageTables(bytecode::Module &tables, std::mt19937_64 &random);

} // namespace tilewright

#endif // TEST_IMPORT_DAMAGETABLES_H
