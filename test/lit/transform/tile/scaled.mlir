// RUN: tilewright-opt %s --tile-fusions --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --tile-fusions --tile-pipeline --split-input-file | FileCheck %s --check-prefix=ROLES

/// A product with scales has tiles of the matrix unit, whatever its sizes: 128 rows, one group of columns, lines of 128 bytes. The
/// slots of its pipeline have both operands and both scales.

// CHECK-LABEL: tile.kernel @product grid [2, 1] inputs 5
//  CHECK-SAME:   {
//       CHECK:   ^bb0(%[[I:.*]]: index, %[[J:.*]]: index, %[[X:.*]]: memref<129x160xf8E4M3FN>, %[[Y:.*]]: memref<70x160xf8E4M3FN>, %[[SX:.*]]: memref<1x2x8x128xi8>, %[[SY:.*]]: memref<1x1x8x128xi8>, %[[G:.*]]: memref<f32>
//       CHECK:   scf.for %[[STEP:.*]] = %{{.*}} to %{{.*}} step
//       CHECK:     tile.load %[[X]][{{.*}}] in_bounds [false, false] : {{.*}} -> tensor<128x128xf8E4M3FN>
//       CHECK:     tile.load %[[Y]][{{.*}}] in_bounds [false, false] : {{.*}} -> tensor<80x128xf8E4M3FN>
//       CHECK:     %[[A:.*]] = tile.load %[[SX]][%{{.*}}, %[[I]], %[[LINE:.*]], %{{.*}}] : {{.*}} -> tensor<1x1x4x128xi8>
//       CHECK:     %[[B:.*]] = tile.load %[[SY]][%{{.*}}, %[[J]], %[[LINE]], %{{.*}}] : {{.*}} -> tensor<1x1x4x128xi8>
//       CHECK:     tile.dot {{.*}} scaled(%[[A]] : tensor<1x1x4x128xi8>, %[[B]] : tensor<1x1x4x128xi8>) {block = 32 : i64,
//       CHECK:   tile.load %[[G]][]
//       CHECK:   tile.store {{.*}} in_bounds [false, false] : tensor<128x80xbf16>, memref<129x70xbf16>

// ROLES-DAG: #[[LINES:.*]] = #sm.layout<[4 offset:128] [128 offset]>
// ROLES-LABEL: sm.kernel @product
//       ROLES:   %[[IN:.*]] = sm.channel depth {{.*}} : <<128x128xf8E4M3FN, shared, #{{.*}}>, <128x80xf8E4M3FN, shared, #{{.*}}>, <4x128xi8, shared, #[[LINES]]>, <4x128xi8, shared, #[[LINES]]>>
// ROLES-COUNT-4: sm.copy {{ ?}}tma
//       ROLES:   %[[SLOT:.*]]:4 = sm.take %[[IN]]
//       ROLES:   sm.mma tcgen05 %[[SLOT]]#0, %[[SLOT]]#1 into %{{.*}} zero %{{.*}} scales %[[SLOT]]#2, %[[SLOT]]#3 {block = 32 : i64, lhs_type = f8E4M3FN, rhs_type = f8E4M3FN, scale_type = f8E8M0FNU}
module attributes {exec.target = #exec.target<chip = "sm_100a", units = 148, tile_elements = 8192, gpu = <shared_bytes = 232448>, matrix = <unit = tcgen05, types = [f16, bf16, tf32, f64, i8, f8E4M3FN, f8E5M2], registers_move = true, tensor_columns = 512>, rates = <f16 = 4096, tf32 = 2048, f8 = 8192, s8 = 8192, f4 = 16384, matrix_latency = 64, copy_latency = 1000, l2_bytes_per_cycle = 10240, memory_bytes_per_cycle = 4300, l2_bytes = 126000000, cluster = 2>>} {
  func.func public @main(%x: tensor<129x160xf8E4M3FN>, %y: tensor<70x160xf8E4M3FN>, %sx: tensor<1x2x8x128xui8>, %sy: tensor<1x1x8x128xui8>, %g: tensor<f32>) -> tensor<129x70xbf16> {
    %0 = exec.fusion "product"(%x, %y, %sx, %sy, %g) : (tensor<129x160xf8E4M3FN>, tensor<70x160xf8E4M3FN>, tensor<1x2x8x128xui8>, tensor<1x1x8x128xui8>, tensor<f32>) -> tensor<129x70xbf16> {
    ^bb0(%a: tensor<129x160xf8E4M3FN>, %b: tensor<70x160xf8E4M3FN>, %sa: tensor<1x2x8x128xui8>, %sb: tensor<1x1x8x128xui8>, %c: tensor<f32>):
      %1 = exec.scaled_matmul %a, %b scales %sa, %sb as f8E4M3FN, f8E4M3FN by f8E8M0FNU block 32 : tensor<129x160xf8E4M3FN>, tensor<70x160xf8E4M3FN>, tensor<1x2x8x128xui8>, tensor<1x1x8x128xui8> -> tensor<129x70xf32>
      %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<129x70xf32>
      %3 = stablehlo.multiply %1, %2 : tensor<129x70xf32>
      %4 = stablehlo.convert %3 : (tensor<129x70xf32>) -> tensor<129x70xbf16>
      exec.yield %4 : tensor<129x70xbf16>
    }
    return %0 : tensor<129x70xbf16>
  }
}

