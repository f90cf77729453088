// RUN: tilewright-opt %s --cpu-fuse-epilogues --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --cpu-fuse-epilogues --split-input-file --remark-policy=all \
// RUN:   --remarks-filter=fuse --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

/// A bias along rows, a factor for each row, a residual and two results: each has its strides.

// CHECK-LABEL: func @all_kinds_of_inputs
//  CHECK-SAME:   (%[[X:.*]]: {{.*}}, %[[W:.*]]: {{.*}}, %[[B:.*]]: tensor<6xf32>, %[[S:.*]]: tensor<4xf32>, %[[R:.*]]: tensor<4x6xf32>)
//   CHECK-NOT:   stablehlo.dot_general
//       CHECK:   %[[D:.*]]:2 = exec.dot_general(%[[X]], %[[W]], %[[B]], %[[S]], %[[R]])
//  CHECK-SAME:     bodies = [@epilogue_0]
//  CHECK-SAME:     product_type = f32
//       CHECK:   return %[[D]]#0, %[[D]]#1
//       CHECK: func.func private @epilogue_0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32, %[[SCALE:.*]]: f32, %[[OLD:.*]]: f32) -> (f32, bf16)
//  CHECK-SAME:   exec.epilogue = array<i64: 0, 1, 1, 0, 6, 1, 6, 1, 6, 1>
//       CHECK:   arith.addf %[[SUM]], %[[BIAS]]
//      REMARK: Passed{{.*}}epilogue{{.*}}'bias_scale' becomes the epilogue of its product
func.func @all_kinds_of_inputs(%x: tensor<4x5xf32>, %w: tensor<5x6xf32>, %b: tensor<6xf32>,
                               %s: tensor<4xf32>, %r: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xbf16>) {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  %0:2 = exec.fusion "bias_scale"(%d, %b, %s, %r)
      : (tensor<4x6xf32>, tensor<6xf32>, tensor<4xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xbf16>) {
  ^bb0(%p: tensor<4x6xf32>, %bias: tensor<6xf32>, %scale: tensor<4xf32>, %old: tensor<4x6xf32>):
    %1 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
    %2 = stablehlo.add %p, %1 : tensor<4x6xf32>
    %3 = stablehlo.broadcast_in_dim %scale, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<4x6xf32>
    %5 = stablehlo.add %4, %old : tensor<4x6xf32>
    %6 = stablehlo.convert %5 : (tensor<4x6xf32>) -> tensor<4x6xbf16>
    exec.yield %5, %6 : tensor<4x6xf32>, tensor<4x6xbf16>
  }
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<4x6xbf16>
}

// -----

/// A product of bf16 is rounded before the epilogue computes with it, and may have another shape.

// CHECK-LABEL: func @reshaped_bf16
//       CHECK:   exec.dot_general
//  CHECK-SAME:     product_type = bf16
//       CHECK: func.func private @epilogue_0(%[[SUM:.*]]: f32) -> bf16
//       CHECK:   %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
func.func @reshaped_bf16(%x: tensor<4x5xbf16>, %w: tensor<5x6xbf16>) -> tensor<2x2x6xbf16> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x5xbf16>, tensor<5x6xbf16>) -> tensor<4x6xbf16>
  %t = stablehlo.reshape %d : (tensor<4x6xbf16>) -> tensor<2x2x6xbf16>
  %0 = exec.fusion "negate"(%t) : (tensor<2x2x6xbf16>) -> tensor<2x2x6xbf16> {
  ^bb0(%p: tensor<2x2x6xbf16>):
    %1 = stablehlo.negate %p : tensor<2x2x6xbf16>
    exec.yield %1 : tensor<2x2x6xbf16>
  }
  return %0 : tensor<2x2x6xbf16>
}

// -----

/// Equal epilogues are one function; of two products the later one takes the fusion.

// CHECK-LABEL: func @shared
//       CHECK:   %[[A:.*]] = exec.dot_general{{.*}}bodies = [@epilogue_0]
//       CHECK:   exec.dot_general(%[[A]], %[[A]]){{.*}}bodies = [@epilogue_0]
//       CHECK:   %[[C:.*]] = stablehlo.dot_general
//       CHECK:   exec.dot_general(%{{.*}}, %{{.*}}, %[[C]]){{.*}}bodies = [@epilogue_1]
//       CHECK: func.func private @epilogue_0
//       CHECK: func.func private @epilogue_1
//   CHECK-NOT: func.func private
func.func @shared(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = exec.fusion "tanh"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %1 = stablehlo.tanh %p : tensor<4x4xf32>
    exec.yield %1 : tensor<4x4xf32>
  }
  %c = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = exec.fusion "tanh"(%c) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %1 = stablehlo.tanh %p : tensor<4x4xf32>
    exec.yield %1 : tensor<4x4xf32>
  }
  %e = stablehlo.dot_general %d, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = stablehlo.dot_general %x, %d, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = exec.fusion "subtract"(%e, %f) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %1 = stablehlo.subtract %p, %q : tensor<4x4xf32>
    exec.yield %1 : tensor<4x4xf32>
  }
  return %g : tensor<4x4xf32>
}

// -----

/// A bias for each of several products of a batch is neither along rows nor along columns.

// CHECK-LABEL: func @negative_bias_of_a_batch
//       CHECK:   stablehlo.dot_general
//       CHECK:   exec.fusion
//      REMARK: Missed{{.*}}it broadcasts along neither rows nor columns
func.func @negative_bias_of_a_batch(%x: tensor<2x4x5xf32>, %w: tensor<2x5x6xf32>, %b: tensor<2x6xf32>) -> tensor<2x4x6xf32> {
  %d = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<2x4x5xf32>, tensor<2x5x6xf32>) -> tensor<2x4x6xf32>
  %0 = exec.fusion "add"(%d, %b) : (tensor<2x4x6xf32>, tensor<2x6xf32>) -> tensor<2x4x6xf32> {
  ^bb0(%p: tensor<2x4x6xf32>, %bias: tensor<2x6xf32>):
    %1 = stablehlo.broadcast_in_dim %bias, dims = [0, 2] : (tensor<2x6xf32>) -> tensor<2x4x6xf32>
    %2 = stablehlo.add %p, %1 : tensor<2x4x6xf32>
    exec.yield %2 : tensor<2x4x6xf32>
  }
  return %0 : tensor<2x4x6xf32>
}

// -----

/// Softmax needs whole rows.

// CHECK-LABEL: func @negative_reduction
//       CHECK:   exec.fusion
//      REMARK: Missed{{.*}}it contains stablehlo.reduce
func.func @negative_reduction(%x: tensor<4x5xf32>, %w: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  %0 = exec.fusion "subtract_maximum"(%d) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
  ^bb0(%p: tensor<4x6xf32>):
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%p init: %low) applies stablehlo.maximum across dimensions = [1]
        : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %3 = stablehlo.subtract %p, %2 : tensor<4x6xf32>
    exec.yield %3 : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}

// -----

/// Somebody else reads the product, so it is written anyway.

// CHECK-LABEL: func @negative_two_readers
//       CHECK:   exec.fusion
func.func @negative_two_readers(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %d = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = exec.fusion "tanh"(%d) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %1 = stablehlo.tanh %p : tensor<4x4xf32>
    exec.yield %1 : tensor<4x4xf32>
  }
  return %d, %0 : tensor<4x4xf32>, tensor<4x4xf32>
}
