// From encoded types and attributes to Module::types and Module::attrs.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_ENTRIES_H
#define TILEWRIGHT_IMPORT_BYTECODE_ENTRIES_H

#include "tilewright/import/bytecode/Container.h"
#include "tilewright/import/bytecode/Module.h"

#include <vector>

namespace tilewright::bytecode {

/// Which entry refers to which, in one numbering: types first, then attributes.
/// Collected while fields are read, so that no reference can be forgotten.
struct References {
  std::vector<uint32_t> targets;
  /// Where the references of each entry end in `targets`.
  std::vector<size_t> ends;
};

/// Decodes all types, into `module.types` and the pools.
Status readTypes(const Container &container, const ImportOptions &options, Module &module,
                 References &references);

/// Decodes all attributes. Types must have been read.
Status readAttrs(const Container &container, const ImportOptions &options, Module &module,
                 References &references);

/// Refuses entries that refer to themselves, directly or through others, and
/// chains longer than import.max-nesting. `typeCount` tells types from attributes.
Status checkNesting(const References &references, size_t typeCount, const ImportOptions &options);

/// Finds out how the bytes of a constant of type `type`, a tensor, are to be
/// read, and that there are as many as its shape asks for.
Result<Literal> readLiteral(const Module &module, TypeId type, std::span<const std::byte> bytes);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_ENTRIES_H