// -----

/// 256 columns have two groups of scales: a box through two dimensions of memory. Beside scales of 256 columns only one accumulator of
/// 256 fits, so it has one slot, also in a persistent kernel.

// CHECK-LABEL: tile.kernel @large grid [64, 32]
//       CHECK:   tile.load {{.*}} : memref<1x64x256x128xi8> -> tensor<1x2x16x128xi8>

// ROLES-LABEL: sm.kernel @large grid [64, 32] {{.*}} persistent
//       ROLES:   sm.channel depth 1 : <<128x256xf32, tensor,
//       ROLES:   sm.copy {{ ?}}tma {{.*}} dims [1, 2, 3] box [2, 16, 128]
module attributes {exec.target = #exec.target<chip = "sm_100a", units = 148, tile_elements = 8192, gpu = <shared_bytes = 232448>, matrix = <unit = tcgen05, types = [f16, bf16, tf32, f64, i8, f8E4M3FN, f8E5M2], registers_move = true, tensor_columns = 512>, rates = <f16 = 4096, tf32 = 2048, f8 = 8192, s8 = 8192, f4 = 16384, matrix_latency = 64, copy_latency = 1000, l2_bytes_per_cycle = 10240, memory_bytes_per_cycle = 4300, l2_bytes = 126000000, cluster = 2>>} {
  func.func public @main(%x: tensor<8192x2048xui8>, %y: tensor<8192x2048xui8>, %sx: tensor<1x64x256x128xui8>, %sy: tensor<1x64x256x128xui8>) -> tensor<8192x8192xf32> {
    %0 = exec.fusion "large"(%x, %y, %sx, %sy) : (tensor<8192x2048xui8>, tensor<8192x2048xui8>, tensor<1x64x256x128xui8>, tensor<1x64x256x128xui8>) -> tensor<8192x8192xf32> {
    ^bb0(%a: tensor<8192x2048xui8>, %b: tensor<8192x2048xui8>, %sa: tensor<1x64x256x128xui8>, %sb: tensor<1x64x256x128xui8>):
      %1 = exec.scaled_matmul %a, %b scales %sa, %sb as f4E2M1FN, f4E2M1FN by f8E4M3FN block 16 : tensor<8192x2048xui8>, tensor<8192x2048xui8>, tensor<1x64x256x128xui8>, tensor<1x64x256x128xui8> -> tensor<8192x8192xf32>
      exec.yield %1 : tensor<8192x8192xf32>
    }
    return %0 : tensor<8192x8192xf32>
  }
}

