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

#endif // TILEWRIGHT_DIALECT_TILE_SORTOPS_TD
