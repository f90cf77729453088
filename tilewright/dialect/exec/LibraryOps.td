// Calls of the CPU runtime's library: one op for each kernel of artifact/LibraryCalls.def.
#ifndef TILEWRIGHT_DIALECT_EXEC_LIBRARYOPS_TD
#define TILEWRIGHT_DIALECT_EXEC_LIBRARYOPS_TD

include "tilewright/dialect/exec/LibraryEnums.td"

include "mlir/IR/Interfaces.td"

def LibraryCallOpInterface : OpInterface<"LibraryCallOpInterface"> {
  let cppNamespace = "::tilewright::exec";
  let description = [{
    A call of a kernel of the runtime's library. The op's mnemonic is the kernel's name. All operands are inputs of the
    kernel and all results are its outputs. The attributes other than `bodies` and `aliases` are the fields of the
    kernel's struct in `artifact/LibraryCalls.def`; `driver/EmitLibrary.cpp` translates them.
  }];
  let methods = [
    InterfaceMethod<"The scalar functions of the module that the kernel calls; null if there are none.",
                    "::mlir::ArrayAttr", "getBodiesAttr", (ins), "", "return {};">,
    InterfaceMethod<"The number of functions that the other attributes ask for.",
                    "size_t", "getBodyCount", (ins), "", "return 0;">,
    InterfaceMethod<"The aliases, as in exec.launch; null if there are none.",
                    "::mlir::DenseI64ArrayAttr", "getAliasesAttr", (ins), "", "return {};">];
  let verify = "return ::tilewright::exec::detail::verifyLibraryCall(::mlir::cast<LibraryCallOpInterface>($_op));";
}

defvar Exec_Tensor = AnyRankedTensor;
defvar Exec_Bodies = OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "names of functions">>;
defvar Exec_Aliases = OptionalAttr<DenseI64ArrayAttr>;
class Exec_Flag<bit value> : DefaultValuedAttr<BoolAttr, !if(value, "true", "false")>;
class Exec_Number<int value> : DefaultValuedAttr<I64Attr, !cast<string>(value)>;
defvar Exec_LowestPrecision =
    DefaultValuedAttr<Exec_PrecisionAttr, "::tilewright::numerics::Precision::standard">;

class Exec_LibraryOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat([LibraryCallOpInterface], traits)> {
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, results)";
}

// An op whose attribute `body` is a combiner, which may be a function.
class Exec_CombiningOp<string mnemonic, list<Trait> traits = []>
    : Exec_LibraryOp<mnemonic, traits> {
  let extraClassDeclaration = [{
    size_t getBodyCount() { return getBody() == ::tilewright::numerics::Combiner::function; }
  }];
}

//===- Data movement ------------------------------------------------------===//

def Exec_BroadcastInDimOp : Exec_LibraryOp<"broadcast_in_dim"> {
  let summary = "As stablehlo.broadcast_in_dim.";
  let arguments = (ins Exec_Tensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs Exec_Tensor:$result);
}

def Exec_ConcatenateOp : Exec_LibraryOp<"concatenate"> {
  let summary = "As stablehlo.concatenate.";
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs Exec_Tensor:$result);
}

def Exec_DynamicSliceOp : Exec_LibraryOp<"dynamic_slice"> {
  let summary = "As stablehlo.dynamic_slice.";
  let arguments = (ins Exec_Tensor:$operand, Variadic<Exec_Tensor>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs Exec_Tensor:$result);
}

def Exec_DynamicUpdateSliceOp : Exec_LibraryOp<"dynamic_update_slice"> {
  let summary = "As stablehlo.dynamic_update_slice; in place it writes only the update.";
  let arguments = (ins Exec_Tensor:$operand, Exec_Tensor:$update,
                       Variadic<Exec_Tensor>:$start_indices, Exec_Aliases:$aliases);
  let results = (outs Exec_Tensor:$result);
}

