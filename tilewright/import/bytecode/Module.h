// Module: a portable artifact, decoded and validated, as plain tables.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_MODULE_H
#define TILEWRIGHT_IMPORT_BYTECODE_MODULE_H

#include "tilewright/import/bytecode/OpTable.h"
#include "tilewright/import/bytecode/Version.h"
#include "tilewright/numerics/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::bytecode {

/// Places in the tables of a Module.
using StringId = uint32_t;
using TypeId = uint32_t;
using AttrId = uint32_t;
using LiteralId = uint32_t;
using ValueId = uint32_t;
using OpId = uint32_t;
using RegionId = uint32_t;

/// Stands for "absent" wherever a type or attribute may be.
inline constexpr uint32_t absent = UINT32_MAX;

/// A dimension whose size is known only when the program runs.
inline constexpr int64_t dynamicSize = INT64_MIN;

/// A piece of one of a Module's pools.
struct Range {
  uint32_t begin = 0;
  uint32_t size = 0;
  uint32_t end() const { return begin + size; }
  bool operator==(const Range &) const = default;
};

enum class Signedness : uint8_t { signless, signedInteger, unsignedInteger };

/// Types of VHLO and the builtin types that sdy operations and module
/// attributes use, under one set of kinds. Fields of Type not named are unused.
enum class TypeKind : uint8_t {
  integer,          ///< `width`, `signedness`. VHLO's signed integers and bool are signless here.
  real,             ///< `element`.
  index,            //
  none,             //
  token,            //
  witness,          //
  complex,          ///< `inner`: a real.
  tensor,           ///< `dims`, `inner`; `encoding` or absent.
  unrankedTensor,   ///< `inner`.
  buffer,           ///< `dims`, `inner`.
  tuple,            ///< `types`.
  function,         ///< `types` are the inputs, `results` the results.
  future,           ///< `types`.
  quantized,        ///< `quantization`.
  quantizedPerAxis, ///< `quantization`.
};

/// A type of the artifact. Types it refers to may have larger ids.
struct Type {
  TypeKind kind = TypeKind::none;
  /// Which dialect spells it; both forms mean the same type to the builder.
  Dialect dialect = Dialect::vhlo;
  Signedness signedness = Signedness::signless;
  numerics::ElementType element = numerics::ElementType::f32;
  uint32_t width = 0;
  TypeId inner = absent;
  AttrId encoding = absent;
  /// Into Module::numbers; dynamicSize where not known.
  Range dims;
  /// Into Module::typeLists.
  Range types, results;
  /// Into Module::quantizations.
  uint32_t quantization = absent;
};

/// The parameters of a quantized type; one scale and zero point per tensor, or
/// one each per slice of `axis`.
struct Quantization {
  /// 1 when the storage type is signed.
  uint64_t flags = 0;
  TypeId storage = absent, expressed = absent;
  int64_t storageMin = 0, storageMax = 0;
  uint64_t axis = 0;
  /// Into Module::numbers: the bits of an f64 each, and the zero points. The
  /// two ranges have the same size; it is 1 for a type that is not per axis.
  Range scales, zeroPoints;
};

/// What an attribute is. The comments say what Attr's fields hold: `a` and `b`
/// are ids or small numbers, `list` is a piece of Module::attrLists (attrs),
/// Module::numbers (numbers) or Module::lists (lists; each of those is a
/// piece of the pool named in turn).
enum class AttrKind : uint8_t {
  // Builtin.
  array,         ///< list: attrs
  dictionary,    ///< list: attrs, as key, value, key, value; keys are `string`, ascending, distinct
  string,        ///< a: string; b: type or absent
  symbolRef,     ///< a: attr, the root, a `string`; list: attrs, each a symbolRef without list
  type,          ///< a: type
  unit,          //
  integer,       ///< a: type, an integer or index; list: numbers, the bits, low word first
  real,          ///< a: type, a real; list: numbers, the bits, low word first
  denseArray,    ///< a: type of an element; b: literal with one element after another
  denseElements, ///< a: type, a tensor; b: literal

  // Locations, builtin too.
  unknownLocation,
  fileLocation,     ///< a: attr, the file, a `string`; list: numbers, line, column, end line, end
                    ///< column
  nameLocation,     ///< a: attr, the name, a `string`; b: attr, a location
  callSiteLocation, ///< a: attr, the callee's location; b: attr, the caller's
  fusedLocation,    ///< list: attrs, locations; a: attr, metadata, or absent

