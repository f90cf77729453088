#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::cpu {

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool Config::flatten(StringRef name, Attribute attribute) {
  using namespace stablehlo;
  return llvm::TypeSwitch<Attribute, bool>(attribute)
      .Case([&](StringAttr text) { return set(name, text.getValue()), true; })
      .Case([&](BoolAttr flag) { return set(name, int64_t(flag.getValue())), true; })
      .Case([&](UnitAttr) { return set(name, 1), true; })
      .Case([&](IntegerAttr number) {
        set(name, number.getType().isUnsignedInteger()
                      ? static_cast<int64_t>(number.getValue().getZExtValue())
                      : number.getValue().getSExtValue());
        return true;
      })
      .Case([&](DenseI64ArrayAttr list) { return set(name, list.asArrayRef()), true; })
      .Case([&](DenseBoolArrayAttr list) {
        SmallVector<int64_t> values(list.asArrayRef().begin(), list.asArrayRef().end());
        return set(name, values), true;
      })
      .Case([&](DenseIntElementsAttr list) {
        SmallVector<int64_t> values;
        for (const APInt &value : list.getValues<APInt>())
          values.push_back(value.getSExtValue());
        return set(name, values), true;
      })
      .Case([&](FftTypeAttr value) { return set(name, stringifyFftType(value.getValue())), true; })
      .Case([&](RngAlgorithmAttr value) {
        return set(name, stringifyRngAlgorithm(value.getValue())), true;
      })
      .Case([&](RngDistributionAttr value) {
        return set(name, stringifyRngDistribution(value.getValue())), true;
      })
      .Case([&](TransposeAttr value) {
        return set(name, stringifyTranspose(value.getValue())), true;
      })
      .Case([&](ComparisonDirectionAttr value) {
        return set(name, stringifyComparisonDirection(value.getValue())), true;
      })
      .Case([&](ComparisonTypeAttr value) {
        return set(name, stringifyComparisonType(value.getValue())), true;
      })
      .Case([&](DotDimensionNumbersAttr numbers) {
        set("lhs_batching_dimensions", numbers.getLhsBatchingDimensions());
        set("rhs_batching_dimensions", numbers.getRhsBatchingDimensions());
        set("lhs_contracting_dimensions", numbers.getLhsContractingDimensions());
        set("rhs_contracting_dimensions", numbers.getRhsContractingDimensions());
        return true;
      })
      .Case([&](DotAlgorithmAttr algorithm) {
        set("lhs_precision_type", textOf(algorithm.getLhsPrecisionType()));
        set("rhs_precision_type", textOf(algorithm.getRhsPrecisionType()));
        set("accumulation_type", textOf(algorithm.getAccumulationType()));
        set("lhs_component_count", algorithm.getLhsComponentCount());
        set("rhs_component_count", algorithm.getRhsComponentCount());
        set("num_primitive_operations", algorithm.getNumPrimitiveOperations());
        set("allow_imprecise_accumulation", int64_t(algorithm.getAllowImpreciseAccumulation()));
        return true;
      })
      .Case([&](ConvDimensionNumbersAttr numbers) {
        set("input_batch_dimension", numbers.getInputBatchDimension());
        set("input_feature_dimension", numbers.getInputFeatureDimension());
        set("input_spatial_dimensions", numbers.getInputSpatialDimensions());
        set("kernel_input_feature_dimension", numbers.getKernelInputFeatureDimension());
        set("kernel_output_feature_dimension", numbers.getKernelOutputFeatureDimension());
        set("kernel_spatial_dimensions", numbers.getKernelSpatialDimensions());
        set("output_batch_dimension", numbers.getOutputBatchDimension());
        set("output_feature_dimension", numbers.getOutputFeatureDimension());
        set("output_spatial_dimensions", numbers.getOutputSpatialDimensions());
        return true;
      })
      .Case([&](GatherDimensionNumbersAttr numbers) {
        set("offset_dims", numbers.getOffsetDims());
        set("collapsed_slice_dims", numbers.getCollapsedSliceDims());
        set("operand_batching_dims", numbers.getOperandBatchingDims());
        set("start_indices_batching_dims", numbers.getStartIndicesBatchingDims());
        set("start_index_map", numbers.getStartIndexMap());
        set("index_vector_dim", numbers.getIndexVectorDim());
        return true;
      })
      .Case([&](ScatterDimensionNumbersAttr numbers) {
        set("update_window_dims", numbers.getUpdateWindowDims());
        set("inserted_window_dims", numbers.getInsertedWindowDims());
        set("input_batching_dims", numbers.getInputBatchingDims());
        set("scatter_indices_batching_dims", numbers.getScatterIndicesBatchingDims());
        set("scatter_dims_to_operand_dims", numbers.getScatterDimsToOperandDims());
        set("index_vector_dim", numbers.getIndexVectorDim());
        return true;
      })
      .Case([&](ArrayAttr list) {
        // precision_config: the strictest precision of all operands.
        Precision strictest = Precision::DEFAULT;
        for (Attribute entry : list) {
          auto precision = dyn_cast<PrecisionAttr>(entry);
          if (!precision)
            return false;
          strictest = std::max(strictest, precision.getValue());
        }
        return set("precision", stringifyPrecision(strictest)), true;
      })
      .Default([](Attribute) { return false; });
}

void Config::flattenAll(Operation *op) {
  // Add only inherent attributes; the library does not use discardable ones.
  for (StringAttr name : op->getRegisteredInfo()->getAttributeNames())
    if (std::optional<Attribute> attribute = op->getInherentAttr(name); attribute && *attribute)
      flatten(name, *attribute);
}

} // namespace tilewright::cpu