def Exec_GatherOp : Exec_LibraryOp<"gather"> {
  let summary = "As stablehlo.gather, with the fields of its dimension numbers as attributes.";
  let description = [{
    ```mlir
    %r = exec.gather(%table, %rows) {offset_dims = array<i64: 1>, collapsed_slice_dims = array<i64: 0>,
           operand_batching_dims = array<i64>, start_indices_batching_dims = array<i64>,
           start_index_map = array<i64: 0>, index_vector_dim = 1 : i64, slice_sizes = array<i64: 1, 8>}
         : (tensor<100x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Exec_Tensor:$operand, Exec_Tensor:$start_indices,
                       DenseI64ArrayAttr:$offset_dims, DenseI64ArrayAttr:$collapsed_slice_dims,
                       DenseI64ArrayAttr:$operand_batching_dims, DenseI64ArrayAttr:$start_indices_batching_dims,
                       DenseI64ArrayAttr:$start_index_map, I64Attr:$index_vector_dim,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs Exec_Tensor:$result);
}

def Exec_IotaOp : Exec_LibraryOp<"iota"> {
  let summary = "As stablehlo.iota.";
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs Exec_Tensor:$result);
}

def Exec_PadOp : Exec_LibraryOp<"pad"> {
  let summary = "As stablehlo.pad.";
  let arguments = (ins Exec_Tensor:$operand, Exec_Tensor:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs Exec_Tensor:$result);
}

def Exec_RankIdOp : Exec_LibraryOp<"rank_id"> {
  let summary = "The number of the replica or of the partition that runs the program.";
  let arguments = (ins Exec_RankKindAttr:$kind);
  let results = (outs Exec_Tensor:$result);
}

def Exec_ReshapeOp : Exec_LibraryOp<"reshape"> {
  let summary = "Copies the elements of a tensor to one of another shape.";
  let arguments = (ins Exec_Tensor:$operand);
  let results = (outs Exec_Tensor:$result);
}

def Exec_ReverseOp : Exec_LibraryOp<"reverse"> {
  let summary = "As stablehlo.reverse.";
  let arguments = (ins Exec_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs Exec_Tensor:$result);
}

def Exec_SliceOp : Exec_LibraryOp<"slice"> {
  let summary = "As stablehlo.slice.";
  let arguments = (ins Exec_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
                       DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs Exec_Tensor:$result);
}

def Exec_TransposeOp : Exec_LibraryOp<"transpose"> {
  let summary = "As stablehlo.transpose.";
  let arguments = (ins Exec_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Exec_Tensor:$result);
}

//===- Products -----------------------------------------------------------===//

def Exec_ConvolutionOp : Exec_LibraryOp<"convolution"> {
  let summary = "As stablehlo.convolution, with the fields of its dimension numbers as attributes.";
  let description = [{
    `padding` has a low and a high padding for each spatial dimension. `precision` is the strictest of both operands'.
  }];
  let arguments = (ins Exec_Tensor:$lhs, Exec_Tensor:$rhs, I64Attr:$input_batch_dimension,
                       I64Attr:$input_feature_dimension, DenseI64ArrayAttr:$input_spatial_dimensions,
                       I64Attr:$kernel_input_feature_dimension, I64Attr:$kernel_output_feature_dimension,
                       DenseI64ArrayAttr:$kernel_spatial_dimensions, I64Attr:$output_batch_dimension,
                       I64Attr:$output_feature_dimension, DenseI64ArrayAttr:$output_spatial_dimensions,
                       DenseI64ArrayAttr:$window_strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$lhs_dilation, DenseI64ArrayAttr:$rhs_dilation,
                       DenseBoolArrayAttr:$window_reversal, Exec_Number<1>:$feature_group_count,
                       Exec_Number<1>:$batch_group_count, Exec_LowestPrecision:$precision);
  let results = (outs Exec_Tensor:$result);
}

def Exec_DotGeneralOp : Exec_LibraryOp<"dot_general"> {
  let summary = "As stablehlo.dot_general, with the fields of its dimension numbers as attributes.";
  let description = [{
    If `product_type` is present, the body is an epilogue: it computes the results from the product, whose elements
    would have this type, and from `epilogue_inputs`. `precision` is the strictest of both operands'.

    With a `block`, the first two of `epilogue_inputs` are not the epilogue's: they are the scales of lhs and rhs, as in
    `exec.scaled_dot` with factors of bf16, and the contracting dimension is the last. An operand of ui8 then has two
    f4E2M1FN in each byte.

    ```mlir
    %r = exec.dot_general(%x, %w, %bias) {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>,
           lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>,
           product_type = f32, bodies = [@epilogue_0]}
         : (tensor<4x5xf32>, tensor<5x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Exec_Tensor:$lhs, Exec_Tensor:$rhs, Variadic<Exec_Tensor>:$epilogue_inputs,
                       DenseI64ArrayAttr:$lhs_batching_dimensions, DenseI64ArrayAttr:$rhs_batching_dimensions,
                       DenseI64ArrayAttr:$lhs_contracting_dimensions, DenseI64ArrayAttr:$rhs_contracting_dimensions,
                       Exec_LowestPrecision:$precision, OptionalAttr<TypeAttr>:$product_type, Exec_Number<0>:$block, Exec_Bodies:$bodies);
  let results = (outs Variadic<Exec_Tensor>:$results);
  let extraClassDeclaration = [{
    size_t getBodyCount() { return getProductType().has_value(); }
    /// The number of elements that an element of the operand's array holds.
    int64_t getPacking(::mlir::Value operand) {
      auto type = ::mlir::cast<::mlir::ShapedType>(operand.getType());
      return getBlock() > 0 && type.getElementType().isUnsignedInteger(8) ? 2 : 1;
    }
  }];
}

def Exec_AttentionOp : Exec_LibraryOp<"attention"> {
  let summary = "As exec.softmax_dot; the body is a function on blocks of scores.";
  let description = [{
    `dims` has the lists of all operands and of the result, one after the other. The first body updates the softmax of a block
    (emit/AttentionEmitter.h); if there is a `masked_score`, the bits of an f32, the second one tells whether a block is masked.
  }];
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$dims,
                       TypeAttr:$weight_type, OptionalAttr<I64Attr>:$masked_score, Exec_Bodies:$bodies);
  let results = (outs Exec_Tensor:$result, Variadic<Exec_Tensor>:$row_values);
  let extraClassDeclaration = [{
    size_t getBodyCount() { return getMaskedScore() ? 2 : 1; }
  }];
}

def Exec_AttentionBackwardOp : Exec_LibraryOp<"attention_backward"> {
  let summary = "As exec.softmax_dot_backward; the body is a function on blocks of products.";
  let description = [{
    `dims` has the lists of all operands and results, one after the other. The first body computes weights and gradients of a block
    (emit/AttentionEmitter.h); if it `has_mask`, the second one tells whether they are all 0.
  }];
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$dims,
                       TypeAttr:$weight_type, TypeAttr:$gradient_type, DenseI64ArrayAttr:$gradients,
                       Exec_Flag<0>:$has_mask, Exec_Bodies:$bodies);
  let results = (outs Variadic<Exec_Tensor>:$results);
  let extraClassDeclaration = [{
    size_t getBodyCount() { return getHasMask() ? 2 : 1; }
  }];
}