// -----

/// Where warps multiply (sm_120a), a tile has at most one group of rows and of columns. Threads copy scales beside the elements; a lane
/// loads words of four scales, of rows that are 32 apart. MXFP8 has one scale of a row in an instruction, so four steps share a word.

// CHECK-LABEL: tile.kernel @warps grid [2, 1] inputs 4
//       CHECK:   tile.load {{.*}} -> tensor<128x128xf8E4M3FN>
//       CHECK:   tile.load {{.*}} -> tensor<32x128xf8E5M2>

// ROLES-DAG: #[[ROWS:.*]] = #sm.layout<[4 lane] [8 lane:4, 4 warp, 4 reg]
// ROLES-LABEL: sm.kernel @warps
//       ROLES:   %[[IN:.*]] = sm.channel depth {{.*}} : <<128x128xf8E4M3FN, shared, #{{.*}}>, <128x32xf8E5M2, shared, #{{.*}}>, <4x128xi8, shared, #[[LINES]]>, <4x128xi8, shared, #[[LINES]]>>
// ROLES-COUNT-4: sm.copy {{ ?}}cp_async
//       ROLES:   %[[SLOT:.*]]:4 = sm.take %[[IN]]
//       ROLES:   sm.copy ld %[[SLOT]]#2[{{.*}}] : {{.*}} -> tensor<4x128xi8
//       ROLES:   sm.copy ld %[[SLOT]]#3[{{.*}}] : {{.*}} -> tensor<4x128xi8
//       ROLES:   sm.mma mma_sync {{.*}} scales {{.*}} {block = 32 : i64, first_block = 0 : i64, lhs_type = f8E4M3FN, rhs_type = f8E5M2, scale_type = f8E8M0FNU}
//   ROLES-NOT:   sm.copy ld %
//       ROLES:   sm.mma mma_sync {{.*}} scales {{.*}} first_block = 1 : i64
//   ROLES-NOT:   sm.copy ld %
//       ROLES:   sm.mma mma_sync {{.*}} scales {{.*}} first_block = 2 : i64
module attributes {exec.target = #exec.target<chip = "sm_120a", units = 170, tile_elements = 8192, gpu = <shared_bytes = 101376>, matrix = <types = [f16, bf16, tf32, f64, i8, f8E4M3FN, f8E5M2]>, rates = <f16 = 256, tf32 = 128, f8 = 512, s8 = 1024, f4 = 2048, matrix_latency = 33, copy_latency = 800, l2_bytes_per_cycle = 6800, memory_bytes_per_cycle = 744, l2_bytes = 96000000>>} {
  func.func public @main(%x: tensor<129x160xf8E4M3FN>, %y: tensor<30x160xf8E5M2>, %sx: tensor<1x2x8x128xui8>, %sy: tensor<1x1x8x128xui8>) -> tensor<129x30xf32> {
    %0 = exec.fusion "warps"(%x, %y, %sx, %sy) : (tensor<129x160xf8E4M3FN>, tensor<30x160xf8E5M2>, tensor<1x2x8x128xui8>, tensor<1x1x8x128xui8>) -> tensor<129x30xf32> {
    ^bb0(%a: tensor<129x160xf8E4M3FN>, %b: tensor<30x160xf8E5M2>, %sa: tensor<1x2x8x128xui8>, %sb: tensor<1x1x8x128xui8>):
      %1 = exec.scaled_matmul %a, %b scales %sa, %sb as f8E4M3FN, f8E5M2 by f8E8M0FNU block 32 : tensor<129x160xf8E4M3FN>, tensor<30x160xf8E5M2>, tensor<1x2x8x128xui8>, tensor<1x1x8x128xui8> -> tensor<129x30xf32>
      exec.yield %1 : tensor<129x30xf32>
    }
    return %0 : tensor<129x30xf32>
  }
}
