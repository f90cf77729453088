// Decodes types and attributes to Module::types and Module::attrs.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_ENTRIES_H
#define TILEWRIGHT_IMPORT_BYTECODE_ENTRIES_H

#include "tilewright/import/bytecode/Container.h"
#include "tilewright/import/bytecode/Module.h"

#include <vector>

namespace tilewright::bytecode {

/// Which entry refers to which, in one numbering: types first, then attributes. EntryCursor records
/// each reference as it reads it, so that none is missed.
struct References {
  std::vector<uint32_t> targets;
  /// For each entry, the end of its references in `targets`.
  std::vector<size_t> ends;
};

/// Decodes all types, into `module.types` and the pools.
Status readTypes(const Container &container, const ImportOptions &options, Module &module,
                 References &references);

/// Decodes all attributes. Types must have been read.
Status readAttrs(const Container &container, const ImportOptions &options, Module &module,
                 References &references);

/// Rejects entries that refer to themselves, directly or through others, and chains longer than
/// import.max-nesting. Ids below `typeCount` are types, the others attributes.
Status checkNesting(const References &references, size_t typeCount, const ImportOptions &options);

/// Determines the encoding of a constant of type `type`, a tensor, and checks that it has as many
/// bytes as its shape requires.
Result<Literal> readLiteral(const Module &module, TypeId type, std::span<const std::byte> bytes);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_ENTRIES_H
