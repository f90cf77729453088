// RUN: tilewright-opt %s --schedule --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --schedule-order=overlap=false --split-input-file | FileCheck %s --check-prefix=OFF

/// The sum of one gradient runs while the next gradient is computed; what reads the sum comes later.

// CHECK-LABEL: func @gradients
//       CHECK:   %[[G1:.*]] = exec.dot_general
//       CHECK:   %[[S1:.*]] = exec.collective_start <kind = all_reduce, reduction = add>(%[[G1]])
//       CHECK:   %[[G0:.*]] = exec.dot_general
//       CHECK:   exec.collective_done(%[[S1]])
//       CHECK:   exec.dot_general
//   OFF-LABEL: func @gradients
//         OFF:   exec.collective_start
//    OFF-NEXT:   exec.collective_done
func.func @gradients(%x: tensor<512x512xf32>, %d: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %g1 = exec.dot_general(%x, %d) {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = exec.collective_start <kind = all_reduce, reduction = add>(%g1) {groups = dense<[[0, 1]]> : tensor<1x2xi64>, id = 0 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = exec.collective_done(%s) {id = 0 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u = exec.dot_general(%r, %x) {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g0 = exec.dot_general(%d, %x) {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %u, %g0 : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

/// Nothing can run beside a chain: start and done stay together, and the runtime runs them as one.

// CHECK-LABEL: func @negative_chain
//       CHECK:   exec.reverse
//       CHECK:   exec.collective_start
//  CHECK-NEXT:   exec.collective_done
//       CHECK:   exec.reverse
func.func @negative_chain(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %a = exec.reverse(%x) {dimensions = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  %s = exec.collective_start <kind = all_reduce, reduction = add>(%a) {groups = dense<[[0, 1]]> : tensor<1x2xi64>, id = 0 : i64} : (tensor<1024xf32>) -> tensor<1024xf32>
  %r = exec.collective_done(%s) {id = 0 : i64} : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = exec.reverse(%r) {dimensions = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1024xf32>
  return %b : tensor<1024xf32>
}

// -----

/// A step that overwrites what a collective reads waits until the collective is done; custom calls
/// keep their order.

// CHECK-LABEL: func @in_place
//       CHECK:   exec.custom_call "first"
//       CHECK:   exec.collective_start
//       CHECK:   exec.dot_general
//       CHECK:   exec.custom_call "second"
//       CHECK:   exec.collective_done
//       CHECK:   exec.dynamic_update_slice
func.func @in_place(%x: tensor<512x512xf32>, %i: tensor<i32>, %v: tensor<1x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<i1>) {
  %a = exec.custom_call "first"(%x) {api_version = 4 : i32, config = {}} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = exec.collective_start <kind = all_reduce, reduction = add>(%a) {groups = dense<[[0, 1]]> : tensor<1x2xi64>, id = 0 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = exec.collective_done(%s) {id = 0 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %u = exec.dynamic_update_slice(%a, %v, %i, %i) {aliases = array<i64: 0, 0>} : (tensor<512x512xf32>, tensor<1x512xf32>, tensor<i32>, tensor<i32>) -> tensor<512x512xf32>
  %g = exec.dot_general(%x, %x) {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %b = exec.custom_call "second"(%g) {api_version = 4 : i32, config = {}} : (tensor<512x512xf32>) -> tensor<i1>
  return %r, %u, %g, %b : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<i1>
}

// -----

/// In a loop that gathers for its next iteration, the gather begins first; a slice costs only what it reads.

// CHECK-LABEL: func @prefetch
//       CHECK:   do {
//       CHECK:     exec.dynamic_slice
//       CHECK:     exec.collective_start
//       CHECK:     exec.dot_general
//       CHECK:     exec.collective_done
func.func @prefetch(%w: tensor<64x64x256xf32>, %x: tensor<2048x256xf32>, %first: tensor<256x256xf32>, %i: tensor<i32>) -> tensor<2048x256xf32> {
  %r:3 = stablehlo.while(%k = %i, %y = %x, %now = %first) : tensor<i32>, tensor<2048x256xf32>, tensor<256x256xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %p = exec.custom_call "more"(%k) {api_version = 4 : i32, config = {}} : (tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %z = exec.dot_general(%y, %now) {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>} : (tensor<2048x256xf32>, tensor<256x256xf32>) -> tensor<2048x256xf32>
    %n = exec.custom_call "next"(%k) {api_version = 4 : i32, config = {}} : (tensor<i32>) -> tensor<i32>
    %a = exec.dynamic_slice(%w, %n, %i, %i) {slice_sizes = array<i64: 1, 64, 256>} : (tensor<64x64x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x256xf32>
    %b = stablehlo.reshape %a : (tensor<1x64x256xf32>) -> tensor<64x256xf32>
    %s = exec.collective_start <kind = all_gather>(%b) {groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, id = 0 : i64} : (tensor<64x256xf32>) -> tensor<256x256xf32>
    %g = exec.collective_done(%s) {id = 0 : i64} : (tensor<256x256xf32>) -> tensor<256x256xf32>
    stablehlo.return %n, %z, %g : tensor<i32>, tensor<2048x256xf32>, tensor<256x256xf32>
  }
  return %r#1 : tensor<2048x256xf32>
}
