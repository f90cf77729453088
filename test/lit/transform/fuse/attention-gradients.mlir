// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-cascades))' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-cascades), cpu-lower-attention)' | FileCheck %s --check-prefix=CPU
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_80},func.func(fuse-cascades))' | FileCheck %s --check-prefix=GPU
// RUN: tilewright-opt %s -o /dev/null --remark-policy=all --remarks-filter=fuse --remark-format=emitRemark --pass-pipeline='builtin.module(func.func(fuse-cascades))' 2>&1 | FileCheck %s --check-prefix=WHY

/// Attention and its gradients as jax.vjp writes them: the softmax keeps its exponentials, and the gradient of a weight is divided by the sum.
/// Both become one op each. The sum over keys of the gradients of weights is a product of rows of the cotangent and of the result, an
/// argument of the body; the transposition of a gradient is part of the op.

// CHECK-LABEL: func.func @gradients
// CHECK-NOT: tensor<2x32x32
// CHECK: %[[R:.*]], %[[ROWS:.*]]:2 = exec.softmax_dot(%arg0, %arg1, %arg2) sizes [2, 32, 32, 8, 8]
// CHECK: %[[G:.*]]:3 = exec.softmax_dot_backward(%arg0, %arg1, %arg2, %arg3, %[[R]], %[[ROWS]]#0, %[[ROWS]]#1)
// CHECK-SAME: weights f32 gradients f32 [0, 1, 2] : {{.*}} -> (tensor<2x32x8xf32>, tensor<2x8x32xf32>, tensor<2x32x8xf32>)
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %[[DOT:.*]]: f32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: f32, %[[SUM:.*]]: f32):
// CHECK: exec.yield_gradient %{{.*}}, %{{.*}} visible %{{.*}} : f32, f32
// CHECK: return %[[R]], %[[G]]#0, %[[G]]#1, %[[G]]#2

/// On a GPU, one kernel sums over keys, and also computes the products of rows; the other one sums over queries.
// GPU-LABEL: func.func @gradients
// GPU: %[[R:.*]], %[[ROWS:.*]]:2 = exec.softmax_dot(%arg0, %arg1, %arg2)
// GPU: %[[DQ:.*]]:2 = exec.softmax_dot_backward(%arg0, %arg1, %arg2, %arg3, %[[R]], %[[ROWS]]#0, %[[ROWS]]#1)
// GPU-SAME: gradients f32 [0, 3] tf32 : {{.*}} -> (tensor<2x32x8xf32>, tensor<2x32xf32>)
// GPU: %[[DKV:.*]]:2 = exec.softmax_dot_backward(%arg0, %arg1, %arg2, %arg3, %[[DQ]]#1, %[[ROWS]]#0, %[[ROWS]]#1)
// GPU-SAME: gradients f32 [1, 2] reads_row_dot tf32 : {{.*}} -> (tensor<2x8x32xf32>, tensor<2x32x8xf32>)
// GPU: return %[[R]], %[[DQ]]#0, %[[DKV]]#0, %[[DKV]]#1

// CPU: exec.attention(
// CPU: exec.attention_backward(
// CPU-SAME: dims = array<i64: 0, 1, 3, 0, 2, 3, 0, 2, 4, 0, 1, 4, 0, 1, 4, 0, 1, 0, 1, 0, 1, 3, 0, 3, 2, 0, 2, 4>
// CPU-SAME: has_mask = true
// CPU-DAG: func.func private @{{.*}} -> (f32, f32) attributes {exec.gradient_types = [f32, f32], exec.score = array<i64: 1, 0, 1, 0>}
// CPU-DAG: func.func private @{{.*}}(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: f32) -> i1 attributes {exec.score = array<i64: 1, 0, 1, 0>}
func.func @gradients(%q: tensor<2x32x8xf32>, %k: tensor<2x32x8xf32>, %v: tensor<2x32x8xf32>, %c: tensor<2x32x8xf32>)
    -> (tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<2x8x32xf32>, tensor<2x32x8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x32x32xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<2x32xf32>
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
  %ll = stablehlo.multiply %l, %l : tensor<2x32xf32>
  %r = stablehlo.divide %ones, %ll : tensor<2x32xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x32xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  %dp = stablehlo.dot_general %c, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x32x8xf32>, tensor<2x32x8xf32>) -> tensor<2x32x32xf32>
  %dv = stablehlo.dot_general %p, %c, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x32x32xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x32xf32>
  %0 = stablehlo.multiply %dp, %rb : tensor<2x32x32xf32>
  %1 = stablehlo.multiply %0, %e : tensor<2x32x32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %3 = stablehlo.negate %2 : tensor<2x32xf32>
  %4 = stablehlo.divide %dp, %lb : tensor<2x32x32xf32>
  %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x32xf32>
  %6 = stablehlo.add %4, %5 : tensor<2x32x32xf32>
  %7 = stablehlo.multiply %6, %e : tensor<2x32x32xf32>
  %ds = stablehlo.select %visible, %7, %zeros : tensor<2x32x32xi1>, tensor<2x32x32xf32>
  %dk = stablehlo.dot_general %ds, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x32x32xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  %dkt = stablehlo.transpose %dk, dims = [0, 2, 1] : (tensor<2x32x8xf32>) -> tensor<2x8x32xf32>
  %dq = stablehlo.dot_general %ds, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x32xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  return %o, %dq, %dkt, %dv : tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<2x8x32xf32>, tensor<2x32x8xf32>
}

/// The gradient of a bias that two heads share is a sum over heads: its elements are those of queries and keys, which are in memory then.
// CHECK-LABEL: func.func @gradient_of_bias
// CHECK-NOT: exec.softmax_dot
// WHY: Reason="the scores, or values computed from them, are read by func.return", Remark="a softmax and its products remain separate kernels"
func.func @gradient_of_bias(%q: tensor<2x32x8xf32>, %k: tensor<2x32x8xf32>, %v: tensor<2x32x8xf32>, %c: tensor<2x32x8xf32>, %bias: tensor<32x32xf32>)
    -> (tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<32x32xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x32x8xf32>, tensor<2x32x8xf32>) -> tensor<2x32x32xf32>
  %b = stablehlo.broadcast_in_dim %bias, dims = [1, 2] : (tensor<32x32xf32>) -> tensor<2x32x32xf32>
  %s = stablehlo.add %x, %b : tensor<2x32x32xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x32xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x32x32xf32>
  %e = stablehlo.exponential %d : tensor<2x32x32xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x32xf32>
  %p = stablehlo.divide %e, %lb : tensor<2x32x32xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x32xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  %dp = stablehlo.dot_general %c, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x32x8xf32>, tensor<2x32x8xf32>) -> tensor<2x32x32xf32>
  %1 = stablehlo.multiply %dp, %p : tensor<2x32x32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %5 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x32xf32>
  %6 = stablehlo.subtract %dp, %5 : tensor<2x32x32xf32>
  %ds = stablehlo.multiply %6, %p : tensor<2x32x32xf32>
  %dq = stablehlo.dot_general %ds, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x32xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
  %db = stablehlo.reduce(%ds init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  return %o, %dq, %db : tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<32x32xf32>
}
