// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_80},func.func(fuse-cascades,fuse-products),tile-fusions)' | FileCheck %s

/// A causal mask bounds the loop over blocks of keys. A second pass over the others has no iterations if each row has a score that
/// decides. The residual is part of the kernel.

// CHECK-LABEL: func.func @causal
// CHECK: exec.launch @{{.*}}(%arg0, %arg1, %arg2)
// CHECK-NOT: exec.launch
// CHECK: return
// CHECK: tile.kernel @{{.*}} grid [4] inputs 3
// CHECK: %[[LAST:.*]] = arith.addi %[[QUERY:.*]], %{{.*}} : index
// CHECK: %[[BOUND:.*]] = arith.addi %[[LAST]], %{{.*}} : index
// CHECK: %[[VISIBLE:.*]] = arith.maxsi
// CHECK: scf.for %[[PHASE:.*]] = %{{.*}} to %c2 {{.*}} iter_args({{.*}}, %[[COUNT:[a-z0-9]*]] = %{{[a-z0-9_]*}}, %{{[a-z0-9]*}} = %{{[a-z0-9_]*}}, %{{[a-z0-9]*}} = %{{[a-z0-9_]*}})
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUNT]]
// CHECK: tile.reduce {{.*}} -> tensor<f32>
// CHECK: arith.minimumf
/// The masked score plus the difference that decides would be the masked score again.
// CHECK: %[[DIFFERENCE:.*]] = arith.subf
// CHECK: %[[ENOUGH:.*]] = arith.cmpf oge, %[[DIFFERENCE]]
// CHECK: %[[OTHERS:.*]] = arith.select %[[ENOUGH]], %c0
// CHECK: scf.yield {{.*}}, %[[OTHERS]],
// CHECK: arith.divf
// CHECK: arith.addf
// CHECK: tile.store
func.func @causal(%q: tensor<256x32xf16>, %k: tensor<256x32xf16>, %v: tensor<256x32xf16>) -> tensor<256x32xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %masked = stablehlo.constant dense<-1.0e+30> : tensor<256x256xf32>
  %queries = stablehlo.iota dim = 0 : tensor<256x256xi32>
  %keys = stablehlo.iota dim = 1 : tensor<256x256xi32>
  %visible = stablehlo.compare LE, %keys, %queries, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
  %x = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<256x32xf16>, tensor<256x32xf16>) -> tensor<256x256xf32>
  %s = stablehlo.select %visible, %x, %masked : tensor<256x256xi1>, tensor<256x256xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
  %d = stablehlo.subtract %s, %mb : tensor<256x256xf32>
  %e = stablehlo.exponential %d : tensor<256x256xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
  %p = stablehlo.divide %e, %lb : tensor<256x256xf32>
  %w = stablehlo.convert %p : (tensor<256x256xf32>) -> tensor<256x256xf16>
  %o = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<256x256xf16>, tensor<256x32xf16>) -> tensor<256x32xf16>
  %r = stablehlo.add %o, %q : tensor<256x32xf16>
  return %r : tensor<256x32xf16>
}
