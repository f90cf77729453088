// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_100a},func.func(fuse-cascades,fuse-products),tile-fusions,tile-pipeline)' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=tile-pipeline 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

/// Attention on a chip with tensor memory: one thread copies, one multiplies, and two warpgroups compute, each for 128 queries of its own, whose scores,
/// weights and sums are in tensor memory. Scores of the next iteration are multiplied before the weights of this one.

// REMARK: softmax_dot: an iteration takes {{[0-9]+}} cycles, of which the tensor core is busy for {{[0-9]+}}

// CHECK-LABEL: sm.kernel @softmax_dot
// CHECK-SAME: warps 12
// CHECK: %[[Q:.*]] = sm.channel depth 1 : <<128x128xbf16, shared, {{.*}}>, <128x128xbf16, shared,
// CHECK: %[[K:.*]] = sm.channel depth {{[2-9]}} : <<128x[[KEYS:[0-9]+]]xbf16,
// CHECK: %[[V:.*]] = sm.channel depth {{[2-9]}} : <<[[KEYS]]x128xbf16,
// CHECK: %[[S:.*]] = sm.channel depth 1 parts 2 : <<128x[[KEYS]]xf32, tensor,
// CHECK: %[[O:.*]] = sm.channel depth 1 parts 2 : <<128x[[KEYS]]xbf16, tensor, {{.*}}>, <128x128xf32, tensor,

// CHECK: sm.role "math" warps 8 registers
// CHECK: %[[ZERO:.*]]:2 = sm.acquire %[[O]] :
// CHECK-NEXT: sm.copy tmem %{{.*}} to %[[ZERO]]#1 : tensor<256x128xf32
// CHECK-NEXT: sm.publish %[[O]] :
// CHECK: scf.for
// CHECK: %[[SCORES:.*]] = sm.take %[[S]] :
// CHECK-NEXT: sm.copy tmem %[[SCORES]] : {{.*}} -> tensor<256x[[KEYS]]xf32,
// CHECK-NEXT: sm.free %[[S]] :
// CHECK: tile.reduce
// CHECK: arith.cmpf ole
// CHECK: math.exp2
// CHECK: %[[SLOT:.*]]:2 = sm.acquire %[[O]] :
// CHECK-NEXT: sm.scale %[[SLOT]]#1 by
// CHECK-NEXT: sm.copy tmem %{{.*}} to %[[SLOT]]#0 : tensor<256x[[KEYS]]xbf16,
// CHECK-NEXT: sm.publish %[[O]] :
// CHECK: scf.yield
// CHECK: %[[RESULT:.*]]:2 = sm.acquire %[[O]] :
// CHECK-NEXT: sm.copy tmem %[[RESULT]]#1 : {{.*}} -> tensor<256x128xf32
// CHECK: tile.store

// CHECK: sm.role "load" warps 1
// CHECK: %[[QUERIES:.*]]:2 = sm.acquire %[[Q]]
// CHECK: sm.copy tma %{{.*}} to %[[QUERIES]]#0
// CHECK: sm.copy tma %{{.*}} to %[[QUERIES]]#1

// CHECK: sm.role "mma" warps 1
// CHECK: %[[QUERIES:.*]]:2 = sm.take %[[Q]]
/// The first products of the first iteration.
// CHECK: sm.take %[[K]]
// CHECK: sm.acquire %[[S]] part 0
// CHECK: sm.mma tcgen05 %[[QUERIES]]#0
// CHECK: sm.acquire %[[S]] part 1
// CHECK: sm.mma tcgen05 %[[QUERIES]]#1
// CHECK: sm.free %[[K]]
// CHECK: scf.for
// CHECK: sm.take %[[K]]
// CHECK: sm.acquire %[[S]] part 0
// CHECK: sm.publish %[[S]] part 1
// CHECK: %[[VALUES:.*]] = sm.take %[[V]]
// CHECK: %[[W:.*]]:2 = sm.take %[[O]] part 0
// CHECK: sm.mma tcgen05 %[[W]]#0, %[[VALUES]] into %[[W]]#1 :
// CHECK-NEXT: sm.free %[[O]] part 0
// CHECK: sm.take %[[O]] part 1
// CHECK: sm.free %[[V]]
/// The second products of the last iteration.
// CHECK: sm.take %[[V]]
// CHECK: sm.take %[[O]] part 1
// CHECK: sm.free %[[Q]]
// CHECK: sm.role "idle" warps 2
func.func @attention(%q: tensor<32x3840x128xbf16>, %k: tensor<32x3840x128xbf16>, %v: tensor<32x3840x128xbf16>) -> tensor<32x3840x128xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<0.088> : tensor<32x3840x3840xf32>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<32x3840x128xbf16>, tensor<32x3840x128xbf16>) -> tensor<32x3840x3840xf32>
  %s = stablehlo.multiply %x, %scale : tensor<32x3840x3840xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<32x3840x3840xf32>, tensor<f32>) -> tensor<32x3840xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<32x3840xf32>) -> tensor<32x3840x3840xf32>
  %d = stablehlo.subtract %s, %mb : tensor<32x3840x3840xf32>
  %e = stablehlo.exponential %d : tensor<32x3840x3840xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<32x3840x3840xf32>, tensor<f32>) -> tensor<32x3840xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<32x3840xf32>) -> tensor<32x3840x3840xf32>
  %p = stablehlo.divide %e, %lb : tensor<32x3840x3840xf32>
  %w = stablehlo.convert %p : (tensor<32x3840x3840xf32>) -> tensor<32x3840x3840xbf16>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<32x3840x3840xbf16>, tensor<32x3840x128xbf16>) -> tensor<32x3840x128xbf16>
  return %o : tensor<32x3840x128xbf16>
}


// -----

/// A causal mask: both roles of one thread visit the blocks that the other one visits, and take the number that tells how many there are.

// CHECK-LABEL: sm.kernel @softmax_dot
// CHECK: %[[NUMBER:.*]] = sm.channel depth 1 : <<1xf32, shared,
// CHECK: sm.role "math"
// CHECK: sm.acquire %[[NUMBER]]
// CHECK: sm.role "load"
// CHECK: sm.take %[[NUMBER]]
// CHECK: sm.role "mma"
// CHECK: scf.if
// CHECK: sm.take %[[NUMBER]]
func.func @causal(%q: tensor<1024x64xf16>, %k: tensor<1024x64xf16>, %v: tensor<1024x64xf16>) -> tensor<1024x64xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %masked = stablehlo.constant dense<-1.0e+30> : tensor<1024x1024xf32>
  %queries = stablehlo.iota dim = 0 : tensor<1024x1024xi32>
  %keys = stablehlo.iota dim = 1 : tensor<1024x1024xi32>
  %visible = stablehlo.compare LE, %keys, %queries, SIGNED : (tensor<1024x1024xi32>, tensor<1024x1024xi32>) -> tensor<1024x1024xi1>
  %x = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<1024x64xf16>, tensor<1024x64xf16>) -> tensor<1024x1024xf32>
  %s = stablehlo.select %visible, %x, %masked : tensor<1024x1024xi1>, tensor<1024x1024xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %d = stablehlo.subtract %s, %mb : tensor<1024x1024xf32>
  %e = stablehlo.exponential %d : tensor<1024x1024xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %p = stablehlo.divide %e, %lb : tensor<1024x1024xf32>
  %w = stablehlo.convert %p : (tensor<1024x1024xf32>) -> tensor<1024x1024xf16>
  %o = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<1024x1024xf16>, tensor<1024x64xf16>) -> tensor<1024x64xf16>
  return %o : tensor<1024x64xf16>
}
