// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-group))' --split-input-file --remark-policy=all \
// RUN:   --remarks-filter=fuse --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: grep 'recompute |' %t.remarks | FileCheck %s --check-prefix=REMARK

// Values that several kernels read: computed again where that takes fewer cycles than storing and loading them.

#h100 = #exec.target<chip = "sm_90a", units = 132, gpu = <>, rates = <l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, l2_bytes = 50000000>>
module attributes {exec.target = #h100} {

/// Sums of rows and sums of columns are two kernels. An exponential takes less time than a tensor of 64 MiB from memory.

// CHECK-LABEL: func @exponential
//       CHECK:   exec.fusion "exponential_reduce"(%arg0)
//  CHECK-SAME:     reason = "over 4096x4096 reduced over [1], 1 join"
//       CHECK:   exec.fusion "exponential_reduce"(%arg0)
//  CHECK-SAME:     1 value of other kernels computed again
//      REMARK: Passed{{.*}}recompute{{.*}}Reason="computing it again takes {{[0-9]+}} cycles, storing and loading it {{[0-9]+}}", Remark="stablehlo.exponential tensor<4096x4096xf32> is computed again in 1 other kernel"
func.func @exponential(%x: tensor<4096x4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<4096x4096xf32>
  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r, %c : tensor<4096xf32>, tensor<4096xf32>
}

/// Two powers take longer.

// CHECK-LABEL: func @powers
//       CHECK:   %[[P:.*]]:2 = exec.fusion "power_reduce"(%arg0)
//       CHECK:   exec.fusion "reduce"(%[[P]]#0)
//      REMARK: Missed{{.*}}recompute{{.*}}Reason="computing it again takes {{[0-9]+}} cycles, storing and loading it {{[0-9]+}}", Remark="stablehlo.power tensor<4096x4096xf32> is stored for 1 other kernel"
func.func @powers(%x: tensor<4096x4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.power %x, %x : tensor<4096x4096xf32>
  %e = stablehlo.power %p, %x : tensor<4096x4096xf32>
  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r, %c : tensor<4096xf32>, tensor<4096xf32>
}

/// A tensor of 1 MiB stays in L2, from which it is loaded sooner than a hyperbolic tangent is computed.

// CHECK-LABEL: func @small
//       CHECK:   %[[P:.*]]:2 = exec.fusion "tanh_reduce"(%arg0)
//       CHECK:   exec.fusion "reduce"(%[[P]]#0)
//      REMARK: Missed{{.*}}"stablehlo.tanh tensor<512x512xf32> is stored
func.func @small(%x: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.tanh %x : tensor<512x512xf32>
  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %r, %c : tensor<512xf32>, tensor<512xf32>
}

/// What is computed again reads the sums of rows, which their kernel stores for it. The difference, which no other op
/// of the first kernel reads, is no longer computed there.

// CHECK-LABEL: func @rows
//       CHECK:   %[[R:.*]] = exec.fusion "reduce"(%arg0)
//       CHECK:   exec.fusion "subtract_multiply_reduce"(%arg0, %[[R]])
//      REMARK: Passed{{.*}}"stablehlo.multiply tensor<4096x4096xf32> is computed again in 1 other kernel"
func.func @rows(%x: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %d = stablehlo.subtract %x, %b : tensor<4096x4096xf32>
  %m = stablehlo.multiply %d, %d : tensor<4096x4096xf32>
  %c = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %c : tensor<4096xf32>
}

/// A product computes its only reader in its own kernel. With a second reader its result would be in memory.

// CHECK-LABEL: func @negative_epilogue
//       CHECK:   %[[D:.*]] = stablehlo.dot_general
//       CHECK:   %[[P:.*]]:2 = exec.fusion "negate_reduce"(%[[D]])
//       CHECK:   exec.fusion "reduce"(%[[P]]#0)
//      REMARK: Missed{{.*}}Reason="it is computed from the result of a product that no other kernel reads", Remark="stablehlo.negate
func.func @negative_epilogue(%a: tensor<4096x64xf32>, %w: tensor<64x4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %x = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x4096xf32>) -> tensor<4096x4096xf32>
  %e = stablehlo.negate %x : tensor<4096x4096xf32>
  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r, %c : tensor<4096xf32>, tensor<4096xf32>
}

/// A product would compute an exponential among its operands for each of its tiles, so it stays in a kernel of its own.

// CHECK-LABEL: func @negative_prologue
//       CHECK:   %[[P:.*]]:2 = exec.fusion "exponential_reduce"(%arg0)
//       CHECK:   %[[T:.*]] = exec.fusion "negate"(%[[P]]#0)
//       CHECK:   stablehlo.dot_general %[[T]]
//      REMARK: Missed{{.*}}Reason="a reader would have too many ops to become a part of the product that reads it", Remark="stablehlo.exponential
func.func @negative_prologue(%x: tensor<4096x4096xf32>, %w: tensor<4096x64xf32>) -> (tensor<4096xf32>, tensor<4096x64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<4096x4096xf32>
  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %t = stablehlo.transpose %e, dims = [1, 0] : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %n = stablehlo.negate %t : tensor<4096x4096xf32>
  %d = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x64xf32>) -> tensor<4096x64xf32>
  return %c, %d : tensor<4096xf32>, tensor<4096x64xf32>
}

/// An update in place comes after all reads of the memory, so no later kernel should read it again.

// CHECK-LABEL: func @negative_overwritten
//       CHECK:   %[[P:.*]]:2 = exec.fusion "negate_reduce"(%arg0)
//       CHECK:   exec.fusion "reduce"(%[[P]]#0)
//      REMARK: Missed{{.*}}Reason="it is computed from memory that is overwritten", Remark="stablehlo.negate
func.func @negative_overwritten(%x: tensor<4096x4096xf32>, %row: tensor<1x4096xf32>, %i: tensor<i32>) -> (tensor<4096xf32>, tensor<4096xf32>, tensor<4096x4096xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %e = stablehlo.negate %x : tensor<4096x4096xf32>
  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %u = stablehlo.dynamic_update_slice %x, %row, %i, %0 : (tensor<4096x4096xf32>, tensor<1x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x4096xf32>
  return %r, %c, %u : tensor<4096xf32>, tensor<4096xf32>, tensor<4096x4096xf32>
}
}

// -----

/// A core of a CPU needs more cycles for what a tensor from memory takes than for an exponential, too.

// REMARK: Passed{{.*}}"stablehlo.exponential tensor<2048x2048xf32> is computed again
module attributes {exec.target = #exec.target<chip = "x86-64-v4", units = 2, cpu = <vector_bytes = 64>>} {
func.func @on_a_cpu(%x: tensor<2048x2048xf32>) -> (tensor<2048xf32>, tensor<2048xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<2048x2048xf32>
  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %c = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  return %r, %c : tensor<2048xf32>, tensor<2048xf32>
}
}