  // VHLO.
  vhloArray,               ///< list: attrs
  vhloBoolean,             ///< a: 0 or 1
  vhloDictionary,          ///< list: attrs, as key, value, …; keys are `vhloString`, distinct
  vhloString,              ///< a: string
  vhloType,                ///< a: type
  vhloInteger,             ///< as `integer`
  vhloReal,                ///< as `real`
  vhloTensor,              ///< a: type, a tensor of static shape; b: literal
  vhloComparisonDirection, ///< a: value, known to be one of the enum; so for all enums
  vhloComparisonType,      ///< a: value
  vhloApiVersion,          ///< a: value
  vhloFftType,             ///< a: value
  vhloPrecision,           ///< a: value
  vhloRngAlgorithm,        ///< a: value
  vhloRngDistribution,     ///< a: value
  vhloTranspose,           ///< a: value
  vhloAccuracyMode,        ///< a: value
  vhloOutputOperandAlias,  ///< list: lists, numbers: output tuple indices, {operand index}, operand
                           ///< tuple indices
  vhloTypeExtensions,      ///< list: numbers, the bounds
  vhloResultAccuracy, ///< a: attr, a vhloAccuracyMode; list: numbers: f64 bits atol, f64 bits rtol,
                      ///< ulps
  vhloSubAxisInfo,    ///< list: numbers: pre-size, size
  vhloAxisRef,        ///< a: attr, the name, a vhloString; b: attr, a vhloSubAxisInfo, or absent
  vhloReplicaGroupMesh, ///< a: attr, a vhloString that names a mesh, or a vhloMesh; b: attr, a
                        ///< vhloArray
  vhloMeshAxis,         ///< a: attr, the name, a vhloString; list: numbers: size
  vhloMesh,             ///< a: attr, the axes, a vhloArray; b: attr, device ids, or absent

  // sdy.
  sdyManualAxes,        ///< list: attrs, each a builtin `string`
  sdyMeshAxis,          ///< a: string, the name; list: numbers: size
  sdyMesh,              ///< list: lists: attrs axes, numbers device ids
  sdySubAxisInfo,       ///< list: numbers: pre-size, size
  sdyAxisRef,           ///< a: string, the name; b: attr, a sdySubAxisInfo, or absent
  sdyDimensionSharding, ///< list: attrs, axis refs; a: 1 when closed; b: priority or absent
  sdyTensorSharding, ///< a: attr, a sdyMesh or symbolRef; list: lists, attrs: dimension shardings,
                     ///< replicated axes, unreduced axes; b: reduction: 0 sum, 1 max, 2 min
  sdyPerValueSharding, ///< list: attrs, tensor shardings
  sdyDimMapping,       ///< list: numbers, factor indices
  sdyTensorMapping,    ///< list: attrs, dim mappings
  sdyShardingRule,     ///< list: lists: numbers factor sizes, attrs operand mappings, attrs result
                       ///< mappings,
  ///< numbers reduction, need-replication, permutation, blocked-propagation factors;
  ///< a: 1 when custom
  sdyAxisRefList,        ///< list: attrs
  sdyListOfAxisRefLists, ///< list: attrs
  sdyAllToAllParam,      ///< list: lists: attrs axes, numbers {source dimension, target dimension}
  sdyAllToAllParamList,  ///< list: attrs
};

/// An attribute. Attributes it refers to may have larger ids, but no chain of
/// references between attributes and types comes back to where it began, and
/// none is longer than import.max-nesting.
struct Attr {
  AttrKind kind = AttrKind::unit;
  uint32_t a = absent;
  uint32_t b = absent;
  Range list;
};

/// How the bytes of a literal are to be read. All numbers are little endian
/// and may lie at any address.
enum class LiteralForm : uint8_t {
  elements, ///< One element after another, row-major, in numerics::storageBytes each.
  splat,    ///< One element that all share. Of i1: a byte, true when not zero.
  bits,     ///< i1 only: eight elements a byte, the lowest bit first.
};

/// The bytes of a constant, inside the input. `bytes` has exactly the size that
/// its type and form ask for. The high bits of a sub-byte element are not
/// checked: mask them. An i1 in form `elements` is true when not zero.
struct Literal {
  std::span<const std::byte> bytes;
  int64_t elementCount = 0;
  LiteralForm form = LiteralForm::elements;
};

