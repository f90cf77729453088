// The type codes of the file, for the reader and the writer.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_TYPECODES_H
#define TILEWRIGHT_IMPORT_BYTECODE_TYPECODES_H

#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

/// The properties of a type that its code alone determines. If an integer type has `width` 0, a
/// field holds its width and signedness. If `hasEncoding`, an encoding precedes all other fields.
struct TypeCode {
  Dialect dialect;
  uint8_t code;
  TypeKind kind;
  numerics::ElementType element = numerics::ElementType::f32;
  uint8_t width = 0;
  Signedness signedness = Signedness::signless;
  bool hasEncoding = false;
};

/// The row for a code of a dialect, or null.
const TypeCode *findTypeCode(Dialect dialect, uint64_t code);
/// The most specific row for `type`, or null if its dialect has no code for it.
const TypeCode *findTypeCode(const Type &type);

/// The width in bits of an integer or float attribute of `type`, which determines its encoding.
uint64_t valueBits(const Type &type);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_TYPECODES_H
