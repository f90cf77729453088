// Converts attributes that VHLO spells as separate fields and StableHLO as one struct.
#include "tilewright/import/OperationAttributes.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"

namespace tilewright {
namespace {

using bytecode::AttrId;
using bytecode::AttrKind;
using Dimensions = llvm::SmallVector<int64_t>;

/// Reads fields by name and keeps the first failure, so that code can read all fields of a struct
/// without a check after each.
class Fields {
public:
  Fields(EntryBuilder &entries, const Properties &properties)
      : entries(entries), properties(properties) {}

  int64_t integer(std::string_view name) {
    if (auto value = entries.integer(properties[name]))
      return *value;
    fail(wrongKind(name, "an integer"));
    return 0;
  }
  bool boolean(std::string_view name) {
    if (auto value = entries.boolean(properties[name]))
      return *value;
    fail(wrongKind(name, "a boolean"));
    return false;
  }
  Dimensions dimensions(std::string_view name) {
    if (auto value = entries.integers(properties[name]))
      return *value;
    fail(wrongKind(name, "a 1-dimensional tensor of i64"));
    return {};
  }
  /// Like dimensions(), for a field that the first form of the operation lacks; empty if absent.
  Dimensions newerDimensions(std::string_view name) {
    return properties[name] == bytecode::absent ? Dimensions() : dimensions(name);
  }
  mlir::Type type(std::string_view name) {
    const bytecode::Attr &attr = entries.entry(properties[name]);
    if (attr.kind != AttrKind::vhloType) {
      fail(wrongKind(name, "a type"));
      return {};
    }
    Result<mlir::Type> built = entries.type(attr.a);
    if (built.isOk())
      return *built;
    fail(std::move(built).takeStatus());
    return {};
  }
  Status takeStatus() { return std::move(status); }

private:
  void fail(Status failure) {
    if (status.isOk())
      status = std::move(failure);
  }
  EntryBuilder &entries;
  const Properties &properties;
  Status status;
};

mlir::Attribute convolutionNumbers(mlir::MLIRContext *context, Fields &fields) {
  return stablehlo::ConvDimensionNumbersAttr::get(
      context, fields.integer("input_batch_dimension"), fields.integer("input_feature_dimension"),
      fields.dimensions("input_spatial_dimensions"),
      fields.integer("kernel_input_feature_dimension"),
      fields.integer("kernel_output_feature_dimension"),
      fields.dimensions("kernel_spatial_dimensions"), fields.integer("output_batch_dimension"),
      fields.integer("output_feature_dimension"), fields.dimensions("output_spatial_dimensions"));
}

mlir::Attribute dotNumbers(mlir::MLIRContext *context, Fields &fields) {
  return stablehlo::DotDimensionNumbersAttr::get(
      context, fields.dimensions("lhs_batching_dimensions"),
      fields.dimensions("rhs_batching_dimensions"), fields.dimensions("lhs_contracting_dimensions"),
      fields.dimensions("rhs_contracting_dimensions"));
}

mlir::Attribute gatherNumbers(mlir::MLIRContext *context, Fields &fields) {
  return stablehlo::GatherDimensionNumbersAttr::get(
      context, fields.dimensions("offset_dims"), fields.dimensions("collapsed_slice_dims"),
      fields.newerDimensions("operand_batching_dims"),
      fields.newerDimensions("start_indices_batching_dims"), fields.dimensions("start_index_map"),
      fields.integer("index_vector_dim"));
}

mlir::Attribute scatterNumbers(mlir::MLIRContext *context, Fields &fields) {
  return stablehlo::ScatterDimensionNumbersAttr::get(
      context, fields.dimensions("update_window_dims"), fields.dimensions("inserted_window_dims"),
      fields.newerDimensions("input_batching_dims"),
      fields.newerDimensions("scatter_indices_batching_dims"),
      fields.dimensions("scatter_dims_to_operand_dims"), fields.integer("index_vector_dim"));
}

constexpr std::string_view algorithmFields[] = {
    "lhs_precision_type",          "rhs_precision_type",  "accumulation_type",
    "lhs_component_count",         "rhs_component_count", "num_primitive_operations",
    "allow_imprecise_accumulation"};

/// Appends the algorithm of a dot, unless all of its fields are the type `none` or this form of the
/// operation lacks them.
Status appendAlgorithm(EntryBuilder &entries, const Properties &properties, Fields &fields,
                       mlir::NamedAttrList &out) {
  if (properties["lhs_precision_type"] == bytecode::absent)
    return Status();
  size_t none = 0;
  for (std::string_view name : algorithmFields)
    none += isLeftOut(entries, *findAttributeRule("dot_general", name), properties);
  if (none == std::size(algorithmFields))
    return Status();
  if (none != 0)
    return wrongKind("lhs_precision_type",
                     "present if and only if all other fields of the dot algorithm are");

  mlir::Type lhs = fields.type("lhs_precision_type"), rhs = fields.type("rhs_precision_type"),
             accumulation = fields.type("accumulation_type");
  int64_t lhsCount = fields.integer("lhs_component_count"),
          rhsCount = fields.integer("rhs_component_count"),
          products = fields.integer("num_primitive_operations");
  bool imprecise = fields.boolean("allow_imprecise_accumulation");
  TILEWRIGHT_TRY(fields.takeStatus());
  TILEWRIGHT_ASSIGN(mlir::Attribute algorithm, entries.checkedBy([&](auto emitError) {
    return stablehlo::DotAlgorithmAttr::getChecked(emitError, &entries.context(), lhs, rhs,
                                                   accumulation, lhsCount, rhsCount, products,
                                                   imprecise);
  }));
  out.append("algorithm", algorithm);
  return Status();
}

} // namespace

Status appendStructs(EntryBuilder &entries, std::string_view op, const Properties &properties,
                     mlir::NamedAttrList &out) {
  mlir::MLIRContext *context = &entries.context();
  Fields fields(entries, properties);
  if (op == "convolution" || op == "dynamic_conv")
    out.append("dimension_numbers", convolutionNumbers(context, fields));
  else if (op == "gather" || op == "dynamic_gather")
    out.append("dimension_numbers", gatherNumbers(context, fields));
  else if (op == "scatter")
    out.append("scatter_dimension_numbers", scatterNumbers(context, fields));
  else if (op == "dot_general")
    out.append("dot_dimension_numbers", dotNumbers(context, fields));
  else if (op == "send" || op == "recv")
    out.append("channel_handle",
               stablehlo::ChannelHandleAttr::get(context, fields.integer("channel_id"),
                                                 fields.integer("channel_type")));
  TILEWRIGHT_TRY(fields.takeStatus());
  if (op == "dot_general")
    return appendAlgorithm(entries, properties, fields, out);
  return Status();
}

} // namespace tilewright
