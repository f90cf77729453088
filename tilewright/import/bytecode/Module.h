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

/// Indices into the tables of a Module.
using StringId = uint32_t;
using TypeId = uint32_t;
using AttrId = uint32_t;
using LiteralId = uint32_t;
using ValueId = uint32_t;
using OpId = uint32_t;
using RegionId = uint32_t;

/// Marks an absent type or attribute where either is optional.
inline constexpr uint32_t absent = UINT32_MAX;

/// A dimension whose size is known only at run time.
inline constexpr int64_t dynamicSize = INT64_MIN;

/// A range of one of a Module's pools.
struct Range {
  uint32_t begin = 0;
  uint32_t size = 0;
  uint32_t end() const { return begin + size; }
  bool operator==(const Range &) const = default;
};

enum class Signedness : uint8_t { signless, signedInteger, unsignedInteger };

/// The kinds of VHLO types and of the builtin types that sdy operations and module attributes use.
/// The comments name the fields of Type that a kind uses.
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
  /// The dialect of its encoding; EntryBuilder builds the same MLIR type from both dialects.
  Dialect dialect = Dialect::vhlo;
  Signedness signedness = Signedness::signless;
  numerics::ElementType element = numerics::ElementType::f32;
  uint32_t width = 0;
  TypeId inner = absent;
  AttrId encoding = absent;
  /// A range of Module::numbers; dynamicSize for a dynamic size.
  Range dims;
  /// A range of Module::typeLists.
  Range types, results;
  /// An index into Module::quantizations.
  uint32_t quantization = absent;
};

/// The parameters of a quantized type: one scale and zero point for the tensor, or one for each
/// slice of `axis`.
struct Quantization {
  /// 1 when the storage type is signed.
  uint64_t flags = 0;
  TypeId storage = absent, expressed = absent;
  int64_t storageMin = 0, storageMax = 0;
  uint64_t axis = 0;
  /// Ranges of Module::numbers: the scales, as the bits of f64, and the zero points. Both have the
  /// same size, which is 1 for a per-tensor type.
  Range scales, zeroPoints;
};

/// The kinds of attributes. The comments say what Attr's fields hold: `a` and `b` are ids or small
/// numbers; `list` is a range of Module::attrLists (attrs), Module::numbers (numbers) or
/// Module::lists (lists, each of which is a range of the pool that the comment names next).
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
  /// a: attr, the file, a `string`; list: numbers, line, column, end line, end column
  fileLocation,
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
  vhloComparisonDirection, ///< a: value, checked to be in the enum; likewise all enums
  vhloComparisonType,      ///< a: value
  vhloApiVersion,          ///< a: value
  vhloFftType,             ///< a: value
  vhloPrecision,           ///< a: value
  vhloRngAlgorithm,        ///< a: value
  vhloRngDistribution,     ///< a: value
  vhloTranspose,           ///< a: value
  vhloAccuracyMode,        ///< a: value
  /// list: lists, numbers: output tuple indices, {operand index}, operand tuple indices
  vhloOutputOperandAlias,
  vhloTypeExtensions, ///< list: numbers, the bounds
  /// a: attr, a vhloAccuracyMode; list: numbers: f64 bits atol, f64 bits rtol, ulps
  vhloResultAccuracy,
  vhloSubAxisInfo, ///< list: numbers: pre-size, size
  vhloAxisRef,     ///< a: attr, the name, a vhloString; b: attr, a vhloSubAxisInfo, or absent
  /// a: attr, a vhloString that names a mesh, or a vhloMesh; b: attr, a vhloArray
  vhloReplicaGroupMesh,
  vhloMeshAxis, ///< a: attr, the name, a vhloString; list: numbers: size
  vhloMesh,     ///< a: attr, the axes, a vhloArray; b: attr, device ids, or absent

  // sdy.
  sdyManualAxes,        ///< list: attrs, each a builtin `string`
  sdyMeshAxis,          ///< a: string, the name; list: numbers: size
  sdyMesh,              ///< list: lists: attrs axes, numbers device ids
  sdySubAxisInfo,       ///< list: numbers: pre-size, size
  sdyAxisRef,           ///< a: string, the name; b: attr, a sdySubAxisInfo, or absent
  sdyDimensionSharding, ///< list: attrs, axis refs; a: 1 when closed; b: priority or absent
  /// a: attr, a sdyMesh or symbolRef; list: lists, attrs: dimension shardings, replicated axes,
  /// unreduced axes; b: reduction: 0 sum, 1 max, 2 min
  sdyTensorSharding,
  sdyPerValueSharding, ///< list: attrs, tensor shardings
  sdyDimMapping,       ///< list: numbers, factor indices
  sdyTensorMapping,    ///< list: attrs, dim mappings
  /// list: lists: numbers factor sizes, attrs operand mappings, attrs result mappings, numbers
  /// reduction, need-replication, permutation, blocked-propagation factors; a: 1 when custom
  sdyShardingRule,
  sdyAxisRefList,        ///< list: attrs
  sdyListOfAxisRefLists, ///< list: attrs
  sdyAllToAllParam,      ///< list: lists: attrs axes, numbers {source dimension, target dimension}
  sdyAllToAllParamList,  ///< list: attrs
};