//===- Reductions ---------------------------------------------------------===//

def Exec_ArgMaxOp : Exec_LibraryOp<"argmax"> {
  let summary =
      "The first index of the largest element along a dimension, optionally after the element.";
  let arguments = (ins Exec_Tensor:$operand, I64Attr:$dimension);
  let results = (outs Variadic<Exec_Tensor>:$results);
}

def Exec_ArgMinOp : Exec_LibraryOp<"argmin"> {
  let summary =
      "The first index of the smallest element along a dimension, optionally after the element.";
  let arguments = (ins Exec_Tensor:$operand, I64Attr:$dimension);
  let results = (outs Variadic<Exec_Tensor>:$results);
}

def Exec_CumulativeOp : Exec_LibraryOp<"cumulative"> {
  let summary = "Combines each element with all before it along a dimension, or with all after it.";
  let arguments = (ins Exec_Tensor:$operand, I64Attr:$dimension, Exec_Flag<0>:$reverse,
                       Exec_CombinerAttr:$body);
  let results = (outs Exec_Tensor:$result);
}

def Exec_ReduceOp : Exec_CombiningOp<"reduce", [SameVariadicOperandSize]> {
  let summary = "As stablehlo.reduce; the region is a known combiner or a function.";
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, Variadic<Exec_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions, Exec_CombinerAttr:$body, Exec_Bodies:$bodies);
  let results = (outs Variadic<Exec_Tensor>:$results);
}

def Exec_ReduceWindowOp : Exec_CombiningOp<"reduce_window", [SameVariadicOperandSize]> {
  let summary = "As stablehlo.reduce_window; the region is a known combiner or a function.";
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, Variadic<Exec_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions, DenseI64ArrayAttr:$window_strides,
                       DenseI64ArrayAttr:$base_dilations, DenseI64ArrayAttr:$window_dilations,
                       DenseI64ArrayAttr:$padding, Exec_CombinerAttr:$body, Exec_Bodies:$bodies);
  let results = (outs Variadic<Exec_Tensor>:$results);
}

def Exec_SelectAndScatterOp : Exec_LibraryOp<"select_and_scatter"> {
  let summary = "As stablehlo.select_and_scatter; each region is known by name or a function.";
  let arguments = (ins Exec_Tensor:$operand, Exec_Tensor:$source, Exec_Tensor:$init_value,
                       DenseI64ArrayAttr:$window_dimensions, DenseI64ArrayAttr:$window_strides,
                       DenseI64ArrayAttr:$padding, Exec_SelectorAttr:$select, Exec_CombinerAttr:$scatter,
                       Exec_Bodies:$bodies);
  let results = (outs Exec_Tensor:$result);
  let extraClassDeclaration = [{
    size_t getBodyCount() {
      return (getSelect() == ::tilewright::numerics::Selector::function) +
             (getScatter() == ::tilewright::numerics::Combiner::function);
    }
  }];
}

//===- Scatter, sort ------------------------------------------------------===//

