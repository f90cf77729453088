#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::stablehlo;

namespace tilewright::cpu {

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// Strings, numbers and lists of numbers.
static void setValue(Config &config, StringRef name, StringAttr text) {
  config.set(name, text.getValue());
}
static void setValue(Config &config, StringRef name, BoolAttr flag) {
  config.set(name, int64_t(flag.getValue()));
}
static void setValue(Config &config, StringRef name, UnitAttr) { config.set(name, 1); }
static void setValue(Config &config, StringRef name, IntegerAttr number) {
  config.set(name, number.getType().isUnsignedInteger()
                       ? static_cast<int64_t>(number.getValue().getZExtValue())
                       : number.getValue().getSExtValue());
}
static void setValue(Config &config, StringRef name, DenseI64ArrayAttr list) {
  config.set(name, list.asArrayRef());
}
static void setValue(Config &config, StringRef name, DenseBoolArrayAttr list) {
  SmallVector<int64_t> values(list.asArrayRef().begin(), list.asArrayRef().end());
  config.set(name, values);
}
static void setValue(Config &config, StringRef name, DenseIntElementsAttr list) {
  SmallVector<int64_t> values;
  for (const APInt &value : list.getValues<APInt>())
    values.push_back(value.getSExtValue());
  config.set(name, values);
}

// Structs, each field under its own name.
static void setFields(Config &config, DotDimensionNumbersAttr numbers) {
  config.set("lhs_batching_dimensions", numbers.getLhsBatchingDimensions());
  config.set("rhs_batching_dimensions", numbers.getRhsBatchingDimensions());
  config.set("lhs_contracting_dimensions", numbers.getLhsContractingDimensions());
  config.set("rhs_contracting_dimensions", numbers.getRhsContractingDimensions());
}
static void setFields(Config &config, DotAlgorithmAttr algorithm) {
  config.set("lhs_precision_type", textOf(algorithm.getLhsPrecisionType()));
  config.set("rhs_precision_type", textOf(algorithm.getRhsPrecisionType()));
  config.set("accumulation_type", textOf(algorithm.getAccumulationType()));
  config.set("lhs_component_count", algorithm.getLhsComponentCount());
  config.set("rhs_component_count", algorithm.getRhsComponentCount());
  config.set("num_primitive_operations", algorithm.getNumPrimitiveOperations());
  config.set("allow_imprecise_accumulation", int64_t(algorithm.getAllowImpreciseAccumulation()));
}
static void setFields(Config &config, ConvDimensionNumbersAttr numbers) {
  config.set("input_batch_dimension", numbers.getInputBatchDimension());
  config.set("input_feature_dimension", numbers.getInputFeatureDimension());
  config.set("input_spatial_dimensions", numbers.getInputSpatialDimensions());
  config.set("kernel_input_feature_dimension", numbers.getKernelInputFeatureDimension());
  config.set("kernel_output_feature_dimension", numbers.getKernelOutputFeatureDimension());
  config.set("kernel_spatial_dimensions", numbers.getKernelSpatialDimensions());
  config.set("output_batch_dimension", numbers.getOutputBatchDimension());
  config.set("output_feature_dimension", numbers.getOutputFeatureDimension());
  config.set("output_spatial_dimensions", numbers.getOutputSpatialDimensions());
}
static void setFields(Config &config, GatherDimensionNumbersAttr numbers) {
  config.set("offset_dims", numbers.getOffsetDims());
  config.set("collapsed_slice_dims", numbers.getCollapsedSliceDims());
  config.set("operand_batching_dims", numbers.getOperandBatchingDims());
  config.set("start_indices_batching_dims", numbers.getStartIndicesBatchingDims());
  config.set("start_index_map", numbers.getStartIndexMap());
  config.set("index_vector_dim", numbers.getIndexVectorDim());
}
static void setFields(Config &config, ScatterDimensionNumbersAttr numbers) {
  config.set("update_window_dims", numbers.getUpdateWindowDims());
  config.set("inserted_window_dims", numbers.getInsertedWindowDims());
  config.set("input_batching_dims", numbers.getInputBatchingDims());
  config.set("scatter_indices_batching_dims", numbers.getScatterIndicesBatchingDims());
  config.set("scatter_dims_to_operand_dims", numbers.getScatterDimsToOperandDims());
  config.set("index_vector_dim", numbers.getIndexVectorDim());
}

/// precision_config: the strictest precision of all operands. Returns false for other lists.
static bool setPrecision(Config &config, ArrayAttr list) {
  Precision strictest = Precision::DEFAULT;
  for (Attribute entry : list) {
    auto precision = dyn_cast<PrecisionAttr>(entry);
    if (!precision)
      return false;
    strictest = std::max(strictest, precision.getValue());
  }
  config.set("precision", stringifyPrecision(strictest));
  return true;
}

bool Config::flatten(StringRef name, Attribute attribute) {
  return llvm::TypeSwitch<Attribute, bool>(attribute)
      .Case<StringAttr, BoolAttr, UnitAttr, IntegerAttr, DenseI64ArrayAttr, DenseBoolArrayAttr,
            DenseIntElementsAttr>([&](auto value) { return setValue(*this, name, value), true; })
      .Case<FftTypeAttr, RngAlgorithmAttr, RngDistributionAttr, TransposeAttr,
            ComparisonDirectionAttr, ComparisonTypeAttr>(
          [&](auto value) { return set(name, stringifyEnum(value.getValue())), true; })
      .Case<DotDimensionNumbersAttr, DotAlgorithmAttr, ConvDimensionNumbersAttr,
            GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr>(
          [&](auto value) { return setFields(*this, value), true; })
      .Case([&](ArrayAttr list) { return setPrecision(*this, list); })
      .Default([](Attribute) { return false; });
}

void Config::flattenAll(Operation *op) {
  // Add only inherent attributes; the library does not use discardable ones.
  for (StringAttr name : op->getRegisteredInfo()->getAttributeNames())
    if (std::optional<Attribute> attribute = op->getInherentAttr(name); attribute && *attribute)
      flatten(name, *attribute);
}

} // namespace tilewright::cpu