/// An attribute. Attributes that it refers to may have larger ids, but references between
/// attributes and types form no cycle, and no chain is longer than import.max-nesting.
struct Attr {
  AttrKind kind = AttrKind::unit;
  uint32_t a = absent;
  uint32_t b = absent;
  Range list;
};

/// How the bytes of a literal are encoded. All numbers are little endian and may have any
/// alignment.
enum class LiteralForm : uint8_t {
  elements, ///< One element after another, row-major, in numerics::storageBytes each.
  splat,    ///< One element that all share. For i1: a byte, true if not zero.
  bits,     ///< i1 only: eight elements per byte, the lowest bit first.
};

/// The bytes of a constant, inside the input. `bytes` has exactly the size that its type and form
/// require. The reader does not check the high bits of a sub-byte element: mask them. An i1 in form
/// `elements` is true if not zero.
struct Literal {
  std::span<const std::byte> bytes;
  int64_t elementCount = 0;
  LiteralForm form = LiteralForm::elements;
};

/// An operation's name as the artifact spells it, resolved to its row in the table.
struct OpName {
  Op op = Op::builtinModule;
  const OpRow &row() const { return rowOf(op); }
};

/// An operation. Its numbers of operands, regions, results and properties match its row.
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
  /// A `dictionary`, or absent. Up to bytecode 4 it also holds the inherent attributes: skip keys
  /// that row().attributeIndex() finds.
  AttrId attributes = absent;
  /// A range of Module::attrLists: one entry for each of row().attributes, in that order. An entry
  /// is absent only if row().optional permits it.
  Range properties;
  /// Into Module::regions.
  Range regions;
};

/// A region of at most one block: VHLO and sdy operations do not branch.
struct Region {
  bool hasBlock = false;
  /// The operation it belongs to.
  OpId parent = 0;
  /// The block's operations and their descendants are [firstOp, endOp):
  /// for (OpId op = firstOp; op != endOp; op = operations[op].end)
  OpId firstOp = 0, endOp = 0;
  /// The arguments are the values [firstArgument, firstArgument + argumentCount).
  ValueId firstArgument = 0;
  uint32_t argumentCount = 0;
  /// A range of Module::attrLists: one location per argument; absent means unknown.
  Range argumentLocations;
};

/// An artifact after reading. Every id and range in it is inside its table, and:
///
///  - operations[0] is the builtin.module that encloses all others; operations are in preorder, so
///    an operation comes before those in its regions;
///  - each ValueId below valueTypes.size() is defined by exactly one result or block argument;
///  - an operand is defined before the operation that uses it, in the same block or in one around
///    it, and not outside the nearest builtin.module or vhlo.func around the use;
///  - types and attributes have the fields that their kind requires, and entries that those fields
///    refer to have the kinds that the comments name.
///
/// The MLIR verifier still has to check semantics: types of operands, sizes, symbols, terminators.
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

  // Pools that ranges refer to.
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

/// The StableHLO element type of `type`: pred for i1, c64 for complex<f32>. nullopt for other
/// types, such as si8, index or a quantized type.
std::optional<numerics::ElementType> elementTypeOf(const Module &module, TypeId type);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_MODULE_H
