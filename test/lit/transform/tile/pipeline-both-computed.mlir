// RUN: tilewright-opt %s --tile-pipeline --split-input-file --remarks-filter=".*" --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

/// Block-scaled operands on a chip with wgmma, which has no scales: both are multiplied by their scales on the way. The left one is computed in the
/// registers from which the instruction reads it; a role of four warps computes the right one in parts of 32 elements, and writes it to swizzled shared memory.
/// Nothing dequantised is in global memory. The order of the sum is the same permutation of the depth for both operands: the one in which a thread's 16 elements
/// of the left operand are contiguous in its slot. Scales are loaded an iteration ahead.

// CHECK-LABEL: sm.kernel @scaled
//       CHECK:   %[[LEFT:.*]] = sm.channel depth {{.*}} : <<128x64xf8E4M3FN, shared, {{.*}}>>
//       CHECK:   %[[RAW:.*]] = sm.channel depth {{.*}} : <<64x128xf8E4M3FN, shared, {{.*}}>>
//       CHECK:   %[[RIGHT:.*]] = sm.channel depth {{.*}} : <<64x128xbf16, shared, {{.*}}>>
//       CHECK:   sm.role "load"
//       CHECK:     sm.acquire %[[LEFT]]
//       CHECK:     sm.acquire %[[RAW]]
//       CHECK:   sm.role "math"
//       CHECK:     scf.for
//       CHECK:       tile.load {{.*}} -> tensor<128x2xf8E8M0FNU
//       CHECK:       %[[X:.*]] = sm.take %[[LEFT]]
//       CHECK:       %[[B:.*]] = sm.take %[[RIGHT]]
//       CHECK:       sm.copy {{ ?}}ld %[[X]]
//       CHECK:       arith.mulf
//       CHECK:       %[[A:.*]] = tile.view %{{.*}} affine_map<(d0, d1) -> (d0, ((d1 floordiv 2) mod 4) * 16 + (d1 floordiv 16) * 4 + ((d1 floordiv 8) mod 2) * 2 + d1 mod 2)> : {{.*}} -> tensor<128x64xbf16
//       CHECK:       sm.mma wgmma %[[A]], %[[B]]
//       CHECK:       sm.free %[[LEFT]]
//       CHECK:       sm.free %[[RIGHT]]
//       CHECK:   sm.role "compute" warps 4
//       CHECK:     scf.for
//       CHECK:       tile.load {{.*}} -> tensor<128x2xf8E8M0FNU
//       CHECK:       %[[Y:.*]] = sm.take %[[RAW]]
//       CHECK:       sm.copy {{ ?}}ld %[[Y]]
//       CHECK:       sm.free %[[RAW]]
//       CHECK:       arith.mulf
//       CHECK:       %[[MADE:.*]] = tile.view %{{.*}} affine_map<(d0, d1) -> (((d0 floordiv 2) mod 4) * 16 + (d0 floordiv 16) * 4 + ((d0 floordiv 8) mod 2) * 2 + d0 mod 2, d1)> : {{.*}} -> tensor<64x128xbf16
//       CHECK:       %[[TO:.*]] = sm.acquire %[[RIGHT]]
//       CHECK:       sm.copy {{ ?}}st %[[MADE]] to %[[TO]]
//       CHECK:       sm.publish %[[RIGHT]]
// WHY: scaled: both operands have a prologue: the left one goes through registers, 32 per thread, and four warps compute the right one, in 256 cycles for each iteration, and write it to {{[0-9]+}} slots of shared memory
#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 1>>
module attributes {exec.target = #hopper} {
tile.kernel @scaled grid [32, 32] inputs 4 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf8E4M3FN>, %sa: memref<4096x128xf8E8M0FNU>, %b: memref<4096x4096xf8E4M3FN>, %sb: memref<4096x128xf8E8M0FNU>, %r: memref<4096x4096xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %g = affine.apply affine_map<(d0) -> (d0 * 2)>(%s)
    %x = tile.load %a[%m, %k] : memref<4096x4096xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %p = tile.load %sa[%m, %g] : memref<4096x128xf8E8M0FNU> -> tensor<128x2xf8E8M0FNU>
    %xg = tile.view %x affine_map<(r, b, e) -> (r, b * 32 + e)> : tensor<128x64xf8E4M3FN> -> tensor<128x2x32xf8E4M3FN>
    %pg = tile.view %p affine_map<(r, b, e) -> (r, b)> : tensor<128x2xf8E8M0FNU> -> tensor<128x2x32xf8E8M0FNU>
    %xs = tile.map(%xg, %pg) : (tensor<128x2x32xf8E4M3FN>, tensor<128x2x32xf8E8M0FNU>) -> tensor<128x2x32xbf16> {
    ^bb0(%e: f8E4M3FN, %f: f8E8M0FNU):
      %u = arith.extf %e : f8E4M3FN to bf16
      %v = arith.extf %f : f8E8M0FNU to bf16
      %o = arith.mulf %u, %v : bf16
      tile.yield %o : bf16
    }
    %lhs = tile.view %xs affine_map<(r, k) -> (r, k floordiv 32, k mod 32)> : tensor<128x2x32xbf16> -> tensor<128x64xbf16>
    %y = tile.load %b[%n, %k] : memref<4096x4096xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %q = tile.load %sb[%n, %g] : memref<4096x128xf8E8M0FNU> -> tensor<128x2xf8E8M0FNU>
    %yg = tile.view %y affine_map<(r, b, e) -> (r, b * 32 + e)> : tensor<128x64xf8E4M3FN> -> tensor<128x2x32xf8E4M3FN>
    %qg = tile.view %q affine_map<(r, b, e) -> (r, b)> : tensor<128x2xf8E8M0FNU> -> tensor<128x2x32xf8E8M0FNU>
    %ys = tile.map(%yg, %qg) : (tensor<128x2x32xf8E4M3FN>, tensor<128x2x32xf8E8M0FNU>) -> tensor<128x2x32xbf16> {
    ^bb0(%e: f8E4M3FN, %f: f8E8M0FNU):
      %u = arith.extf %e : f8E4M3FN to bf16
      %v = arith.extf %f : f8E8M0FNU to bf16
      %o = arith.mulf %u, %v : bf16
      tile.yield %o : bf16
    }
    %rhs = tile.view %ys affine_map<(k, r) -> (r, k floordiv 32, k mod 32)> : tensor<128x2x32xbf16> -> tensor<64x128xbf16>
    %d = tile.dot %lhs, %rhs, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    scf.yield %d : tensor<128x128xf32>
  }
  tile.store %sum, %r[%m, %n] : tensor<128x128xf32>, memref<4096x4096xf32>
}
}

