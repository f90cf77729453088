// How attributes are encoded and where their fields go in Attr. The reader and the writer interpret
// the same table, so they cannot disagree.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_ATTRLAYOUT_H
#define TILEWRIGHT_IMPORT_BYTECODE_ATTRLAYOUT_H

#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

/// The encoding of one field in the file.
enum class Wire : uint8_t {
  string,          ///< index
  type,            ///< index
  attr,            ///< index
  flaggedAttr,     ///< index with a flag, which is clear if absent
  countedAttr,     ///< 0, or 1 and an index
  attrs,           ///< count, indices
  pairs,           ///< count, then that many pairs of indices
  choice,          ///< number from `first` to below `limit`
  boolByte,        ///< a byte, 0 or 1
  optionalNumber,  ///< number with a flag, which is clear if absent
  signedNumber,    ///< one signed number below `limit`
  numbers,         ///< `limit` signed numbers; an f64 as its bits
  numberList,      ///< count, signed numbers
  lineColumn,      ///< two numbers
  lineColumnRange, ///< count 0 to 4, numbers
  value,           ///< integer or real of the type in `a`
  literal,         ///< size, bytes of a tensor of the type in `a`
  arrayLiteral,    ///< element count, size, bytes of elements of the type in `a`
};

/// The member of Attr that stores a field. `item` appends one more range to Attr's list of lists.
enum class Slot : uint8_t { a, b, list, item };

/// The kind of attribute or type that a field must refer to.
enum class Want : uint8_t {
  anything,
  string,    ///< AttrKind::string
  symbolRef, ///< without nested references
  location,  ///< any location
  vhloString,
  vhloAccuracyMode,
  vhloSubAxisInfo,
  vhloArray,
  vhloMeshName, ///< vhloString or vhloMesh
  sdyMeshAxis,
  sdySubAxisInfo,
  sdyAxisRef,
  sdyDimensionSharding,
  sdyMeshName, ///< sdyMesh or symbolRef
  sdyTensorSharding,
  sdyDimMapping,
  sdyTensorMapping,
  sdyAxisRefList,
  sdyAllToAllParam,
  tensorType,
  realType,
  integerType, ///< an integer or index
};

struct Field {
  Wire wire;
  Slot slot;
  Want want = Want::anything;
  uint8_t limit = 0;
  uint8_t first = 0;
};

inline constexpr size_t maxFields = 8;

/// One encoding of one kind. A kind with several encodings has several rows.
struct AttrLayout {
  Dialect dialect;
  uint8_t code;
  AttrKind kind;
  Field fields[maxFields];
  uint8_t fieldCount;

  std::span<const Field> all() const { return {fields, fieldCount}; }
};

/// The row for a code of a dialect, or null.
const AttrLayout *findAttrLayout(Dialect dialect, uint64_t code);
/// All rows. If a kind has several, the simplest comes first.
std::span<const AttrLayout> attrLayouts();

bool isLocation(AttrKind kind);
/// Whether an attribute of `kind` is valid for a field that wants `want`, which must not be a type.
bool satisfies(AttrKind kind, Want want);
/// "a string", for messages.
std::string_view describe(Want want);
/// The name of the enumerator.
std::string_view nameOf(AttrKind kind);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_ATTRLAYOUT_H
