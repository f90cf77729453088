/// Quantisation as JAX writes it (jax.nn.scaled_dot_general), after its producer: one kernel that reads the input once and writes
/// elements and scales.
// RUN: tilewright-opt %s --cpu-attach-target --simplify --fuse --cpu-fuse-epilogues --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: tilewright-opt %s --nvptx-attach-target=chip=sm_100a --simplify --fuse --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU

/// MXFP8: the largest magnitude of 32 elements over 448, rounded up to a power of two.

// CHECK-LABEL: func.func public @main
//       CHECK:   %[[Q:.*]]:2 = exec.fusion {{.*}} reduced over [2]{{.*}} : (tensor<8x64xf32>) -> (tensor<8x2x32xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
//   CHECK-NOT:   = exec.fusion
//       CHECK:   return
func.func public @main(%input: tensor<8x64xf32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  %largest = stablehlo.constant dense<448.0> : tensor<8x2x1xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shift = stablehlo.constant dense<23> : tensor<8x2x1xui32>
  %mask = stablehlo.constant dense<0x7FFFFF> : tensor<8x2x1xui32>
  %none = stablehlo.constant dense<0> : tensor<8x2x1xui32>
  %one = stablehlo.constant dense<1> : tensor<8x2x1xui32>
  %low = stablehlo.constant dense<-448.0> : tensor<8x2x32xf32>
  %high = stablehlo.constant dense<448.0> : tensor<8x2x32xf32>
  %produced = stablehlo.tanh %input : tensor<8x64xf32>
  %x = stablehlo.reshape %produced : (tensor<8x64xf32>) -> tensor<8x2x32xf32>
  %magnitude = stablehlo.abs %x : tensor<8x2x32xf32>
  %amax = stablehlo.reduce(%magnitude init: %zero) applies stablehlo.maximum across dimensions = [2] : (tensor<8x2x32xf32>, tensor<f32>) -> tensor<8x2xf32>
  %kept = stablehlo.broadcast_in_dim %amax, dims = [0, 1] : (tensor<8x2xf32>) -> tensor<8x2x1xf32>
  %quotient = stablehlo.divide %kept, %largest : tensor<8x2x1xf32>
  %bits = stablehlo.bitcast_convert %quotient : (tensor<8x2x1xf32>) -> tensor<8x2x1xui32>
  %exponent = stablehlo.shift_right_logical %bits, %shift : tensor<8x2x1xui32>
  %mantissa = stablehlo.and %bits, %mask : tensor<8x2x1xui32>
  %above = stablehlo.compare GT, %mantissa, %none : (tensor<8x2x1xui32>, tensor<8x2x1xui32>) -> tensor<8x2x1xi1>
  %next = stablehlo.add %exponent, %one : tensor<8x2x1xui32>
  %up = stablehlo.select %above, %next, %exponent : tensor<8x2x1xi1>, tensor<8x2x1xui32>
  %byte = stablehlo.convert %up : (tensor<8x2x1xui32>) -> tensor<8x2x1xui8>
  %again = stablehlo.convert %byte : (tensor<8x2x1xui8>) -> tensor<8x2x1xui32>
  %shifted = stablehlo.shift_left %again, %shift : tensor<8x2x1xui32>
  %scale = stablehlo.bitcast_convert %shifted : (tensor<8x2x1xui32>) -> tensor<8x2x1xf32>
  %wide = stablehlo.broadcast_in_dim %scale, dims = [0, 1, 2] : (tensor<8x2x1xf32>) -> tensor<8x2x32xf32>
  %scaled = stablehlo.divide %x, %wide : tensor<8x2x32xf32>
  %clipped = stablehlo.clamp %low, %scaled, %high : tensor<8x2x32xf32>
  %element = stablehlo.convert %clipped : (tensor<8x2x32xf32>) -> tensor<8x2x32xf8E4M3FN>
  %elements = stablehlo.reshape %element : (tensor<8x2x32xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  %flat = stablehlo.reshape %byte : (tensor<8x2x1xui8>) -> tensor<8x2xui8>
  %scales = stablehlo.bitcast_convert %flat : (tensor<8x2xui8>) -> tensor<8x2xf8E8M0FNU>
  return %elements, %scales : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}

// -----

/// NVFP4: x over the global scale, a scale of e4m3 for 16 elements. A second kernel packs two elements into a byte.

// CHECK-LABEL: func.func public @main
//       CHECK:   %[[Q:.*]]:2 = exec.fusion {{.*}} reduced over [2]{{.*}} : (tensor<8x32xf32>, tensor<f32>) -> ({{.*}})
//       CHECK:   = exec.fusion "pack"
//   CHECK-NOT:   = exec.fusion
//       CHECK:   return
func.func public @main(%input: tensor<8x32xf32>, %global: tensor<f32>) -> (tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>) {
  %six = stablehlo.constant dense<6.0> : tensor<8x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0.0> : tensor<8x2xf32>
  %most = stablehlo.constant dense<448.0> : tensor<8x2xf32>
  %low = stablehlo.constant dense<-6.0> : tensor<8x2x16xf32>
  %high = stablehlo.constant dense<6.0> : tensor<8x2x16xf32>
  %whole = stablehlo.broadcast_in_dim %global, dims = [] : (tensor<f32>) -> tensor<8x2x16xf32>
  %produced = stablehlo.tanh %input : tensor<8x32xf32>
  %blocks = stablehlo.reshape %produced : (tensor<8x32xf32>) -> tensor<8x2x16xf32>
  %x = stablehlo.divide %blocks, %whole : tensor<8x2x16xf32>
  %magnitude = stablehlo.abs %x : tensor<8x2x16xf32>
  %amax = stablehlo.reduce(%magnitude init: %zero) applies stablehlo.maximum across dimensions = [2] : (tensor<8x2x16xf32>, tensor<f32>) -> tensor<8x2xf32>
  %quotient = stablehlo.divide %amax, %six : tensor<8x2xf32>
  %fit = stablehlo.clamp %least, %quotient, %most : tensor<8x2xf32>
  %rounded = stablehlo.convert %fit : (tensor<8x2xf32>) -> tensor<8x2xf8E4M3FN>
  %scales = stablehlo.optimization_barrier %rounded : tensor<8x2xf8E4M3FN>
  %back = stablehlo.convert %scales : (tensor<8x2xf8E4M3FN>) -> tensor<8x2xf32>
  %wide = stablehlo.broadcast_in_dim %back, dims = [0, 1] : (tensor<8x2xf32>) -> tensor<8x2x16xf32>
  %scaled = stablehlo.divide %x, %wide : tensor<8x2x16xf32>
  %clipped = stablehlo.clamp %low, %scaled, %high : tensor<8x2x16xf32>
  %element = stablehlo.convert %clipped : (tensor<8x2x16xf32>) -> tensor<8x2x16xf4E2M1FN>
  %elements = stablehlo.reshape %element : (tensor<8x2x16xf4E2M1FN>) -> tensor<8x32xf4E2M1FN>
  return %elements, %scales : tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>
}

// -----

/// The global scales of both sides multiply the sums in the product's epilogue: no kernel reads the product again. On the CPU the
/// library's product calls it.

// CHECK-LABEL: func.func public @main
//     CPU-NOT:   stablehlo.dot_general
//         CPU:   exec.dot_general({{.*}}, %arg4) {block = 16 : i64, bodies = [@epilogue_0]
//     CPU-NOT:   = exec.fusion
//         GPU:   = exec.fusion "bitcast_convert_{{.*}}"
//         GPU:   = exec.fusion "bitcast_convert_{{.*}}"
//         GPU:   %[[D:.*]] = exec.fusion "scaled_matmul_multiply_convert"({{.*}}, %arg4) {reason = "a product with an epilogue"}
//     GPU-NOT:   = exec.fusion
//       CHECK:   return
func.func public @main(%x: tensor<64x64xf4E2M1FN>, %y: tensor<64x64xf4E2M1FN>, %sx: tensor<64x4xf8E4M3FN>, %sy: tensor<64x4xf8E4M3FN>, %g: tensor<f32>) -> tensor<64x64xbf16> {
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %sx, %sy, %g)
    : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN>, tensor<f32>) -> tensor<64x64xbf16>
  return %0 : tensor<64x64xbf16>
}
