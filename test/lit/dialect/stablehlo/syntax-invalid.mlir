// RUN: tilewright-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @short_type(%x: tensor<4xf32>) {
  // expected-error@below {{expected 2 operand types and one result type, got 1 and 1}}
  %0 = stablehlo.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>
}

// -----

func.func @complex_type(%x: tensor<4xf32>) {
  // expected-error@below {{expected a tensor of complex numbers, got 'tensor<4xf32>'}}
  %0 = stablehlo.complex %x, %x : tensor<4xf32>
}

// -----

func.func @tuple_type(%x: tensor<4xf32>) {
  // expected-error@below {{expected a tuple type, got 'tensor<4xf32>'}}
  %0 = stablehlo.tuple %x : tensor<4xf32>
}

// -----

func.func @float_format(%x: tensor<4xf32>) {
  // expected-error@below {{expected a float format such as e5m10, got e5}}
  %0 = stablehlo.reduce_precision %x, format = e5 : tensor<4xf32>
}

// -----

func.func @short_reduce(%x: tensor<4xf32>, %zero: tensor<f32>) {
  // expected-error@below {{the short form of reduce supports only add, multiply, maximum, minimum, and, or, xor; got stablehlo.divide}}
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.divide across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
}

// -----

// expected-error@below {{expected 'b', 'f' or a spatial dimension, got 'o'}}
"test.op"() {a = #stablehlo.conv<[b, 0, o]x[0, i, o]->[b, 0, f]>} : () -> ()

// -----

// expected-error@below {{'b' occurs twice}}
"test.op"() {a = #stablehlo.conv<[b, 0, b]x[0, i, o]->[b, 0, f]>} : () -> ()

// -----

// expected-error@below {{expected both 'i' and 'o'}}
"test.op"() {a = #stablehlo.conv<[b, 0, f]x[0, i]->[b, 0, f]>} : () -> ()

// -----

// expected-error@below {{spatial dimensions must be 0 to 1, each once; got 2}}
"test.op"() {a = #stablehlo.conv<[b, 0, 1, f]x[0, 2, i, o]->[b, 0, f]>} : () -> ()

// -----

// expected-error@below {{expected a convolution dimension, got 'depth'}}
"test.op"() {a = #stablehlo.conv<raw depth = 1>} : () -> ()

// -----

func.func @window(%image: tensor<1x8x8x4xf32>, %kernel: tensor<3x3x4x8xf32>) {
  // expected-error@below {{expected low and high padding, got 1 numbers}}
  %0 = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1]]} : () -> ()
}

// -----

func.func @window(%image: tensor<1x8x8x4xf32>, %kernel: tensor<3x3x4x8xf32>) {
  // expected-error@below {{expected stride, pad, lhs_dilate, rhs_dilate or reverse, got size}}
  %0 = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {size = [1]} : () -> ()
}

// -----

// expected-error@below {{expected atol, rtol, ulps or mode, got 'bits'}}
"test.op"() {a = #stablehlo.result_accuracy<bits = 2>} : () -> ()

// -----

// expected-error@below {{expected a mode in result_accuracy}}
"test.op"() {a = #stablehlo.result_accuracy<ulps = 2>} : () -> ()

// -----

// expected-error@below {{tolerances require mode TOLERANCE, got atol = 0.000000e+00, rtol = 0.000000e+00, ulps = 2 with mode HIGHEST}}
"test.op"() {a = #stablehlo.result_accuracy<ulps = 2, mode = <HIGHEST>>} : () -> ()

// -----

// expected-error@below {{mesh must be a #stablehlo.mesh or a symbol that refers to one, got 1 : i64}}
"test.op"() {a = #stablehlo.replica_group_mesh_axes<mesh = 1, axes = []>} : () -> ()

// -----

// expected-error@below {{axes must be #stablehlo.axis_ref, got "x"}}
"test.op"() {a = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = ["x"]>} : () -> ()

// -----

// expected-error@below {{a tensor type must have one bound for each dimension, got 1 bounds for 2 dimensions}}
func.func private @bounds(tensor<?x4xf32, #stablehlo.bounds<8>>)

// -----

// expected-error@below {{dimension 1 is static and must have no bound, got size 4 and bound 8}}
func.func private @bounds(tensor<?x4xf32, #stablehlo.bounds<8, 8>>)

// -----

// expected-error@below {{the bound of dimension 0 must not be negative, got -1}}
func.func private @bounds(tensor<?x4xf32, #stablehlo.bounds<-1, ?>>)

// -----

// expected-error@below {{a future must hold ranked tensors, got 'f32'}}
func.func private @future(!stablehlo.future<f32>)

// -----

// expected-error@below {{unknown attribute stablehlo.nothing}}
"test.op"() {a = #stablehlo.nothing<1>} : () -> ()

// -----

// expected-error@below {{types of a dot algorithm must be integer, float or complex, got 'index'}}
"test.op"() {a = #stablehlo.dot_algorithm<lhs_precision_type = index, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : () -> ()

// -----

// expected-error@below {{component and operation counts of a dot algorithm must be positive, got 1, 0 and 1}}
"test.op"() {a = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 0, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : () -> ()

// -----

func.func @symbols(%x: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op replica_groups must refer to a mesh of this module, got @missing}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = []>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
