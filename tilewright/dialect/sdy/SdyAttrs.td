#ifndef TILEWRIGHT_DIALECT_SDY_SDYATTRS_TD
#define TILEWRIGHT_DIALECT_SDY_SDYATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "tilewright/dialect/sdy/SdyDialect.td"

// The verifiers of attributes check the rules that concern only the attribute.
// VerifySharding.cpp checks those that need a mesh by name or a tensor type.
class Sdy_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Sdy_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Meshes and axes
//===----------------------------------------------------------------------===//

def Sdy_MeshAxis : Sdy_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "An axis of a mesh and the number of devices along it: `\"x\"=4`.";
  let parameters = (ins StringRefParameter<"">:$name, "int64_t":$size);
  let assemblyFormat = "`` $name `` `=` `` $size";
  let genVerifyDecl = 1;
}

def Sdy_Mesh : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "A grid of devices with named axes.";
  let description = [{
    Device `n` is at row-major position `n` of the grid, unless `device_ids`
    specifies another order.

    ```mlir
    #sdy.mesh<["x"=2, "y"=4]>                       // devices 0 to 7, two rows of four
    #sdy.mesh<["x"=4], device_ids=[0, 2, 1, 3]>     // the middle two swapped
    #sdy.mesh<[], device_ids=[3]>                   // only device 3: a maximal mesh
    #sdy.mesh<[]>                                   // empty: a placeholder for a real mesh
    ```

    The builder drops device ids in the default order, so that equal meshes are
    equal attributes.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"MeshAxisAttr">:$axes,
    OptionalArrayRefParameter<"int64_t">:$device_ids);
  let assemblyFormat = [{
    `<` `[` (`]`) : ($axes^ `]`)? (`,` `device_ids` `` `=` `` `[` $device_ids^ `]`)? `>`
  }];
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<
    (ins "::llvm::ArrayRef<MeshAxisAttr>":$axes, CArg<"::llvm::ArrayRef<int64_t>", "{}">:$device_ids), [{
      return $_get($_ctxt, axes, isInOrder(axes, device_ids) ? ::llvm::ArrayRef<int64_t>() : device_ids);
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Meshes with more axes are rejected, which bounds the time to check a
    /// sharding of an untrusted file.
    static constexpr size_t maxAxes = 64;

    bool isEmpty() const { return getAxes().empty() && getDeviceIds().empty(); }

    /// Whether the mesh is one device without axes.
    bool isMaximal() const { return getAxes().empty() && getDeviceIds().size() == 1; }

    /// Position of the axis called `name` among the axes.
    std::optional<size_t> findAxis(::llvm::StringRef name) const;

    /// Whether `deviceIds` are in the default order.
    static bool isInOrder(::llvm::ArrayRef<MeshAxisAttr> axes, ::llvm::ArrayRef<int64_t> deviceIds);
  }];
}

def Sdy_SubAxisInfo : Sdy_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "A factor of an axis: `(pre_size)size`.";
  let description = [{
    If an axis of size 12 is split into 2 x 3 x 2, the middle factor is `(2)3`:
    the product of the factors to its left is 2, and its own size is 3.
  }];
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
  let genVerifyDecl = 1;
}

