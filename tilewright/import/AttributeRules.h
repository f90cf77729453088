// How StableHLO spells each attribute of a VHLO operation. AttributeRules.def has the rows; import
// and export read the same rows.
#ifndef TILEWRIGHT_IMPORT_ATTRIBUTERULES_H
#define TILEWRIGHT_IMPORT_ATTRIBUTERULES_H

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright {

/// The form of an attribute in StableHLO. It also determines the attribute kind that is valid in
/// VHLO.
enum class AttributeForm : uint8_t {
  boolean,             ///< BoolAttr
  integer,             ///< IntegerAttr
  real,                ///< FloatAttr
  string,              ///< StringAttr
  type,                ///< TypeAttr
  dictionary,          ///< DictionaryAttr
  textOrDictionary,    ///< StringAttr or DictionaryAttr
  array,               ///< ArrayAttr, each element unchanged
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
  comparisonDirection, ///< the enum of that name; likewise those below
  comparisonType,      //
  fftType,             //
  rngAlgorithm,        //
  rngDistribution,     //
  transpose,           //
  apiVersion,          ///< IntegerAttr of i32
  part,                ///< becomes a field of a struct attribute
  ignored,             ///< StableHLO has no such attribute
};

/// The default value that StableHLO omits.
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
  /// The operation's name without dialect and version: "dot_general".
  std::string_view op;
  std::string_view name;
  AttributeForm form;
  AttributeDefault otherwise;
};

/// "dot_general" of "dot_general_v2".
std::string_view withoutVersion(std::string_view vhloName);

/// The rules of an operation, in alphabetical order of attributes.
std::span<const AttributeRule> attributeRulesOf(std::string_view op);

/// The rule of one attribute, or null if the operation does not have it.
const AttributeRule *findAttributeRule(std::string_view op, std::string_view attribute);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_ATTRIBUTERULES_H
