#ifndef TILEWRIGHT_DIALECT_TILE_SORTOPS_TD
#define TILEWRIGHT_DIALECT_TILE_SORTOPS_TD

include "tilewright/dialect/tile/TileBase.td"

def Tile_SortOp : Tile_Op<"sort", [RecursiveMemoryEffects, IsolatedFromAbove, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Sorts the elements along one dimension; equal elements keep their order.";
  let description = [{
    All inputs are permuted alike. The region takes the two elements of each input that are compared
    (lhs of input 0, rhs of input 0, lhs of input 1, …), as in `stablehlo.sort`, and returns whether
    lhs comes first. If it is not a strict weak order, the result is an unspecified permutation.

    With `count`, only the first `count` elements along the dimension are sorted; the others keep their
    places. With `merge`, the elements [0, merge) are known to be sorted, and so are [merge, count);
    then the dimension's size is a power of two.

    A target keeps the whole dimension in one block of threads.

    ```mlir
    %keys, %order = tile.sort %x, %i count %n dim 1 : tensor<1x8xf32>, tensor<1x8xi32>
        -> tensor<1x8xf32>, tensor<1x8xi32> {
    ^bb0(%a: f32, %b: f32, %i: i32, %j: i32):
      %less = arith.cmpf olt, %a, %b : f32
      tile.yield %less : i1
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs, Optional<Index>:$count, Optional<Index>:$merge, I64Attr:$dim);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$comparator);
  let assemblyFormat = [{
    $inputs (`count` $count^)? (`merge` $merge^)? `dim` $dim attr-dict `:` type($inputs) `->` type($results) $comparator
  }];
  let hasVerifier = 1;
}

def Tile_UpdateOp : Tile_Op<"update", [MemoryEffects<[MemRead, MemWrite]>, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Combines the elements of a tile into computed places of a whole tensor.";
  let description = [{
    `target[index_0[d…], …] = combine(target[index_0[d…], …], tile[d…])`, with one tile of indices (of type
    `index`) for each dimension of the target, as in `tile.scatter`. Elements whose index is outside of the
    target are dropped, and nothing is read for them. The target is an output that the kernel `updates`.

    Without `atomic`, no two elements of the whole grid may have the same index. With `atomic` they may:
    the combiner is one op on integers of 32 or 64 bits that is associative and commutative (`addi`,
    `andi`, `ori`, `xori`, `minsi`, …), so the result does not depend on the order.

    ```mlir
    tile.update %t, %out at (%i) atomic : tensor<64xi32>, memref<10xi32>, tensor<64xindex> {
    ^bb0(%old: i32, %new: i32):
      %sum = arith.addi %old, %new : i32
      tile.yield %sum : i32
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_Whole:$target, Variadic<Tile_Tile>:$indices, UnitAttr:$atomic);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    $tile `,` $target `at` `(` $indices `)` (`atomic` $atomic^)? attr-dict `:` type($tile) `,` type($target)
    `,` type($indices) $combiner
  }];
  let hasVerifier = 1;
}

def Tile_CarryOp : Tile_Op<"carry", [MemoryEffects<[MemRead, MemWrite]>, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "The combination of a tile of all earlier points along the last dimension of the grid.";
  let description = [{
    `result[d…] = combine(… combine(combine(init, input_0[d…]), input_1[d…]) …, input_(p-1)[d…])`, where `input_q` is
    the tile of the point that differs from this one only in its last coordinate, which is `q`, and `p`
    is this point's. Points begin in the order of the grid, the last coordinate fastest: a point waits
    only for points that began before it. A kernel has at most one carry, at the top level of its body.

    The combiner must be associative: it is applied in the order of the points, but which of their
    combinations are formed first depends on timing. So it is meant for integers.

    `state` has the words by which points tell each other their tiles: an output that the kernel `updates`, zero
    before the kernel, with unspecified contents afterwards. From word 32 on, each element of each point
    has a word: of 64 bits, with the value in its lower half and how far it is complete in its upper half
    (an element of 64 bits has two words); or of 32 bits, if `narrow` promises that all values are in [0, 2^28).
    Several kernels one after the other can use the same state with growing `epoch` (up to 6), without
    zeros in between. Word `epoch` counts the points that have begun.

    ```mlir
    %before = tile.carry %sum, %state init %zero : tensor<1xi32>, memref<96xi64>, i32 {
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      tile.yield %c : i32
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input, Tile_Whole:$state, AnyType:$init,
                       DefaultValuedAttr<I64Attr, "0">:$epoch, UnitAttr:$narrow);
  let results = (outs Tile_Tile:$result);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    $input `,` $state `init` $init (`epoch` $epoch^)? (`narrow` $narrow^)? attr-dict `:` type($input) `,` type($state) `,` type($init) `->`
    type($result) $combiner
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of the word of `state` at which those of the first point begin.
    static constexpr int64_t header = 32;
    /// The words of an element with this many bits.
    static int64_t wordsOf(int64_t bits) { return bits == 64 ? 2 : 1; }
  }];
}

def Tile_BucketOp : Tile_Op<"bucket", [Pure, AttrSizedOperandSegments]> {
  let summary = "Orders the elements of a tile by small integers; equal ones keep their order.";
  let description = [{
    A counting sort along the last dimension, all other dimensions of the tiles are 1. `digits` are i32 in [0, bins). The `inputs` are
    permuted alike. `starts[b]` is the number of elements whose digit is less than `b`: where those with digit `b` begin. With `count`, only the
    first `count` elements take part; the others keep their places.

    ```mlir
    %keys, %starts = tile.bucket %x by %digits count %n
        : (tensor<1x4096xi32>), tensor<1x4096xi32> -> (tensor<1x4096xi32>), tensor<1x256xi32>
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs, Tile_Tile:$digits, Optional<Index>:$count);
  let results = (outs Variadic<Tile_Tile>:$results, Tile_Tile:$starts);
  let assemblyFormat = [{
    $inputs `by` $digits (`count` $count^)? attr-dict `:` `(` type($inputs) `)` `,` type($digits) `->`
    `(` type($results) `)` `,` type($starts)
  }];
  let hasVerifier = 1;
}

def Tile_TakeOp : Tile_Op<"take", [Pure]> {
  let summary = "Reads elements of a tile at computed indices.";
  let description = [{
    `result[d…] = source[0, …, 0, indices[d…]]`: the source has elements only along its last dimension, the
    indices are i32 and inside of it.

    ```mlir
    %r = tile.take %x at %i : tensor<1x256xi32>, tensor<1x4096xi32> -> tensor<1x4096xi32>
    ```
  }];
  let arguments = (ins Tile_Tile:$source, Tile_Tile:$indices);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source `at` $indices attr-dict `:` type($source) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_TILE_SORTOPS_TD
