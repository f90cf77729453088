// RUN: tilewright-opt %s --allow-unregistered-dialect | FileCheck %s
// RUN: tilewright-opt %s --allow-unregistered-dialect | tilewright-opt --allow-unregistered-dialect | FileCheck %s

/// One type stands for all where all are equal; else the signature is written out.

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<4xf32>, %d: tensor<?xf32>, %c: tensor<4xcomplex<f32>>, %p: tensor<4xi1>) {
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %x, %d : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.tanh %{{.*}} {note = 1 : i64} : tensor<4xf32>
  %2 = stablehlo.tanh %x {note = 1} : tensor<4xf32>
  // CHECK: stablehlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xi8>
  %3 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi8>
  // CHECK: stablehlo.compare{{ +}}LT, %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %4 = stablehlo.compare LT, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: stablehlo.compare{{ +}}EQ, %{{.*}}, %{{.*}},{{ +}}TOTALORDER :
  %5 = stablehlo.compare EQ, %x, %x, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: stablehlo.complex %{{.*}}, %{{.*}} : tensor<4xcomplex<f32>>
  %6 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  // CHECK: stablehlo.complex %{{.*}}, %{{.*}} : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %7 = stablehlo.complex %d, %x : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  %8 = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  // CHECK: stablehlo.select {{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %9 = stablehlo.select %p, %x, %d : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
  %10 = stablehlo.clamp %x, %x, %x : tensor<4xf32>
  // CHECK: stablehlo.reduce_precision %{{.*}}, format = e5m10 : tensor<4xf32>
  %11 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  return
}

// CHECK-LABEL: func @constants
func.func @constants() {
  // CHECK: %c = stablehlo.constant dense<-1> : tensor<1xi64>
  %0 = stablehlo.constant dense<-1> : tensor<1xi64>
  // CHECK: %cst = stablehlo.constant {note = 1 : i64} dense<1.000000e+00> : tensor<f32>
  %1 = stablehlo.constant {note = 1} dense<1.0> : tensor<f32>
  // CHECK: stablehlo.constant() <{value = dense<4> : tensor<1xi8>}> {note = 1 : i64} : () -> tensor<1x!quant
  %2 = stablehlo.constant() <{value = dense<4> : tensor<1xi8>}> {note = 1} : () -> tensor<1x!quant.uniform<i8:f32, 2.0:15>>
  // CHECK: stablehlo.constant() <{value = dense<3> : tensor<1xi8>}> : () -> tensor<1x!quant
  %3 = stablehlo.constant() {value = dense<3> : tensor<1xi8>} : () -> tensor<1x!quant.uniform<i8:f32, 2.0:15>>
  // CHECK: stablehlo.iota dim = 0 : tensor<4xi32>
  %4 = stablehlo.iota dim = 0 : tensor<4xi32>
  return
}

// CHECK-LABEL: func @movement
func.func @movement(%m: tensor<3x8xf32>, %s: tensor<f32>, %i: tensor<i64>) {
  // CHECK: stablehlo.slice %{{.*}} [1:3, 4:8:2] : (tensor<3x8xf32>) -> tensor<2x2xf32>
  %0 = stablehlo.slice %m [1:3:1, 4:8:2] : (tensor<3x8xf32>) -> tensor<2x2xf32>
  // CHECK: stablehlo.slice %{{.*}} [] : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [0, -1], high = [1, 0], interior = [0, 1] :
  %2 = stablehlo.pad %m, %s, low = [0, -1], high = [1, 0], interior = [0, 1] : (tensor<3x8xf32>, tensor<f32>) -> tensor<4x14xf32>
  // CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 1 :
  %3 = stablehlo.concatenate %m, %m, dim = 1 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x16xf32>
  // CHECK: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, sizes = [1, 4] :
  %4 = stablehlo.dynamic_slice %m, %i, %i, sizes = [1, 4] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
  return
}

// CHECK-LABEL: func @products
func.func @products(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %m: tensor<3x3xf32>, %image: tensor<1x8x8x4xf32>, %kernel: tensor<3x3x4x8xf32>) {
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1] :
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, {{.*}}> {note = 1 : i64} :
  %1 = stablehlo.dot_general %m, %m, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT],
    algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1,
      rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> {note = 1}
    : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  // CHECK: stablehlo.dot %{{.*}}, %{{.*}}, precision = [HIGHEST, HIGHEST] :
  %2 = stablehlo.dot %m, %m, precision = [HIGHEST, HIGHEST] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
  // CHECK-SAME{LITERAL}: window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]}
  %3 = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [0, true]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x8x8xf32>
  // CHECK: stablehlo.cholesky %{{.*}} : tensor<3x3xf32>
  %4 = stablehlo.cholesky %m : tensor<3x3xf32>
  return
}

/// The short form names the op that is the whole body.

