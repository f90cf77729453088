// Exports the attributes of an operation to VHLO: applies AttributeRules.def in reverse.
#include "tilewright/import/AttributeRules.h"
#include "tilewright/import/ExportOperations.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/BuiltinTypes.h"

namespace tilewright {

using bytecode::AttrId;
using bytecode::AttrKind;

namespace {

std::string_view baseName(mlir::Operation *op) {
  llvm::StringRef name = op->getName().stripDialect();
  return {name.data(), name.size()};
}

/// The number of spatial dimensions of a window or a convolution.
int64_t windowRank(mlir::Operation *op) {
  if (auto numbers = op->getAttrOfType<stablehlo::ConvDimensionNumbersAttr>("dimension_numbers"))
    return static_cast<int64_t>(numbers.getInputSpatialDimensions().size());
  if (auto sizes = op->getAttrOfType<mlir::DenseI64ArrayAttr>("window_dimensions"))
    return sizes.size();
  return 0;
}

/// A field of a struct attribute as an integer or a list of integers; monostate if `name` is not
/// such a field.
using Field = std::variant<std::monostate, int64_t, llvm::ArrayRef<int64_t>>;

Field convolutionField(stablehlo::ConvDimensionNumbersAttr numbers, std::string_view name) {
  if (name == "input_batch_dimension")
    return numbers.getInputBatchDimension();
  if (name == "input_feature_dimension")
    return numbers.getInputFeatureDimension();
  if (name == "input_spatial_dimensions")
    return numbers.getInputSpatialDimensions();
  if (name == "kernel_input_feature_dimension")
    return numbers.getKernelInputFeatureDimension();
  if (name == "kernel_output_feature_dimension")
    return numbers.getKernelOutputFeatureDimension();
  if (name == "kernel_spatial_dimensions")
    return numbers.getKernelSpatialDimensions();
  if (name == "output_batch_dimension")
    return numbers.getOutputBatchDimension();
  if (name == "output_feature_dimension")
    return numbers.getOutputFeatureDimension();
  if (name == "output_spatial_dimensions")
    return numbers.getOutputSpatialDimensions();
  return {};
}

Field gatherField(stablehlo::GatherDimensionNumbersAttr numbers, std::string_view name) {
  if (name == "offset_dims")
    return numbers.getOffsetDims();
  if (name == "collapsed_slice_dims")
    return numbers.getCollapsedSliceDims();
  if (name == "operand_batching_dims")
    return numbers.getOperandBatchingDims();
  if (name == "start_indices_batching_dims")
    return numbers.getStartIndicesBatchingDims();
  if (name == "start_index_map")
    return numbers.getStartIndexMap();
  if (name == "index_vector_dim")
    return numbers.getIndexVectorDim();
  return {};
}

Field scatterField(stablehlo::ScatterDimensionNumbersAttr numbers, std::string_view name) {
  if (name == "update_window_dims")
    return numbers.getUpdateWindowDims();
  if (name == "inserted_window_dims")
    return numbers.getInsertedWindowDims();
  if (name == "input_batching_dims")
    return numbers.getInputBatchingDims();
  if (name == "scatter_indices_batching_dims")
    return numbers.getScatterIndicesBatchingDims();
  if (name == "scatter_dims_to_operand_dims")
    return numbers.getScatterDimsToOperandDims();
  if (name == "index_vector_dim")
    return numbers.getIndexVectorDim();
  return {};
}

Field dotField(stablehlo::DotDimensionNumbersAttr numbers, std::string_view name) {
  if (name == "lhs_batching_dimensions")
    return numbers.getLhsBatchingDimensions();
  if (name == "rhs_batching_dimensions")
    return numbers.getRhsBatchingDimensions();
  if (name == "lhs_contracting_dimensions")
    return numbers.getLhsContractingDimensions();
  if (name == "rhs_contracting_dimensions")
    return numbers.getRhsContractingDimensions();
  return {};
}

Field channelField(stablehlo::ChannelHandleAttr channel, std::string_view name) {
  if (name == "channel_id")
    return channel.getHandle();
  if (name == "channel_type")
    return channel.getType();
  return {};
}

/// Searches the struct attributes of `op`.
Field structField(mlir::Operation *op, std::string_view name) {
  Field field;
  auto look = [&](llvm::StringRef attribute, auto find) {
    mlir::Attribute found = op->getAttr(attribute);
    if (found && std::holds_alternative<std::monostate>(field))
      field = find(found);
  };
  look("dimension_numbers", [&](mlir::Attribute found) -> Field {
    if (auto numbers = llvm::dyn_cast<stablehlo::ConvDimensionNumbersAttr>(found))
      return convolutionField(numbers, name);
    if (auto numbers = llvm::dyn_cast<stablehlo::GatherDimensionNumbersAttr>(found))
      return gatherField(numbers, name);
    return {};
  });
  look("scatter_dimension_numbers", [&](mlir::Attribute found) {
    return scatterField(llvm::cast<stablehlo::ScatterDimensionNumbersAttr>(found), name);
  });
  look("dot_dimension_numbers", [&](mlir::Attribute found) {
    return dotField(llvm::cast<stablehlo::DotDimensionNumbersAttr>(found), name);
  });
  look("channel_handle", [&](mlir::Attribute found) {
    return channelField(llvm::cast<stablehlo::ChannelHandleAttr>(found), name);
  });
  return field;
}

/// A field of a dot's algorithm, or the type `none` if the dot has no algorithm.
Result<AttrId> algorithmField(mlir::Operation *op, std::string_view name, ExportEntries &entries) {
  auto algorithm = op->getAttrOfType<stablehlo::DotAlgorithmAttr>("algorithm");
  mlir::Type type;
  if (!algorithm)
    type = mlir::NoneType::get(op->getContext());
  else if (name == "lhs_precision_type")
    type = algorithm.getLhsPrecisionType();
  else if (name == "rhs_precision_type")
    type = algorithm.getRhsPrecisionType();
  else if (name == "accumulation_type")
    type = algorithm.getAccumulationType();
  if (type)
    return entries.vhlo(mlir::TypeAttr::get(type));
  if (name == "lhs_component_count")
    return entries.integer(algorithm.getLhsComponentCount());
  if (name == "rhs_component_count")
    return entries.integer(algorithm.getRhsComponentCount());
  if (name == "num_primitive_operations")
    return entries.integer(algorithm.getNumPrimitiveOperations());
  return entries.boolean(algorithm.getAllowImpreciseAccumulation());
}

/// The default value, which StableHLO omitted.
Result<AttrId> defaultValue(mlir::Operation *op, const AttributeRule &rule,
                            ExportEntries &entries) {
  int64_t rank = windowRank(op);
  switch (rule.otherwise) {
  case AttributeDefault::no:
    return entries.boolean(false);
  case AttributeDefault::zero:
    // The version of a composite is an i32, channels are i64.
    return entries.integer(0, rule.name == "version" ? 32 : 64);
  case AttributeDefault::minusOne:
    return entries.integer(-1);
  case AttributeDefault::ones:
    return entries.integers(llvm::SmallVector<int64_t>(rank, 1));
  case AttributeDefault::zeros:
    return entries.integers(llvm::SmallVector<int64_t>(rank * 2, 0), {rank, 2});
  case AttributeDefault::noes:
    return entries.booleans(llvm::SmallVector<bool>(rank, false));
  case AttributeDefault::emptyString:
  case AttributeDefault::emptyConfig:
    return entries.string("");
  case AttributeDefault::emptyArray:
  case AttributeDefault::emptyLayouts:
    return entries.array({});
  case AttributeDefault::emptyDictionary:
    return entries.vhlo(mlir::DictionaryAttr::get(op->getContext()));
  case AttributeDefault::emptyTensor:
    return entries.integers({});
  case AttributeDefault::noType:
    return entries.enumeration(AttrKind::vhloComparisonType, 0);
  case AttributeDefault::originalApi:
    return entries.enumeration(AttrKind::vhloApiVersion, 1);
  case AttributeDefault::usualPrecision: {
    AttrId usual = entries.enumeration(AttrKind::vhloPrecision, 0);
    return entries.array({usual, usual});
  }
  case AttributeDefault::usualAccuracy:
    return entries.usualAccuracy();
  case AttributeDefault::none:
  case AttributeDefault::noneType:
    break;
  }
  return unsupported(concat("an operation without the required attribute '", rule.name, "'"));
}

} // namespace

Result<AttrId> exportAttribute(mlir::Operation *op, std::string_view name, ExportEntries &entries) {
  const AttributeRule &rule = *findAttributeRule(baseName(op), name);
  if (rule.form == AttributeForm::part) {
    Field field = structField(op, name);
    if (auto *number = std::get_if<int64_t>(&field))
      return entries.integer(*number);
    if (auto *numbers = std::get_if<llvm::ArrayRef<int64_t>>(&field))
      return entries.integers(*numbers);
    if (rule.otherwise == AttributeDefault::noneType)
      return algorithmField(op, name, entries);
    return defaultValue(op, rule, entries);
  }

  bool isChannel = rule.form == AttributeForm::channel;
  mlir::Attribute attribute =
      rule.form == AttributeForm::ignored
          ? mlir::Attribute()
          : op->getAttr(isChannel ? llvm::StringRef("channel_handle") : llvm::StringRef(name));
  if (!attribute)
    return defaultValue(op, rule, entries);

  switch (rule.form) {
  case AttributeForm::channel:
    return entries.integer(llvm::cast<stablehlo::ChannelHandleAttr>(attribute).getHandle());
  case AttributeForm::flag:
    return entries.boolean(true);
  case AttributeForm::apiVersion:
    return entries.enumeration(AttrKind::vhloApiVersion,
                               llvm::cast<mlir::IntegerAttr>(attribute).getInt());
  case AttributeForm::textOrDictionary:
    if (llvm::isa<mlir::DictionaryAttr>(attribute))
      TILEWRIGHT_TRY(entries.need({1, 3}, "a dictionary as backend_config"));
    return entries.vhlo(attribute);
  default:
    return entries.vhlo(attribute);
  }
}

bool hasDefault(mlir::Operation *op, std::string_view name) {
  if (findAttributeRule(baseName(op), name)->form == AttributeForm::part) {
    Field field = structField(op, name);
    if (auto *numbers = std::get_if<llvm::ArrayRef<int64_t>>(&field))
      return numbers->empty();
    return !op->hasAttr("algorithm");
  }
  mlir::Attribute attribute = op->getAttr(llvm::StringRef(name));
  if (auto array = llvm::dyn_cast_if_present<mlir::ArrayAttr>(attribute))
    return array.empty();
  if (auto accuracy = llvm::dyn_cast_if_present<stablehlo::ResultAccuracyAttr>(attribute))
    return accuracy.getMode().getValue() == stablehlo::ResultAccuracyMode::DEFAULT &&
           accuracy.getAtol().isZero() && accuracy.getRtol().isZero() && accuracy.getUlps() == 0;
  return !attribute;
}

} // namespace tilewright
