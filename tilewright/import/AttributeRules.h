// How each attribute of a VHLO operation is written in StableHLO. The rows are
// in AttributeRules.def; import and export read the same ones.
#ifndef TILEWRIGHT_IMPORT_ATTRIBUTERULES_H
#define TILEWRIGHT_IMPORT_ATTRIBUTERULES_H

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright {

/// What an attribute is in StableHLO, hence also which kind VHLO must give it.
enum class AttributeForm : uint8_t {
  boolean,             ///< BoolAttr
  integer,             ///< IntegerAttr
  real,                ///< FloatAttr
  string,              ///< StringAttr
  type,                ///< TypeAttr
  dictionary,          ///< DictionaryAttr
  textOrDictionary,    ///< StringAttr or DictionaryAttr
  array,               ///< ArrayAttr, each element as it comes
  dictionaries,        ///< ArrayAttr of DictionaryAttr
  integers,            ///< DenseI64ArrayAttr, from a 1-d tensor of i64
  booleans,            ///< DenseBoolArrayAttr, from a 1-d tensor of i1
  tensor,              ///< ElementsAttr
  groups,              ///< ElementsAttr or #stablehlo.replica_group_mesh_axes
  symbol,              ///< FlatSymbolRefAttr, from a string
  symbols,             ///< ArrayAttr of FlatSymbolRefAttr, from an array of strings
  channel,             ///< `channel_id` becomes `channel_handle` of type 0
  flag,                ///< UnitAttr, from a boolean
  accuracy,            ///< #stablehlo.result_accuracy
  precisions,          ///< ArrayAttr of #stablehlo.precision
  comparisonDirection, ///< the enum of that name; so for those below
  comparisonType,      //
  fftType,             //
  rngAlgorithm,        //
  rngDistribution,     //
  transpose,           //
  apiVersion,          ///< IntegerAttr of i32
  part,                ///< a field of a struct attribute
  ignored,             ///< nothing
};

/// The value that StableHLO leaves out.
enum class AttributeDefault : uint8_t {
  none,            ///< always written
  no,              ///< false
  zero,            ///< 0
  minusOne,        ///< -1
  ones,            ///< a tensor of ones, one per window dimension
  zeros,           ///< a tensor of zeros, two per window dimension
  noes,            ///< a tensor of false, one per window dimension
  emptyString,     ///< ""
  emptyArray,      ///< []
  emptyLayouts,    ///< [], for operands and results together
  emptyDictionary, ///< {}
  emptyConfig,     ///< "" or {}
  emptyTensor,     ///< an i64 tensor without elements
  noType,          ///< the comparison type NOTYPE
  originalApi,     ///< the API version ORIGINAL
  usualPrecision,  ///< DEFAULT for both operands
  usualAccuracy,   ///< mode DEFAULT, tolerances 0
  noneType,        ///< the type `none`
};

struct AttributeRule {
  /// Without dialect and version: "dot_general".
  std::string_view op;
  std::string_view name;
  AttributeForm form;
  AttributeDefault otherwise;
};

/// "dot_general" of "dot_general_v2".
std::string_view withoutVersion(std::string_view vhloName);

/// The rules of an operation, in alphabetical order of attributes.
std::span<const AttributeRule> attributeRulesOf(std::string_view op);

/// One rule, or null when the operation has no such attribute.
const AttributeRule *findAttributeRule(std::string_view op, std::string_view attribute);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_ATTRIBUTERULES_H