/// An operation's name as the artifact spells it, found in the table.
struct OpName {
  Op op = Op::builtinModule;
  const OpRow &row() const { return rowOf(op); }
};

/// An operation. Operand, region, result and property counts fit its row.
struct Operation {
  /// Into Module::opNames.
  uint32_t name = 0;
  /// A location.
  AttrId location = absent;
  /// One past its last descendant in Module::operations: the next sibling.
  OpId end = 0;
  /// Into Module::operands.
  Range operands;
  /// The results are the values [firstResult, firstResult + resultCount).
  ValueId firstResult = 0;
  uint32_t resultCount = 0;
  /// A `dictionary`, or absent. Up to bytecode 4 it holds the inherent
  /// attributes too: skip keys that row().attributeIndex() knows.
  AttrId attributes = absent;
  /// Into Module::attrLists: one for each of row().attributes, in that order.
  /// None is absent unless row().optional says that it may be.
  Range properties;
  /// Into Module::regions.
  Range regions;
};

/// A region of at most one block: no operation of VHLO or sdy branches.
struct Region {
  bool hasBlock = false;
  /// The operation it belongs to.
  OpId parent = 0;
  /// The block's operations lie in [firstOp, endOp) with their descendants:
  /// for (OpId op = firstOp; op != endOp; op = operations[op].end)
  OpId firstOp = 0, endOp = 0;
  /// The arguments are the values [firstArgument, firstArgument + argumentCount).
  ValueId firstArgument = 0;
  uint32_t argumentCount = 0;
  /// Into Module::attrLists, one location an argument; absent means unknown.
  Range argumentLocations;
};

/// An artifact after reading. Every id and range in it is inside its table, and:
///
///  - operations[0] is the builtin.module that encloses all others; operations
///    are in preorder, so an operation comes before those in its regions;
///  - each ValueId below valueTypes.size() is defined by exactly one result or
///    block argument;
///  - an operand is defined before the operation that uses it, in the same
///    block or in one around it, and not outside the nearest builtin.module or
///    vhlo.func around the use. Nothing is used before it is defined;
///  - types and attributes have the fields that their kind asks for, and those
///    have the kinds that the comments name.
///
/// What remains for the MLIR verifier is the meaning: types of operands, sizes,
/// symbols, terminators.
///
/// Strings and literals are views: the bytes given to read() must outlive it.
struct Module {
  Version producer;
  unsigned bytecodeVersion = 0;

  std::vector<std::string_view> strings;
  std::vector<Type> types;
  std::vector<Quantization> quantizations;
  std::vector<Attr> attrs;
  std::vector<Literal> literals;
  std::vector<OpName> opNames;
  std::vector<Operation> operations;
  std::vector<Region> regions;
  /// By ValueId.
  std::vector<TypeId> valueTypes;

  // Pools that ranges point into.
  std::vector<ValueId> operands;
  std::vector<AttrId> attrLists;
  std::vector<TypeId> typeLists;
  std::vector<int64_t> numbers;
  std::vector<Range> lists;

  const OpRow &rowOf(const Operation &op) const { return opNames[op.name].row(); }
  std::span<const ValueId> operandsOf(const Operation &op) const {
    return slice(operands, op.operands);
  }
  std::span<const AttrId> propertiesOf(const Operation &op) const {
    return slice(attrLists, op.properties);
  }
  std::span<const Region> regionsOf(const Operation &op) const {
    return slice(regions, op.regions);
  }
  std::span<const AttrId> attrsIn(Range range) const { return slice(attrLists, range); }
  std::span<const int64_t> numbersIn(Range range) const { return slice(numbers, range); }
  std::span<const TypeId> typesIn(Range range) const { return slice(typeLists, range); }
  std::span<const Range> listsIn(Range range) const { return slice(lists, range); }
  /// The text of a `string` or `vhloString` attribute.
  std::string_view textOf(AttrId attr) const { return strings[attrs[attr].a]; }

private:
  template <typename T> static std::span<const T> slice(const std::vector<T> &pool, Range range) {
    return std::span(pool).subspan(range.begin, range.size);
  }
};

/// The StableHLO element type that `type` is: pred for i1, c64 for complex<f32>.
/// Nothing for types that are not one, such as si8, index or a quantized type.
std::optional<numerics::ElementType> elementTypeOf(const Module &module, TypeId type);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_MODULE_H
