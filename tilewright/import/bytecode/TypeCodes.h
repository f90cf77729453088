// The codes of types in the file, for the reader and the writer.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_TYPECODES_H
#define TILEWRIGHT_IMPORT_BYTECODE_TYPECODES_H

#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

/// What a code alone says about a type. An integer of width 0 has its width and
/// signedness in a field; an encoding comes before all other fields.
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
/// The row that says most about `type`, or null when its dialect cannot spell it.
const TypeCode *findTypeCode(const Type &type);

/// The bits of an integer or float attribute of `type`, which decide its encoding.
uint64_t valueBits(const Type &type);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_TYPECODES_H