def Exec_ScatterOp : Exec_CombiningOp<"scatter", [SameVariadicOperandSize]> {
  let summary = "As stablehlo.scatter, with the fields of its dimension numbers as attributes.";
  let description = [{ In place it writes only the elements that change. }];
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, Exec_Tensor:$scatter_indices,
                       Variadic<Exec_Tensor>:$updates, DenseI64ArrayAttr:$update_window_dims,
                       DenseI64ArrayAttr:$inserted_window_dims, DenseI64ArrayAttr:$input_batching_dims,
                       DenseI64ArrayAttr:$scatter_indices_batching_dims,
                       DenseI64ArrayAttr:$scatter_dims_to_operand_dims, I64Attr:$index_vector_dim,
                       Exec_CombinerAttr:$body, Exec_Bodies:$bodies, Exec_Aliases:$aliases);
  let results = (outs Variadic<Exec_Tensor>:$results);
}

def Exec_SortOp : Exec_LibraryOp<"sort"> {
  let summary = "Sorts along a dimension; stable.";
  let description = [{
    A comparator that is not a function compares elements of input `comparator_operand`, by value or, if
    `comparator_total_order`, as IEEE-754's totalOrder. By value, zeros are equal to each other and so are NaNs, which
    are greatest.

    ```mlir
    %r = exec.sort(%a) {dimension = 0 : i64, comparator = #exec.comparator<lt>} : (tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, I64Attr:$dimension,
                       Exec_ComparatorAttr:$comparator, Exec_Number<0>:$comparator_operand,
                       Exec_Flag<0>:$comparator_total_order, Exec_Bodies:$bodies, Exec_Aliases:$aliases);
  let results = (outs Variadic<Exec_Tensor>:$results);
  let extraClassDeclaration = [{
    size_t getBodyCount() {
      return getComparator() == ::tilewright::numerics::Comparator::function;
    }
  }];
}

def Exec_TopKOp : Exec_LibraryOp<"top_k"> {
  let summary =
      "The k largest or smallest elements of the last dimension, sorted, and their indices.";
  let arguments = (ins Exec_Tensor:$operand, I64Attr:$k, Exec_Flag<1>:$largest);
  let results = (outs Exec_Tensor:$values, Exec_Tensor:$indices);
}

//===- Random numbers, transforms, linear algebra -------------------------===//

def Exec_RngOp : Exec_LibraryOp<"rng"> {
  let summary = "As stablehlo.rng.";
  let arguments = (ins Exec_Tensor:$a, Exec_Tensor:$b, Exec_Tensor:$shape,
                       Exec_RngDistributionAttr:$rng_distribution);
  let results = (outs Exec_Tensor:$result);
}

def Exec_RngBitGeneratorOp : Exec_LibraryOp<"rng_bit_generator"> {
  let summary = "As stablehlo.rng_bit_generator.";
  let arguments = (ins Exec_Tensor:$initial_state, Exec_RngAlgorithmAttr:$rng_algorithm);
  let results = (outs Exec_Tensor:$output_state, Exec_Tensor:$output);
}

def Exec_FftOp : Exec_LibraryOp<"fft"> {
  let summary = "As stablehlo.fft.";
  let arguments = (ins Exec_Tensor:$operand, Exec_FftTypeAttr:$fft_type,
                       DenseI64ArrayAttr:$fft_length);
  let results = (outs Exec_Tensor:$result);
}

def Exec_CholeskyOp : Exec_LibraryOp<"cholesky"> {
  let summary = "As stablehlo.cholesky.";
  let arguments = (ins Exec_Tensor:$a, BoolAttr:$lower);
  let results = (outs Exec_Tensor:$result);
}

def Exec_TriangularSolveOp : Exec_LibraryOp<"triangular_solve"> {
  let summary = "As stablehlo.triangular_solve.";
  let arguments = (ins Exec_Tensor:$a, Exec_Tensor:$b, BoolAttr:$left_side, BoolAttr:$lower,
                       BoolAttr:$unit_diagonal, Exec_TransposeAttr:$transpose_a);
  let results = (outs Exec_Tensor:$result);
}

def Exec_LapackOp : Exec_LibraryOp<"lapack"> {
  let summary = "Calls a LAPACK routine for each matrix of a batch.";
  let description = [{
    The element type selects the routine's variant. `options` are LAPACK's option letters in the order of the routine's
    arguments. `low` and `high` are gehrd's rows, counted from 1; 0 for `high` is the last.

    ```mlir
    %lu, %pivots, %info = exec.lapack(%a) {routine = #exec.lapack_routine<getrf>}
        : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi32>, tensor<i32>)
    ```
  }];
  let arguments = (ins Variadic<Exec_Tensor>:$inputs, Exec_LapackRoutineAttr:$routine,
                       DefaultValuedAttr<StrAttr, "">:$options, Exec_Number<1>:$low, Exec_Number<0>:$high);
  let results = (outs Variadic<Exec_Tensor>:$results);
}

#endif // TILEWRIGHT_DIALECT_EXEC_LIBRARYOPS_TD
