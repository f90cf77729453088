// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-cascades))' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-cascades), cpu-lower-attention)' | FileCheck %s --check-prefix=CPU
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-cascades{attention=false}))' | FileCheck %s --check-prefix=OFF

/// Two products and the softmax between them become one op; no tensor has an element for each query and key. The mask is
/// part of the body, which also tells where elements are visible.

// CHECK-LABEL: func.func @causal
// CHECK-NOT: tensor<2x32x32
// CHECK: exec.softmax_dot(%arg0, %arg1, %arg2) sizes [2, 32, 32, 8, 8]
// CHECK-SAME: weights f32 masked -1.000000e+30 :
// CHECK: ^bb0(%[[PRODUCT:.*]]: f32, %[[QUERY:.*]]: i32, %[[KEY:.*]]: i32):
// CHECK: arith.cmpi sle, %[[KEY]], %[[QUERY]]
// CHECK: exec.yield_score %{{.*}} visible %{{.*}} : f32
// CHECK-NOT: stablehlo.reduce

// CPU: exec.attention(%arg0, %arg1, %arg2)
// CPU-SAME: bodies = [@[[SCORE:.*]], @[[VISIBLE:.*]]]
// CPU-SAME: dims = array<i64: 0, 1, 3, 0, 2, 3, 0, 2, 4, 0, 1, 4>
// CPU-DAG: func.func private @[[SCORE]](%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: i32) -> f32 attributes {exec.score = array<i64>, exec.weight_type = f32}
// CPU-DAG: func.func private @[[VISIBLE]](%{{.*}}: i32, %{{.*}}: i32) -> i1 attributes {exec.score = array<i64>}

// OFF-LABEL: func.func @causal
// OFF: stablehlo.dot_general
// OFF: stablehlo.dot_general
func.func @causal(%q: tensor<2x32x8xf32>, %k: tensor<2x32x8xf32>, %v: tensor<2x32x8xf32>) -> tensor<2x32x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %masked = stablehlo.constant dense<-1.0e+30> : tensor<2x32x32xf32>
  %queries = stablehlo.iota dim = 1 : tensor<2x32x32xi32>
  %keys = stablehlo.iota dim = 2 : tensor<2x32x32xi32>
  %visible = stablehlo.compare LE, %keys, %queries, SIGNED : (tensor<2x32x32xi32>, tensor<2x32x32xi32>) -> tensor<2x32x32xi1>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x32x8xf32>, tensor<2x32x8xf32>) -> tensor<2x32x32xf32>
  %s = stablehlo.select %visible, %x, %masked : tensor<2x32x32xi1>, tensor<2x32x32xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x32xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x32x32xf32>
  %e = stablehlo.exponential %d : tensor<2x32x32xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x32xf32>
  %p = stablehlo.divide %e, %lb : tensor<2x32x32xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x32xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  return %o : tensor<2x32x8xf32>
}

/// The weights are a result, too: the backward pass of a gradient needs them, so they are in memory anyway.
// CHECK-LABEL: func.func @weights_are_read
// CHECK-NOT: exec.softmax_dot
// CHECK-COUNT-2: stablehlo.dot_general
func.func @weights_are_read(%q: tensor<32x8xf32>, %k: tensor<32x8xf32>, %v: tensor<32x8xf32>) -> (tensor<32x8xf32>, tensor<32x32xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x32xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<32xf32>) -> tensor<32x32xf32>
  %d = stablehlo.subtract %s, %mb : tensor<32x32xf32>
  %e = stablehlo.exponential %d : tensor<32x32xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<32xf32>) -> tensor<32x32xf32>
  %p = stablehlo.divide %e, %lb : tensor<32x32xf32>
  %o = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  return %o, %p : tensor<32x8xf32>, tensor<32x32xf32>
}

/// Depth and width are those of the products, even if an operand is the same along them.
// CHECK-LABEL: func.func @operands_are_broadcast
// CHECK: exec.softmax_dot(%arg0, %arg1, %arg2) sizes [32, 16, 8, 4] dims [array<i64: -1, 0>, array<i64: 1>, array<i64: 1>, array<i64: 0, 3>]
func.func @operands_are_broadcast(%q: tensor<1x32xf32>, %k: tensor<16xf32>, %v: tensor<16xf32>) -> tensor<32x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %qb = stablehlo.broadcast_in_dim %q, dims = [1, 0] : (tensor<1x32xf32>) -> tensor<32x8xf32>
  %kb = stablehlo.broadcast_in_dim %k, dims = [0] : (tensor<16xf32>) -> tensor<16x8xf32>
  %vb = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<16xf32>) -> tensor<16x4xf32>
  %s = stablehlo.dot_general %qb, %kb, contracting_dims = [1] x [1] : (tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<32x16xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<32xf32>) -> tensor<32x16xf32>
  %d = stablehlo.subtract %s, %mb : tensor<32x16xf32>
  %e = stablehlo.exponential %d : tensor<32x16xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<32xf32>) -> tensor<32x16xf32>
  %p = stablehlo.divide %e, %lb : tensor<32x16xf32>
  %o = stablehlo.dot_general %p, %vb, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
  return %o : tensor<32x4xf32>
}

/// A softmax of bf16, as JAX writes it: the sum is f32, and rounded before the quotient.
// CHECK-LABEL: func.func @small_floats
// CHECK: exec.softmax_dot(%arg0, %arg1, %arg2) sizes [32, 16, 8, 4] {{.*}} weights bf16
// CHECK-NOT: stablehlo.dot_general
func.func @small_floats(%q: tensor<32x8xbf16>, %k: tensor<16x8xbf16>, %v: tensor<16x4xbf16>) -> tensor<32x4xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %lb = stablehlo.broadcast_in_dim %lowest, dims = [] : (tensor<bf16>) -> tensor<32xbf16>
  %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<32x8xbf16>, tensor<16x8xbf16>) -> tensor<32x16xbf16>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<32x16xbf16>, tensor<bf16>) -> tensor<32xbf16>
  %n = stablehlo.maximum %m, %lb : tensor<32xbf16>
  %nb = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<32xbf16>) -> tensor<32x16xbf16>
  %d = stablehlo.subtract %s, %nb : tensor<32x16xbf16>
  %e = stablehlo.exponential %d : tensor<32x16xbf16>
  %f = stablehlo.convert %e : (tensor<32x16xbf16>) -> tensor<32x16xf32>
  %l = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
  %c = stablehlo.convert %l : (tensor<32xf32>) -> tensor<32xbf16>
  %cb = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<32xbf16>) -> tensor<32x16xbf16>
  %p = stablehlo.divide %e, %cb : tensor<32x16xbf16>
  %o = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<32x16xbf16>, tensor<16x4xbf16>) -> tensor<32x4xbf16>
  return %o : tensor<32x4xbf16>
}