// -----

/// tcgen05 reads its left operand from tensor memory. There is no second one yet.

// CHECK-LABEL: tile.kernel @negative_tensor_memory
// WHY: negative_tensor_memory is not warp-specialized: {{.*}}
#blackwell = #exec.target<chip = "sm_100a", units = 148, gpu = <shared_bytes = 232448>, matrix = <unit = tcgen05, registers_move = true, tensor_columns = 512>,
  rates = <f16 = 4096, tf32 = 2048, matrix_latency = 64, copy_latency = 1000, l2_bytes_per_cycle = 10240, memory_bytes_per_cycle = 4300, cluster = 2>>
module attributes {exec.target = #blackwell} {
tile.kernel @negative_tensor_memory grid [32, 32] inputs 4 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf8E4M3FN>, %sa: memref<4096x128xf8E8M0FNU>, %b: memref<4096x4096xf8E4M3FN>, %sb: memref<4096x128xf8E8M0FNU>, %r: memref<4096x4096xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %g = affine.apply affine_map<(d0) -> (d0 * 2)>(%s)
    %x = tile.load %a[%m, %k] : memref<4096x4096xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %p = tile.load %sa[%m, %g] : memref<4096x128xf8E8M0FNU> -> tensor<128x2xf8E8M0FNU>
    %xg = tile.view %x affine_map<(r, b, e) -> (r, b * 32 + e)> : tensor<128x64xf8E4M3FN> -> tensor<128x2x32xf8E4M3FN>
    %pg = tile.view %p affine_map<(r, b, e) -> (r, b)> : tensor<128x2xf8E8M0FNU> -> tensor<128x2x32xf8E8M0FNU>
    %xs = tile.map(%xg, %pg) : (tensor<128x2x32xf8E4M3FN>, tensor<128x2x32xf8E8M0FNU>) -> tensor<128x2x32xbf16> {
    ^bb0(%e: f8E4M3FN, %f: f8E8M0FNU):
      %u = arith.extf %e : f8E4M3FN to bf16
      %v = arith.extf %f : f8E8M0FNU to bf16
      %o = arith.mulf %u, %v : bf16
      tile.yield %o : bf16
    }
    %lhs = tile.view %xs affine_map<(r, k) -> (r, k floordiv 32, k mod 32)> : tensor<128x2x32xbf16> -> tensor<128x64xbf16>
    %y = tile.load %b[%n, %k] : memref<4096x4096xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %q = tile.load %sb[%n, %g] : memref<4096x128xf8E8M0FNU> -> tensor<128x2xf8E8M0FNU>
    %yg = tile.view %y affine_map<(r, b, e) -> (r, b * 32 + e)> : tensor<128x64xf8E4M3FN> -> tensor<128x2x32xf8E4M3FN>
    %qg = tile.view %q affine_map<(r, b, e) -> (r, b)> : tensor<128x2xf8E8M0FNU> -> tensor<128x2x32xf8E8M0FNU>
    %ys = tile.map(%yg, %qg) : (tensor<128x2x32xf8E4M3FN>, tensor<128x2x32xf8E8M0FNU>) -> tensor<128x2x32xbf16> {
    ^bb0(%e: f8E4M3FN, %f: f8E8M0FNU):
      %u = arith.extf %e : f8E4M3FN to bf16
      %v = arith.extf %f : f8E8M0FNU to bf16
      %o = arith.mulf %u, %v : bf16
      tile.yield %o : bf16
    }
    %rhs = tile.view %ys affine_map<(k, r) -> (r, k floordiv 32, k mod 32)> : tensor<128x2x32xbf16> -> tensor<64x128xbf16>
    %d = tile.dot %lhs, %rhs, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    scf.yield %d : tensor<128x128xf32>
  }
  tile.store %sum, %r[%m, %n] : tensor<128x128xf32>, memref<4096x4096xf32>
}
}
