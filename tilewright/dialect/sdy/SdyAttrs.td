#ifndef TILEWRIGHT_DIALECT_SDY_SDYATTRS_TD
#define TILEWRIGHT_DIALECT_SDY_SDYATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "tilewright/dialect/sdy/SdyDialect.td"

// An attribute's own verifier holds the rules that need nothing but the
// attribute. Those that need a mesh looked up or a tensor type are in
// VerifySharding.cpp.
class Sdy_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Sdy_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Meshes and axes
//===----------------------------------------------------------------------===//

def Sdy_MeshAxis : Sdy_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "An axis of a mesh and how many devices lie along it: `\"x\"=4`.";
  let parameters = (ins StringRefParameter<"">:$name, "int64_t":$size);
  let assemblyFormat = "`` $name `` `=` `` $size";
  let genVerifyDecl = 1;
}

def Sdy_Mesh : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "Devices in a grid with named axes.";
  let description = [{
    Device number `n` is at the row-major position `n` of the grid, unless
    `device_ids` gives another order.

    ```mlir
    #sdy.mesh<["x"=2, "y"=4]>                       // devices 0 to 7, two rows of four
    #sdy.mesh<["x"=4], device_ids=[0, 2, 1, 3]>     // the middle two swapped
    #sdy.mesh<[], device_ids=[3]>                   // everything on device 3: a maximal mesh
    #sdy.mesh<[]>                                   // empty: to be replaced by a real one
    ```

    Device ids that are in order anyway are dropped when the attribute is
    built, so that equal meshes are equal attributes.
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
    /// More axes than this are refused: checks of a sharding are then bounded,
    /// whatever a file says.
    static constexpr size_t maxAxes = 64;

    bool isEmpty() const { return getAxes().empty() && getDeviceIds().empty(); }

    /// Whether the mesh is one device without axes.
    bool isMaximal() const { return getAxes().empty() && getDeviceIds().size() == 1; }

    /// Position of the axis called `name` among the axes.
    std::optional<size_t> findAxis(::llvm::StringRef name) const;

    /// Whether `deviceIds` are those that leaving them out would mean.
    static bool isInOrder(::llvm::ArrayRef<MeshAxisAttr> axes, ::llvm::ArrayRef<int64_t> deviceIds);
  }];
}

def Sdy_SubAxisInfo : Sdy_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "A factor of an axis: `(pre_size)size`.";
  let description = [{
    Split an axis of size 12 as 2 x 3 x 2: the middle factor is `(2)3`, for
    there are 2 devices to its left in row-major order, and 3 along it.
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
    /// Number of devices along this reference. The axis is in `mesh`.
    int64_t getSize(MeshAttr mesh) const;
  }];
}

def Sdy_AxisRefList : ArrayOfAttr<Sdy_Dialect, "AxisRefList", "axis_ref_list", "AxisRefAttr"> {
  let summary = "Axes in an order that matters: `{\"x\", \"y\":(1)2}`.";
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
}

def Sdy_ListOfAxisRefLists
    : ArrayOfAttr<Sdy_Dialect, "ListOfAxisRefLists", "list_of_axis_ref_lists", "AxisRefListAttr"> {
  let summary = "One list of axes for each dimension.";
}

def Sdy_ManualAxes : ArrayOfAttr<Sdy_Dialect, "ManualAxes", "manual_axes", "::mlir::StringAttr"> {
  let summary = "The axes over which a region is written per device: `{\"x\", \"y\"}`.";
  let assemblyFormat = "`{` (`}`) : ($value^ `` `}`)?";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

def Sdy_DimensionSharding : Sdy_Attr<"DimensionSharding", "dimension_sharding"> {
  let summary = "The axes that cut one dimension, outermost first.";
  let description = [{
    `{"x", "y"}` is closed: exactly these axes. `{"x", ?}` is open: a
    partitioner may append more. `{"x"}p1` has priority 1; 0 decides first.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"AxisRefAttr">:$axes,
    "bool":$is_closed,
    OptionalParameter<"std::optional<int64_t>">:$priority);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sdy_Reduction : I32Enum<"Reduction", "how unreduced pieces combine", [
    I32EnumCase<"Sum", 0, "sum">, I32EnumCase<"Max", 1, "max">, I32EnumCase<"Min", 2, "min">]> {
  let cppNamespace = Sdy_Dialect.cppNamespace;
}

def Sdy_TensorSharding : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "How one tensor lies on a mesh.";
  let description = [{
    ```mlir
    #sdy.sharding<@mesh, [{"x"}, {} ]>                      // rows cut over x, replicated over the rest
    #sdy.sharding<@mesh, [{"x"}, {?} ], replicated={"y"}>   // nothing may be cut over y later
    #sdy.sharding<@mesh, [{}, {} ], unreduced={"y"}>        // the sum over y is still to be taken
    #sdy.sharding<@mesh, [{}, {} ], unreduced=max{"y"}>     // the maximum over y
    #sdy.sharding<mesh<["x"=2]>, [{"x"} ]>                  // a mesh without a name
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

    /// Whether the sharding names no axis at all.
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
  let summary = "The factors that one dimension is made of: `i`, or `ij` for a product.";
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
  let summary = "Which dimensions of an op's operands and results go together.";
  let description = [{
    Dimensions that share a factor may be cut the same way. Factors are written
    `i` to `z`, then `z_1`, `z_2`, ...

    ```mlir
    #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}>
    ```

    Cutting a `reduction` factor leaves partial results to combine; a
    `need_replication` factor must be whole; a cut `permutation` factor needs
    neighbours to exchange data; nothing is propagated along a
    `blocked_propagation` factor. `custom` marks a rule that a user wrote.
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
  let summary = "Axes that move from cutting one dimension to cutting another: `{\"x\"}: 0->2`.";
  let parameters = (ins
    ArrayRefParameter<"AxisRefAttr">:$axes, "int64_t":$src_dim, "int64_t":$tgt_dim);
  let assemblyFormat = "`` `{` $axes `}` `` `:` $src_dim `` `->` `` $tgt_dim";
  let genVerifyDecl = 1;
}

def Sdy_AllToAllParamList
    : ArrayOfAttr<Sdy_Dialect, "AllToAllParamList", "all_to_all_param_list", "AllToAllParamAttr"> {
  let summary = "Several such moves, done at once.";
}

#endif // TILEWRIGHT_DIALECT_SDY_SDYATTRS_TD
