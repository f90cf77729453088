#ifndef TILEWRIGHT_DIALECT_TILE_TILEOPS_TD
#define TILEWRIGHT_DIALECT_TILE_TILEOPS_TD

include "tilewright/dialect/tile/TileBase.td"

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, Symbol, AutomaticAllocationScope,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A program that runs once for each point of a grid.";
  let description = [{
    The block arguments are the grid's coordinates (`index`), then `numInputs`
    memrefs that are read, then memrefs that are written. Points are
    independent: they may run in any order and concurrently. Every element of an
    output is written, each by exactly one point.

    `updates` has pairs `[output, input]`: such an output is in the memory of the input and
    starts with its contents. The kernel writes some of its elements, each at most once, and
    does not read the input.

    ```mlir
    tile.kernel @row_max grid [128] inputs 1 {
    ^bb0(%i: index, %x: memref<128x512xf32>, %out: memref<128xf32>):
      %zero = arith.constant 0 : index
      %row = tile.load %x[%i, %zero] : memref<128x512xf32> -> tensor<1x512xf32>
      %low = arith.constant 0xFF800000 : f32
      %max = tile.reduce %row init %low : f32 dims [1] : tensor<1x512xf32> -> tensor<1xf32> {
      ^bb0(%a: f32, %b: f32):
        %m = arith.maximumf %a, %b : f32
        tile.yield %m : f32
      }
      tile.store %max, %out[%i] : tensor<1xf32>, memref<128xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$grid, I64Attr:$num_inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$updates);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `grid` $grid `inputs` $num_inputs (`updates` $updates^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::Block::BlockArgListType getCoordinates() {
      return getBlock().getArguments().take_front(getGrid().size());
    }
    ::mlir::Block::BlockArgListType getInputs() {
      return getBlock().getArguments().slice(getGrid().size(), getNumInputs());
    }
    ::mlir::Block::BlockArgListType getOutputs() {
      return getBlock().getArguments().drop_front(getGrid().size() + getNumInputs());
    }
    /// The product of the grid's sizes.
    int64_t getPointCount();
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "Terminates a region and returns its results.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "Reads a tile of a whole tensor.";
  let description = [{
    `result[d] = source[offset + d * stride]`, in every dimension; the tile has the
    source's rank. If `in_bounds` is false for a dimension, elements at indices outside of the source are `padding`
    (zero if absent); if it is true, all indices are known to be inside. `strides` may be negative and
    are 1 if absent.

    ```mlir
    %t = tile.load %x[%i, %j] padding %p in_bounds [true, false]
        : memref<100x100xf32> -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins Tile_Whole:$source, Variadic<Index>:$offsets, Optional<AnyType>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<DenseBoolArrayAttr>:$in_bounds);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $source `[` $offsets `]` (`strides` $strides^)? (`padding` $padding^ `:` type($padding))?
    (`in_bounds` $in_bounds^)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Writes a tile into a whole tensor.";
  let description = [{
    `target[offset + d * stride] = tile[d]`. If `in_bounds` is false for a dimension,
    elements outside of the target are dropped.

    With a `window`, the tile is written into a part of the target that has the shape `window` and
    begins at `origin`: `target[origin + offset + d * stride] = tile[d]`. Elements are then dropped where
    `offset + d * stride` is outside of the window, which must be inside the target.

    ```mlir
    tile.store %t, %out[%i] window [5] at [%p] in_bounds [false] : tensor<4xf32>, memref<100xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_Whole:$target, Variadic<Index>:$offsets,
                       Variadic<Index>:$origin, OptionalAttr<DenseI64ArrayAttr>:$window,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<DenseBoolArrayAttr>:$in_bounds);
  let assemblyFormat = [{
    $tile `,` $target `[` $offsets `]` (`window` $window^ `at` `[` $origin `]`)? (`strides` $strides^)?
    (`in_bounds` $in_bounds^)? attr-dict `:` type($tile) `,` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape that the elements must be inside of: of the window, or of the target.
    ::llvm::ArrayRef<int64_t> getBounds() {
      return getWindow().value_or(::llvm::cast<::mlir::MemRefType>(getTarget().getType()).getShape());
    }
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$target, "::mlir::ValueRange":$offsets,
                   "::mlir::DenseI64ArrayAttr":$strides, "::mlir::DenseBoolArrayAttr":$inBounds),
              [{ build($_builder, $_state, tile, target, offsets, {}, {}, strides, inBounds); }]>
  ];
}

def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "Rearranges the elements of a tile.";
  let description = [{
    `result[d…] = source[map(d…)]`: transpose, reshape, broadcast, slice and any
    composition, as one affine map from the result's index to the source's.

    ```mlir
    %t = tile.view %x affine_map<(i, j) -> (j, i)> : tensor<4x8xf32> -> tensor<8x4xf32>
    %b = tile.view %y affine_map<(i, j) -> (j)> : tensor<8xf32> -> tensor<4x8xf32>
    %r = tile.view %z affine_map<(i) -> (i floordiv 8, i mod 8)> : tensor<4x8xf32> -> tensor<32xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$source, AffineMapAttr:$map);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source custom<InlineMap>($map) attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_MapOp : Tile_Op<"map", [RecursiveMemoryEffects, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Computes each element of the results from the elements at the same index.";
  let description = [{
    ```mlir
    %s = tile.map(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    ```
    Without inputs, the result is a splat of the yielded value.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>, AttrSizedOperandSegments]> {
  let summary = "Multiplies two tiles and adds the product to an accumulator.";
  let description = [{
    `result[b…, m, n] = acc[b…, m, n] + sum over k of lhs[b…, m, k] * rhs[b…, k, n]`

    Products and sums are computed in the accumulator's element type, in any order.
    With scales, element `k` of lhs is multiplied by `lhs_scale[b…, m, k / block]`, and
    of rhs by `rhs_scale[b…, k / block, n]`, where `block` follows from the shapes.
    With `block`, operands and scales are bytes as in `exec.scaled_matmul`: elements of `lhs_type` and `rhs_type`, and
    ordered scales of `scale_type`, `[groups of rows…, lines of 128 bytes, 128]`. Pipelined products of chips that multiply with scales read these, and MFMA from registers.
    With `tf32`, f32 elements are first rounded to the nearest value with 10 bits of mantissa, as
    matrix instructions of GPUs require. Ties are rounded either way: threads round them away from
    zero (as the evaluator does), the copy engine to even.
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc,
                       Optional<Tile_Tile>:$lhs_scale, Optional<Tile_Tile>:$rhs_scale, UnitAttr:$tf32,
                       OptionalAttr<TypeAttr>:$lhs_type, OptionalAttr<TypeAttr>:$rhs_type,
                       OptionalAttr<TypeAttr>:$scale_type, OptionalAttr<I64Attr>:$block);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc (`tf32` $tf32^)? (`scaled` `(` $lhs_scale^ `:` type($lhs_scale) `,` $rhs_scale `:` type($rhs_scale) `)`)?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$acc,
                   "::mlir::Value":$lhsScale, "::mlir::Value":$rhsScale, "bool":$tf32),
              [{
                build($_builder, $_state, type, lhs, rhs, acc, lhsScale, rhsScale, tf32, ::mlir::TypeAttr(),
                      ::mlir::TypeAttr(), ::mlir::TypeAttr(), ::mlir::IntegerAttr());
              }]>
  ];
}

def Tile_ReduceOp : Tile_Op<"reduce", [RecursiveMemoryEffects, IsolatedFromAbove, SameVariadicOperandSize,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Reduces the elements along dimensions, in any order.";
  let description = [{
    The region takes one element of each accumulator, then one of each input, and returns
    the new accumulators. It must be associative and commutative up to rounding. The scalar
    `inits` are combined exactly once into each result element, so they need not be neutral.
    The results do not have the dimensions `dims`.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs, Variadic<AnyType>:$inits, DenseI64ArrayAttr:$dims);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    $inputs `init` $inits `:` type($inits) `dims` $dims attr-dict `:` type($inputs) `->` type($results) $combiner
  }];
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [RecursiveMemoryEffects, IsolatedFromAbove, SameVariadicOperandSize,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A prefix reduction along one dimension, from the first element to the last (or back, with `reverse`).";
  let description = [{
    `result[i] = combine(result[i - 1], input[i])`, where `inits` precede the first
    element. The results have the inputs' shapes.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs, Variadic<AnyType>:$inits, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    $inputs `init` $inits `:` type($inits) `dim` $dim (`reverse` $reverse^)? attr-dict `:` type($inputs) `->` type($results) $combiner
  }];
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "The index of each element along one dimension, plus an offset.";
  let description = [{
    `result[d…] = offset + d[dim] * stride`, as an integer type (wrapping) or `index`.
  }];
  let arguments = (ins Index:$offset, I64Attr:$dim, DefaultValuedAttr<I64Attr, "1">:$stride);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$offset `dim` $dim (`stride` $stride^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads elements of a whole tensor at computed indices.";
  let description = [{
    `result[d…] = source[index_0[d…], index_1[d…], …]`, with one tile of indices (of type `index`) for each
    dimension of the source, each of the result's shape. Indices must be inside the source; clamp them before.
  }];
  let arguments = (ins Tile_Whole:$source, Variadic<Tile_Tile>:$indices);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $source `at` `(` $indices `)` attr-dict `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes the elements of a tile to computed indices of a whole tensor.";
  let description = [{
    `target[index_0[d…], index_1[d…], …] = tile[d…]`, with one tile of indices (of type `index`) for each
    dimension of the target, each of the tile's shape. Elements whose index is outside of the target are dropped. No
    two elements may have the same index, in the whole grid. The target is an output that the kernel `updates`.
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_Whole:$target, Variadic<Tile_Tile>:$indices);
  let assemblyFormat = [{
    $tile `,` $target `at` `(` $indices `)` attr-dict `:` type($tile) `,` type($target) `,` type($indices)
  }];
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_TILE_TILEOPS_TD
