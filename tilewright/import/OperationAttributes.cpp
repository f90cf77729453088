#include "tilewright/import/OperationAttributes.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <bit>

namespace tilewright {

using bytecode::AttrId;
using bytecode::AttrKind;

namespace {

bool isEmpty(const EntryBuilder &entries, AttrId id, AttrKind kind) {
  const bytecode::Attr &attr = entries.entry(id);
  return attr.kind == kind && attr.list.size == 0;
}

bool isUsualPrecision(const EntryBuilder &entries, AttrId id) {
  const bytecode::Attr &attr = entries.entry(id);
  if (attr.kind != AttrKind::vhloArray)
    return false;
  return std::ranges::all_of(entries.tables().attrsIn(attr.list), [&](AttrId each) {
    return entries.entry(each).kind == AttrKind::vhloPrecision && entries.entry(each).a == 0;
  });
}

bool isUsualAccuracy(const EntryBuilder &entries, AttrId id) {
  const bytecode::Attr &attr = entries.entry(id);
  if (attr.kind != AttrKind::vhloResultAccuracy || entries.entry(attr.a).a != 0)
    return false;
  std::span<const int64_t> numbers = entries.tables().numbersIn(attr.list);
  return std::bit_cast<double>(numbers[0]) == 0 && std::bit_cast<double>(numbers[1]) == 0 &&
         numbers[2] == 0;
}

/// The kind of VHLO entry that a form requires, and its name in messages.
struct Expectation {
  AttrKind kind;
  std::string_view words;
};

/// The expected kind, for forms that expect exactly one kind and keep the attribute unchanged;
/// otherwise nullopt.
std::optional<Expectation> expectationOf(AttributeForm form) {
  switch (form) {
  case AttributeForm::boolean:
    return Expectation{AttrKind::vhloBoolean, "a boolean"};
  case AttributeForm::integer:
    return Expectation{AttrKind::vhloInteger, "an integer"};
  case AttributeForm::real:
    return Expectation{AttrKind::vhloReal, "a real number"};
  case AttributeForm::string:
    return Expectation{AttrKind::vhloString, "a string"};
  case AttributeForm::type:
    return Expectation{AttrKind::vhloType, "a type"};
  case AttributeForm::dictionary:
    return Expectation{AttrKind::vhloDictionary, "a dictionary"};
  case AttributeForm::array:
    return Expectation{AttrKind::vhloArray, "an array"};
  case AttributeForm::tensor:
    return Expectation{AttrKind::vhloTensor, "a tensor"};
  case AttributeForm::accuracy:
    return Expectation{AttrKind::vhloResultAccuracy, "a result accuracy"};
  case AttributeForm::comparisonDirection:
    return Expectation{AttrKind::vhloComparisonDirection, "a comparison direction"};
  case AttributeForm::comparisonType:
    return Expectation{AttrKind::vhloComparisonType, "a comparison type"};
  case AttributeForm::fftType:
    return Expectation{AttrKind::vhloFftType, "an fft type"};
  case AttributeForm::rngAlgorithm:
    return Expectation{AttrKind::vhloRngAlgorithm, "an rng algorithm"};
  case AttributeForm::rngDistribution:
    return Expectation{AttrKind::vhloRngDistribution, "an rng distribution"};
  case AttributeForm::transpose:
    return Expectation{AttrKind::vhloTranspose, "a transposition"};
  case AttributeForm::apiVersion:
    return Expectation{AttrKind::vhloApiVersion, "an API version"};
  default:
    return std::nullopt;
  }
}

/// Whether the entry is an array whose elements are all of kind `kind` or `other`.
bool isArrayOf(const EntryBuilder &entries, AttrId id, AttrKind kind, AttrKind other) {
  const bytecode::Attr &attr = entries.entry(id);
  return attr.kind == AttrKind::vhloArray &&
         std::ranges::all_of(entries.tables().attrsIn(attr.list), [&](AttrId each) {
           return entries.entry(each).kind == kind || entries.entry(each).kind == other;
         });
}

} // namespace

Status wrongKind(std::string_view attribute, std::string_view expected) {
  return Status(Error::attributeKind, concat("attribute '", attribute, "' must be ", expected));
}

bool isLeftOut(const EntryBuilder &entries, const AttributeRule &rule,
               const Properties &properties) {
  AttrId id = properties[rule.name];
  switch (rule.otherwise) {
  case AttributeDefault::none:
    return false;
  case AttributeDefault::no:
    return entries.boolean(id) == false;
  case AttributeDefault::zero:
    return entries.integer(id) == 0;
  case AttributeDefault::minusOne:
    return entries.integer(id) == -1;
  case AttributeDefault::ones:
    return entries.isFilledWith(id, 1);
  case AttributeDefault::zeros:
  case AttributeDefault::noes:
    return entries.isFilledWith(id, 0);
  case AttributeDefault::emptyString:
    return entries.text(id) == "";
  case AttributeDefault::emptyArray:
    return isEmpty(entries, id, AttrKind::vhloArray);
  case AttributeDefault::emptyLayouts:
    // Omit the layouts only if both are empty: an empty list has a meaning if the other is not
    // empty.
    return isEmpty(entries, properties["operand_layouts"], AttrKind::vhloArray) &&
           isEmpty(entries, properties["result_layouts"], AttrKind::vhloArray);
  case AttributeDefault::emptyDictionary:
    return isEmpty(entries, id, AttrKind::vhloDictionary);
  case AttributeDefault::emptyConfig:
    return entries.text(id) == "" || isEmpty(entries, id, AttrKind::vhloDictionary);
  case AttributeDefault::emptyTensor: {
    const bytecode::Attr &attr = entries.entry(id);
    return attr.kind == AttrKind::vhloTensor && entries.tables().literals[attr.b].elementCount == 0;
  }
  case AttributeDefault::noType:
    return entries.entry(id).kind == AttrKind::vhloComparisonType && entries.entry(id).a == 0;
  case AttributeDefault::originalApi:
    return entries.entry(id).kind == AttrKind::vhloApiVersion && entries.entry(id).a == 1;
  case AttributeDefault::usualPrecision:
    return isUsualPrecision(entries, id);
  case AttributeDefault::usualAccuracy:
    return isUsualAccuracy(entries, id);
  case AttributeDefault::noneType:
    return entries.entry(id).kind == AttrKind::vhloType &&
           entries.tables().types[entries.entry(id).a].kind == bytecode::TypeKind::none;
  }
  return false;
}

Result<mlir::Attribute> convertAttribute(EntryBuilder &entries, const AttributeRule &rule,
                                         AttrId id) {
  mlir::Builder builder(&entries.context());
  AttrKind kind = entries.entry(id).kind;
  if (std::optional<Expectation> expected = expectationOf(rule.form)) {
    if (kind != expected->kind)
      return wrongKind(rule.name, expected->words);
    return entries.attribute(id);
  }

  switch (rule.form) {
  case AttributeForm::textOrDictionary:
    if (kind != AttrKind::vhloString && kind != AttrKind::vhloDictionary)
      return wrongKind(rule.name, "a string or a dictionary");
    return entries.attribute(id);
  case AttributeForm::dictionaries:
    if (!isArrayOf(entries, id, AttrKind::vhloDictionary, AttrKind::dictionary))
      return wrongKind(rule.name, "an array of dictionaries");
    return entries.attribute(id);
  case AttributeForm::precisions:
    if (!isArrayOf(entries, id, AttrKind::vhloPrecision, AttrKind::vhloPrecision))
      return wrongKind(rule.name, "an array of precisions");
    return entries.attribute(id);
  case AttributeForm::groups:
    if (kind != AttrKind::vhloTensor && kind != AttrKind::vhloReplicaGroupMesh)
      return wrongKind(rule.name, "a tensor or axes of a mesh");
    return entries.attribute(id);
  case AttributeForm::integers:
    if (auto numbers = entries.integers(id))
      return builder.getDenseI64ArrayAttr(*numbers);
    return wrongKind(rule.name, "a 1-dimensional tensor of i64");
  case AttributeForm::booleans:
    if (auto flags = entries.booleans(id))
      return builder.getDenseBoolArrayAttr(*flags);
    return wrongKind(rule.name, "a 1-dimensional tensor of i1");
  case AttributeForm::symbol:
    if (auto name = entries.text(id))
      return mlir::FlatSymbolRefAttr::get(&entries.context(), *name);
    return wrongKind(rule.name, "a string that names a function");
  case AttributeForm::symbols: {
    if (!isArrayOf(entries, id, AttrKind::vhloString, AttrKind::vhloString))
      return wrongKind(rule.name, "an array of strings that name functions");
    llvm::SmallVector<mlir::Attribute> names;
    for (AttrId each : entries.tables().attrsIn(entries.entry(id).list))
      names.push_back(
          mlir::FlatSymbolRefAttr::get(&entries.context(), entries.tables().textOf(each)));
    return builder.getArrayAttr(names);
  }
  case AttributeForm::channel:
    if (auto channel = entries.integer(id))
      return stablehlo::ChannelHandleAttr::get(&entries.context(), *channel, /*type=*/0);
    return wrongKind(rule.name, "an integer");
  case AttributeForm::flag:
    // The caller omits flags that are false, so the value must be true.
    if (entries.boolean(id))
      return builder.getUnitAttr();
    return wrongKind(rule.name, "a boolean");
  default:
    return wrongKind(rule.name, "an attribute of a supported kind");
  }
}

} // namespace tilewright