def Sdy_AxisRef : Sdy_Attr<"AxisRef", "axis_ref"> {
  let summary = "A whole axis, `\"x\"`, or a factor of it, `\"x\":(2)3`.";
  let parameters = (ins
    StringRefParameter<"">:$name,
    OptionalParameter<"SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`` $name (`` `:` `` $sub_axis_info^)?";
  let extraClassDeclaration = [{
    /// Number of devices along this reference. `mesh` must have the axis.
    int64_t getSize(MeshAttr mesh) const;
  }];
}

def Sdy_AxisRefList : ArrayOfAttr<Sdy_Dialect, "AxisRefList", "axis_ref_list", "AxisRefAttr"> {
  let summary = "An ordered list of axes: `{\"x\", \"y\":(1)2}`.";
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
}

def Sdy_ListOfAxisRefLists
    : ArrayOfAttr<Sdy_Dialect, "ListOfAxisRefLists", "list_of_axis_ref_lists", "AxisRefListAttr"> {
  let summary = "One list of axes for each dimension.";
}

def Sdy_ManualAxes : ArrayOfAttr<Sdy_Dialect, "ManualAxes", "manual_axes", "::mlir::StringAttr"> {
  let summary = "The axes along which a manual computation operates on shards: `{\"x\", \"y\"}`.";
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

def Sdy_DimensionSharding : Sdy_Attr<"DimensionSharding", "dimension_sharding"> {
  let summary = "The axes that shard one dimension, major axis first.";
  let description = [{
    `{"x", "y"}` is closed: exactly these axes. `{"x", ?}` is open: a
    partitioner may append axes. `{"x"}p1` has priority 1; priority 0 is propagated first.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"AxisRefAttr">:$axes,
    "bool":$is_closed,
    OptionalParameter<"std::optional<int64_t>">:$priority);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sdy_Reduction : I32Enum<"Reduction", "the reduction that combines unreduced shards", [
    I32EnumCase<"Sum", 0, "sum">, I32EnumCase<"Max", 1, "max">, I32EnumCase<"Min", 2, "min">]> {
  let cppNamespace = Sdy_Dialect.cppNamespace;
}

def Sdy_TensorSharding : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "The sharding of one tensor over a mesh.";
  let description = [{
    ```mlir
    #sdy.sharding<@mesh, [{"x"}, {} ]>                      // rows sharded over x, replicated over all other axes
    #sdy.sharding<@mesh, [{"x"}, {?} ], replicated={"y"}>   // must stay replicated over y
    #sdy.sharding<@mesh, [{}, {} ], unreduced={"y"}>        // the sum over y is still to be computed
    #sdy.sharding<@mesh, [{}, {} ], unreduced=max{"y"}>     // the maximum over y
    #sdy.sharding<mesh<["x"=2]>, [{"x"} ]>                  // an inline mesh
    ```
  }];
  let parameters = (ins
    "::mlir::Attribute":$mesh_or_ref,
    OptionalArrayRefParameter<"DimensionShardingAttr">:$dim_shardings,
    OptionalArrayRefParameter<"AxisRefAttr">:$replicated_axes,
    OptionalArrayRefParameter<"AxisRefAttr">:$unreduced_axes,
    DefaultValuedParameter<"Reduction", "Reduction::Sum">:$reduction);
  let assemblyFormat = [{
    `<` custom<MeshOrRef>($mesh_or_ref) `,` `[` (`]`) : ($dim_shardings^ `]`)? ``
        custom<OtherAxes>($replicated_axes, $unreduced_axes, $reduction) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    size_t getRank() const { return getDimShardings().size(); }

    /// Whether the sharding has no axes.
    bool hasNoAxes() const;
  }];
}

def Sdy_TensorShardingPerValue
    : Sdy_Attr<"TensorShardingPerValue", "sharding_per_value",
               [DeclareAttrInterfaceMethods<SymbolUserAttrInterface>]> {
  let summary = "One sharding for each result of an op, or each value of a list.";
  let parameters = (ins OptionalArrayRefParameter<"TensorShardingAttr">:$shardings);
  let assemblyFormat = "`<` `[` (`]`) : ($shardings^ `]`)? `>`";
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

def Sdy_DimMapping : Sdy_Attr<"DimMapping", "dim_mapping"> {
  let summary = "The factors of one dimension: `i`, or `ij` for a product.";
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$factor_indices);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sdy_TensorMapping : Sdy_Attr<"TensorMapping", "tensor_mapping"> {
  let summary = "One dimension mapping for each dimension: `[i, jk]`.";
  let parameters = (ins OptionalArrayRefParameter<"DimMappingAttr">:$dim_mappings);
  let assemblyFormat = "`` `[` (`]`) : ($dim_mappings^ `]`)? ``";
}

def Sdy_OpShardingRule : Sdy_Attr<"OpShardingRule", "op_sharding_rule"> {
  let summary = "The correspondence of the dimensions of an op's operands and results.";
  let description = [{
    Dimensions that share a factor can be sharded in the same way. Factors are
    named `i` to `z`, then `z_1`, `z_2`, ...

    ```mlir
    #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}>
    ```

    Sharding a `reduction` factor leaves partial results to combine; a
    `need_replication` factor must be replicated; sharding a `permutation` factor
    requires communication between neighbours; shardings are not propagated along
    a `blocked_propagation` factor. `custom` marks a rule written by a user.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"int64_t">:$factor_sizes,
    OptionalArrayRefParameter<"TensorMappingAttr">:$operand_mappings,
    OptionalArrayRefParameter<"TensorMappingAttr">:$result_mappings,
    OptionalArrayRefParameter<"int64_t">:$reduction_factors,
    OptionalArrayRefParameter<"int64_t">:$need_replication_factors,
    OptionalArrayRefParameter<"int64_t">:$permutation_factors,
    OptionalArrayRefParameter<"int64_t">:$blocked_propagation_factors,
    DefaultValuedParameter<"bool", "false">:$is_custom_rule);
  let assemblyFormat = [{
    `<` `(` $operand_mappings `)` `` `->` `` `(` $result_mappings `)` ``
        custom<FactorSizes>($factor_sizes) ``
        custom<FactorGroup>($reduction_factors, "\"reduction\"") ``
        custom<FactorGroup>($need_replication_factors, "\"need_replication\"") ``
        custom<FactorGroup>($permutation_factors, "\"permutation\"") ``
        custom<FactorGroup>($blocked_propagation_factors, "\"blocked_propagation\"") ``
        custom<IsCustomRule>($is_custom_rule) `>`
  }];
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Parameters of Shardy's collectives
//===----------------------------------------------------------------------===//

def Sdy_AllToAllParam : Sdy_Attr<"AllToAllParam", "all_to_all_param"> {
  let summary = "Axes that an all-to-all moves from one dimension to another: `{\"x\"}: 0->2`.";
  let parameters = (ins
    ArrayRefParameter<"AxisRefAttr">:$axes, "int64_t":$src_dim, "int64_t":$tgt_dim);
  let assemblyFormat = "`` `{` $axes `}` `` `:` $src_dim `` `->` `` $tgt_dim";
  let genVerifyDecl = 1;
}

def Sdy_AllToAllParamList
    : ArrayOfAttr<Sdy_Dialect, "AllToAllParamList", "all_to_all_param_list", "AllToAllParamAttr"> {
  let summary = "Several all-to-all parameters, applied at once.";
}

#endif // TILEWRIGHT_DIALECT_SDY_SDYATTRS_TD
