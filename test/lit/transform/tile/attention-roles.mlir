// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_90a},func.func(fuse-cascades,fuse-products),tile-fusions,tile-pipeline)' --split-input-file --remark-policy=all --remark-format=emitRemark --remarks-filter=tile-pipeline 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

/// Attention on a chip with wgmma: one role copies, and two warpgroups multiply and compute in turns. The first product of an iteration and the
/// second one of the iteration before it are issued together; the softmax follows while the second one runs.

// REMARK: softmax_dot: an iteration takes {{[0-9]+}} cycles, of which the tensor core is busy for {{[0-9]+}}

// CHECK-LABEL: sm.kernel @softmax_dot
// CHECK-SAME: warps 12
// CHECK: %[[Q:.*]] = sm.channel depth 1 : <<128x128xbf16,
// CHECK: %[[K:.*]] = sm.channel depth 2 : <<128x[[KEYS:[0-9]+]]xbf16,
// CHECK: %[[V:.*]] = sm.channel depth 2 : <<[[KEYS]]x128xbf16,
// CHECK: %[[TURN:.*]] = sm.channel depth 1 filled 1 : <>
// CHECK: sm.role "load" warps 4 registers 24
// CHECK: sm.acquire %[[Q]]
// CHECK: scf.for
// CHECK: sm.acquire %[[K]]
// CHECK-NEXT: sm.copy tma
// CHECK: sm.acquire %[[V]]
// CHECK-NEXT: sm.copy tma
// CHECK: sm.role "math" warps 8 registers 240
// CHECK: %[[QUERIES:.*]] = sm.take %[[Q]]

/// The first iteration's scores.
// CHECK: %[[KEYS0:.*]] = sm.take %[[K]]
// CHECK: %[[S0:.*]] = sm.mma wgmma %[[QUERIES]], %[[KEYS0]]
// CHECK: sm.free %[[K]]
// CHECK: tile.reduce %[[S0]]
// CHECK: math.exp2
// CHECK: %[[P0:.*]] = tile.map({{.*}}) : (tensor<128x[[KEYS]]xf32, {{.*}}) -> tensor<128x[[KEYS]]xbf16,

// CHECK: scf.for {{.*}} iter_args({{.*}}%[[P:[a-z0-9]+]] = %[[P0]]
// CHECK: %[[KEYS1:.*]] = sm.take %[[K]]
// CHECK-NEXT: sm.take %[[TURN]]
// CHECK-NEXT: %[[S:.*]] = sm.mma wgmma %[[QUERIES]], %[[KEYS1]]
// CHECK: %[[VALUES:.*]] = sm.take %[[V]]
// CHECK-NEXT: %[[O:.*]] = sm.mma wgmma %[[P]], %[[VALUES]], %
// CHECK-NEXT: sm.free %[[TURN]]
// CHECK: sm.free %[[K]]
// CHECK: tile.reduce %[[S]]
// CHECK: math.exp2
// CHECK: sm.free %[[V]]
// CHECK: tile.map(%[[O]],
// CHECK: scf.yield

/// The last iteration's values.
// CHECK: sm.take %[[V]]
// CHECK: sm.mma wgmma
// CHECK: sm.free %[[V]]
// CHECK: arith.divf
// CHECK: tile.store
// CHECK: sm.free %[[Q]]
func.func @attention(%q: tensor<32x4224x128xbf16>, %k: tensor<32x4224x128xbf16>, %v: tensor<32x4224x128xbf16>) -> tensor<32x4224x128xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<0.088> : tensor<32x4224x4224xf32>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<32x4224x128xbf16>, tensor<32x4224x128xbf16>) -> tensor<32x4224x4224xf32>
  %s = stablehlo.multiply %x, %scale : tensor<32x4224x4224xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<32x4224x4224xf32>, tensor<f32>) -> tensor<32x4224xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<32x4224xf32>) -> tensor<32x4224x4224xf32>
  %d = stablehlo.subtract %s, %mb : tensor<32x4224x4224xf32>
  %e = stablehlo.exponential %d : tensor<32x4224x4224xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<32x4224x4224xf32>, tensor<f32>) -> tensor<32x4224xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<32x4224xf32>) -> tensor<32x4224x4224xf32>
  %p = stablehlo.divide %e, %lb : tensor<32x4224x4224xf32>
  %w = stablehlo.convert %p : (tensor<32x4224x4224xf32>) -> tensor<32x4224x4224xbf16>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<32x4224x4224xbf16>, tensor<32x4224x128xbf16>) -> tensor<32x4224x128xbf16>
  return %o : tensor<32x4224x128xbf16>
}

// -----

/// A causal mask: the role that copies visits the same blocks. How many there are in the second phase depends on maxima, which only the other role
/// knows: it passes a number. Blocks that the mask shows entirely skip it.

// CHECK-LABEL: sm.kernel @softmax_dot
// CHECK: %[[NUMBER:.*]] = sm.channel depth 1 : <<1xf32, shared,
// CHECK: sm.role "load"
// CHECK: scf.for {{.*}} to %c2{{.*}} iter_args(
// CHECK: scf.for
// CHECK: sm.copy tma
// CHECK: sm.copy tma
// CHECK: sm.take %[[NUMBER]]
// CHECK: sm.copy ld
// CHECK: sm.free %[[NUMBER]]
// CHECK: arith.cmpf oge
// CHECK: scf.yield
// CHECK: sm.role "math"
// CHECK: scf.for {{.*}} to %c2{{.*}} iter_args(
// CHECK: scf.if {{.*}} -> (
// CHECK: scf.if {{.*}} -> (tensor<64x{{[0-9]+}}xf32, {{[^,]*}}) {
// CHECK: arith.select
// CHECK: scf.for
// CHECK: tensor.extract
// CHECK: sm.acquire %[[NUMBER]]
// CHECK-NEXT: sm.copy st
// CHECK-NEXT: sm.publish %[[NUMBER]]
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
