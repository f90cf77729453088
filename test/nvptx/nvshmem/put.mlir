/// Each rank sends its values to the next rank, waits for those of the rank before, and copies them to plain memory. Point 0 has the first half of
/// the values, point 1 the second.
tile.kernel @put grid [2] inputs 1 {
^bb0(%p: index, %in: memref<4x4096xf32, "heap">, %box: memref<4x4096xf32, "heap">, %out: memref<1x4096xf32>, %f: memref<4x2x3xi64, "heap">, %s: memref<4x2x8xi64, "heap">):
  %c0 = arith.constant 0 : index
  %me = tile.rank %in : memref<4x4096xf32, "heap">
  %next = affine.apply affine_map<(m) -> ((m + 1) mod 4)>(%me)
  %o = affine.apply affine_map<(p) -> (p * 2048)>(%p)
  tile.put %in[%o] count 2048, %box[%next][%o], %f[%p] : memref<4x4096xf32, "heap">, memref<4x4096xf32, "heap">, memref<4x2x3xi64, "heap">
  tile.wait %f[%p] : memref<4x2x3xi64, "heap">
  %t = tile.load %box[%me, %o] : memref<4x4096xf32, "heap"> -> tensor<1x2048xf32>
  tile.store %t, %out[%c0, %o] : tensor<1x2048xf32>, memref<1x4096xf32>
  tile.barrier %s : memref<4x2x8xi64, "heap">
}
