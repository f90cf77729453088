// RUN: tilewright-opt %s --distribute-split --split-input-file | FileCheck %s --check-prefixes=CHECK,FREE
// RUN: tilewright-opt %s --distribute-split=memory-limit=400000 --split-input-file | FileCheck %s --check-prefixes=CHECK,LIMIT
// RUN: tilewright-opt %s --distribute-split=memory-limit=1 --split-input-file | FileCheck %s --check-prefixes=CHECK,LIMIT

/// Gathering the weights once for three products sends the least, and holds 257 KiB more. A device that has no memory for them multiplies
/// its rows of them and scatters the sums, which sends more. So it does if nothing fits: this plan holds the least.

// CHECK-LABEL: module @weights
//        FREE:   "stablehlo.all_gather"(%arg0) {{.*}} -> tensor<128x514xf32>
//    FREE-NOT:   reduce_scatter
//  LIMIT-NOT:   all_gather
//      LIMIT:   stablehlo.dot_general {{.*}} : (tensor<64x32xf32>, tensor<32x514xf32>) -> tensor<64x514xf32>
//      LIMIT:   "stablehlo.reduce_scatter"
//      LIMIT:   "stablehlo.reduce_scatter"
//      LIMIT:   "stablehlo.reduce_scatter"
//  LIMIT-NOT:   all_gather
//       CHECK:   return
module @weights attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%w: tensor<128x514xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %a: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                         %b: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                         %c: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
      -> (tensor<64x514xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
          tensor<64x514xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
          tensor<64x514xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x514xf32>) -> tensor<64x514xf32>
    %1 = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x514xf32>) -> tensor<64x514xf32>
    %2 = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x514xf32>) -> tensor<64x514xf32>
    return %0, %1, %2 : tensor<64x514xf32>, tensor<64x514xf32>, tensor<64x514xf32>
  }
}

// -----

/// With a limit, weights are gathered when they are needed, not when the program begins: two of them are never held together.

// CHECK-LABEL: module @one_after_the_other
//        FREE:   all_gather
//    FREE-NOT:   dot_general
//        FREE:   all_gather
//        FREE:   dot_general
//       LIMIT:   "stablehlo.all_gather"(%arg1)
//       LIMIT:   dot_general
//       LIMIT:   "stablehlo.all_gather"(%arg2)
//       LIMIT:   dot_general
module @one_after_the_other attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %v: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
    return %1 : tensor<512x64xf32>
  }
}

// -----

/// A weight that is gathered for the forward pass is held for the backward pass. With a limit that this exceeds, the copy is dropped and
/// gathered again: that sends less than any plan without copies.

// CHECK-LABEL: module @gathered_again
//       CHECK:   %[[W:.*]] = "stablehlo.all_gather"(%arg1)
//       CHECK:   dot_general %arg0, %[[W]]
//       CHECK:   stablehlo.tanh
//        FREE:   dot_general %{{.*}}, %[[W]]
//       LIMIT:   %[[AGAIN:.*]] = "stablehlo.all_gather"(%arg1) {{.*}} {exec.repeated}
//       LIMIT:   dot_general %{{.*}}, %[[AGAIN]]
//   CHECK-NOT:   all_gather
module @gathered_again attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %v: tensor<64x320xf32>)
      -> (tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
    %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x320xf32>) -> tensor<512x320xf32>
    %2 = stablehlo.tanh %1 : tensor<512x320xf32>
    %3 = stablehlo.dot_general %2, %v, contracting_dims = [1] x [1] : (tensor<512x320xf32>, tensor<64x320xf32>) -> tensor<512x64xf32>
    %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [1] : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
    return %4 : tensor<512x64xf32>
  }
}