// CHECK-LABEL: func @reduce_short
func.func @reduce_short(%x: tensor<2x?xf32>, %zero: tensor<f32>) -> tensor<2xf32> {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] {note = 1 : i64} : (tensor<2x?xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK-NEXT: return
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] {note = 1} : (tensor<2x?xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

/// Any other body is printed: the order of operands, the op, a second use.

// CHECK-LABEL: func @reduce_swapped
func.func @reduce_swapped(%x: tensor<4xf32>, %zero: tensor<f32>) -> tensor<f32> {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) {
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[B]], %[[A]] : tensor<f32>
  // CHECK-NEXT: stablehlo.return %[[SUM]] : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %1 = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

/// Parameters come in pairs, one pair per input.

// CHECK-LABEL: func @reduce_two
func.func @reduce_two(%x: tensor<4xf32>, %y: tensor<4xi32>, %zero: tensor<f32>, %one: tensor<i32>) {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [0]
  // CHECK-NEXT: reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) (%[[C:.*]]: tensor<i32>, %[[D:.*]]: tensor<i32>) {
  // CHECK-NEXT: stablehlo.add %[[A]], %[[B]] : tensor<f32>
  // CHECK-NEXT: stablehlo.add %[[C]], %[[D]] : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %zero), (%y init: %one) across dimensions = [0]
      : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %1 = stablehlo.add %a, %b : tensor<f32>
    %2 = stablehlo.add %c, %d : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }
  return
}

/// Both regions of a loop use the names of its head, also when loops nest.

// CHECK-LABEL: func @loops
func.func @loops(%start: tensor<i32>, %p: tensor<i1>) {
  // CHECK: stablehlo.while(%iterArg = %{{.*}}, %iterArg_0 = %{{.*}}) : tensor<i32>, tensor<i1> attributes {note = 1 : i64}
  // CHECK-NEXT: cond {
  // CHECK-NEXT: stablehlo.return %iterArg_0 : tensor<i1>
  %0:2 = stablehlo.while(%i = %start, %q = %p) : tensor<i32>, tensor<i1> attributes {note = 1}
   cond {
    stablehlo.return %q : tensor<i1>
  } do {
    // CHECK: %[[INNER:.*]] = stablehlo.while(%[[J:.*]] = %iterArg) : tensor<i32>
    %1 = stablehlo.while(%j = %i) : tensor<i32>
     cond {
      stablehlo.return %q : tensor<i1>
    } do {
      // CHECK: stablehlo.add %[[J]], %[[J]] : tensor<i32>
      %2 = stablehlo.add %j, %j : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }
    // CHECK: stablehlo.return %[[INNER]], %iterArg_0
    stablehlo.return %1, %q : tensor<i32>, tensor<i1>
  }
  // CHECK: stablehlo.while()
  // CHECK-NEXT: cond {
  stablehlo.while() cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return
  }
  return
}

func.func private @callee(tensor<4xf32>) -> tensor<4xf32>

// CHECK-LABEL: func @calls
func.func @calls(%x: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: stablehlo.composite "a.b" %{{.*}} {composite_attributes = {k = 1 : i64}, decomposition = @callee, version = 1 : i32} :
  %0 = stablehlo.composite "a.b" %x {composite_attributes = {k = 1}, decomposition = @callee, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.custom_call @"odd name"(%{{.*}}) {has_side_effect = true} :
  %1 = stablehlo.custom_call @"odd name"(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<4xf32>, !stablehlo.token
  %2:2 = stablehlo.optimization_barrier %x, %t : tensor<4xf32>, !stablehlo.token
  // CHECK: stablehlo.optimization_barrier()
  stablehlo.optimization_barrier()
  // CHECK: stablehlo.after_all : !stablehlo.token
  %3 = stablehlo.after_all : !stablehlo.token
  // CHECK: stablehlo.tuple %{{.*}}, %{{.*}} : tuple<tensor<4xf32>, !stablehlo.token>
  %4 = stablehlo.tuple %x, %t : tuple<tensor<4xf32>, !stablehlo.token>
  // CHECK: stablehlo.get_tuple_element %{{.*}}[0] : (tuple<tensor<4xf32>, !stablehlo.token>) -> tensor<4xf32>
  %5 = stablehlo.get_tuple_element %4[0] : (tuple<tensor<4xf32>, !stablehlo.token>) -> tensor<4xf32>
  return
}

/// Dimension numbers that are no permutation have a form, too: a diagnostic may
/// have to show them.

// CHECK-LABEL: func @raw_dimensions
// CHECK-SAME: #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 0, input_spatial_dimensions = [5, -1], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 1, kernel_spatial_dimensions = [], output_batch_dimension = 0, output_feature_dimension = 2, output_spatial_dimensions = [1]>
func.func @raw_dimensions() attributes {test.a = #stablehlo.conv<raw input_spatial_dimensions = [5, -1], kernel_output_feature_dimension = 1, output_spatial_dimensions = [1], output_feature_dimension = 2>} {
  return
}
