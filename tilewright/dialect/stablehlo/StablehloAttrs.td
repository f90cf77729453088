// Struct attributes. Parameters are in snake case because `struct` prints their
// names, which are public; the generated getters are in camel case.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOATTRS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "tilewright/dialect/stablehlo/StablehloEnums.td"

class Stablehlo_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Stablehlo_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

/// `[0, 2]`; omitted when empty.
def Stablehlo_DimensionList : OptionalArrayRefParameter<"int64_t", "dimension numbers"> {
  let parser = "::tilewright::stablehlo::parseDimensionList($_parser)";
  let printer = "::tilewright::stablehlo::printDimensionList($_printer, $_self)";
}

/// `[0, 2]`, printed even when empty.
def Stablehlo_IndexList : ArrayRefParameter<"int64_t", "indices"> {
  let parser = "::tilewright::stablehlo::parseDimensionList($_parser)";
  let printer = "::tilewright::stablehlo::printDimensionList($_printer, $_self)";
}

def Stablehlo_DotDimensionNumbersAttr : Stablehlo_Attr<"DotDimensionNumbers", "dot"> {
  let summary = "pairs the dimensions of the two operands of `dot_general`";
  let description = [{
    `#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>`
    is a matrix product: lhs dimension 1 is summed against rhs dimension 0.
  }];
  let parameters = (ins
    Stablehlo_DimensionList:$lhs_batching_dimensions,
    Stablehlo_DimensionList:$rhs_batching_dimensions,
    Stablehlo_DimensionList:$lhs_contracting_dimensions,
    Stablehlo_DimensionList:$rhs_contracting_dimensions);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_DotAlgorithmAttr : Stablehlo_Attr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "the arithmetic that a `dot_general` must use";
  let description = [{
    Operands are split into `*_component_count` pieces of `*_precision_type`,
    `num_primitive_operations` products of pieces are accumulated in
    `accumulation_type`. bf16_6x, for example, is three pieces and six products.
  }];
  let parameters = (ins
    "::mlir::Type":$lhs_precision_type, "::mlir::Type":$rhs_precision_type,
    "::mlir::Type":$accumulation_type,
    "int64_t":$lhs_component_count, "int64_t":$rhs_component_count,
    "int64_t":$num_primitive_operations, "bool":$allow_imprecise_accumulation);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Stablehlo_ConvDimensionNumbersAttr : Stablehlo_Attr<"ConvDimensionNumbers", "conv"> {
  let summary = "the role of each dimension of a convolution's operands and result";
  let description = [{
    `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`: `b` and `f` are
    batch and feature, `i` and `o` input and output features of the kernel, the
    numbers count spatial dimensions. Numbers that do not form such lists, for
    example from a corrupt file, are printed as `raw` with one field each.
  }];
  let parameters = (ins
    "int64_t":$input_batch_dimension, "int64_t":$input_feature_dimension,
    Stablehlo_IndexList:$input_spatial_dimensions,
    "int64_t":$kernel_input_feature_dimension, "int64_t":$kernel_output_feature_dimension,
    Stablehlo_IndexList:$kernel_spatial_dimensions,
    "int64_t":$output_batch_dimension, "int64_t":$output_feature_dimension,
    Stablehlo_IndexList:$output_spatial_dimensions);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_GatherDimensionNumbersAttr : Stablehlo_Attr<"GatherDimensionNumbers", "gather"> {
  let summary = "how `gather` maps result dimensions to indices and to the window";
  let parameters = (ins
    Stablehlo_DimensionList:$offset_dims,
    Stablehlo_DimensionList:$collapsed_slice_dims,
    Stablehlo_DimensionList:$operand_batching_dims,
    Stablehlo_DimensionList:$start_indices_batching_dims,
    Stablehlo_DimensionList:$start_index_map,
    DefaultValuedParameter<"int64_t", "0">:$index_vector_dim);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_ScatterDimensionNumbersAttr : Stablehlo_Attr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "how `scatter` maps update dimensions to indices and to the window";
  let parameters = (ins
    Stablehlo_DimensionList:$update_window_dims,
    Stablehlo_DimensionList:$inserted_window_dims,
    Stablehlo_DimensionList:$input_batching_dims,
    Stablehlo_DimensionList:$scatter_indices_batching_dims,
    Stablehlo_DimensionList:$scatter_dims_to_operand_dims,
    DefaultValuedParameter<"int64_t", "0">:$index_vector_dim);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_ChannelHandleAttr : Stablehlo_Attr<"ChannelHandle", "channel_handle"> {
  let summary = "names the channel that joins the ends of a transfer or a collective";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_OutputOperandAliasAttr : Stablehlo_Attr<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "says that a part of a custom call's output shares memory with a part of an operand";
  let description = [{
    The index lists select an element of nested tuples; they are empty if the value is not a tuple.
  }];
  let parameters = (ins
    Stablehlo_IndexList:$output_tuple_indices, "int64_t":$operand_index,
    Stablehlo_IndexList:$operand_tuple_indices);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_TypeExtensionsAttr : Stablehlo_Attr<"TypeExtensions", "bounds", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "upper bounds for the dynamic dimensions of a tensor type";
  let description = [{
    `tensor<?x4xf32, #stablehlo.bounds<8, ?>>` has at most 8 rows. `?` means
    no bound: the dimension is static or unbounded.
    `#stablehlo.type_extensions<bounds = [8, ?]>` is the older spelling and is
    accepted, too.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$bounds);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ResultAccuracyAttr : Stablehlo_Attr<"ResultAccuracy", "result_accuracy"> {
  let summary = "the error that a transcendental op may make";
  let parameters = (ins
    APFloatParameter<"absolute tolerance">:$atol,
    APFloatParameter<"relative tolerance">:$rtol, "int64_t":$ulps,
    "::tilewright::stablehlo::ResultAccuracyModeAttr":$mode);
  let builders = [AttrBuilder<(ins "double":$atol, "double":$rtol, "int64_t":$ulps,
                                   "ResultAccuracyMode":$mode), [{
    return $_get($_ctxt, ::llvm::APFloat(atol), ::llvm::APFloat(rtol), ulps,
                 ResultAccuracyModeAttr::get($_ctxt, mode));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Stablehlo_SubAxisInfoAttr : Stablehlo_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "a piece of a mesh axis: `size` devices, after `pre_size` major ones";
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
}

def Stablehlo_AxisRefAttr : Stablehlo_Attr<"AxisRef", "axis_ref"> {
  let summary = "a mesh axis by name, or a piece of one";
  let parameters = (ins StringRefParameter<"name of the axis">:$name,
    OptionalParameter<"::tilewright::stablehlo::SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_MeshAxisAttr : Stablehlo_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "one dimension of a device grid";
  let parameters = (ins StringRefParameter<"name of the axis">:$name, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Stablehlo_MeshAttr : Stablehlo_Attr<"Mesh", "mesh"> {
  let summary = "a grid of devices; without `device_ids` they are numbered row by row";
  let parameters = (ins
    ArrayRefParameter<"::tilewright::stablehlo::MeshAxisAttr">:$axes,
    OptionalParameter<"::mlir::DenseIntElementsAttr">:$device_ids);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ReplicaGroupMeshAxesAttr
    : Stablehlo_Attr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes"> {
  let summary = "replica groups as axes of a mesh, which is given in place or by symbol";
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

/// Either one row of device numbers per group, or axes of a mesh.
def Stablehlo_ReplicaGroupsAttr
    : AnyAttrOf<[I64ElementsAttr, Stablehlo_ReplicaGroupMeshAxesAttr], "replica groups">;

/// A permutation of dimensions, minor to major, as `dense<[1, 0]> : tensor<2xindex>`.
def Stablehlo_LayoutAttr : Attr<And<[IndexElementsAttr.predicate,
    CPred<"::llvm::cast<::mlir::DenseIntElementsAttr>($_self).getType().getRank() == 1">]>,
    "1-dimensional index tensor"> {
  let storageType = IndexElementsAttr.storageType;
  let returnType = IndexElementsAttr.returnType;
  let convertFromStorage = IndexElementsAttr.convertFromStorage;
}
def Stablehlo_LayoutsAttr
    : TypedArrayAttrBase<Stablehlo_LayoutAttr, "array of 1-dimensional index tensors">;
def Stablehlo_TilingsAttr
    : TypedArrayAttrBase<Stablehlo_LayoutsAttr, "array of tilings, each an array of tile shapes">;

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOATTRS_TD
