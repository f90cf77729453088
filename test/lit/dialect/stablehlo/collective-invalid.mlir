// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of a collective.

// all_gather_c1
func.func @all_gather_c1(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op all_gather_dim must be a dimension of operand 0, in [0, 2), got 2}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_c1
func.func @all_gather_c1_2(%a: tensor<2x2xf32>, %b: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op all_gather_dim must be a dimension of operand 1, in [0, 1), got 1}}
  %0:2 = "stablehlo.all_gather"(%a, %b) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
  return
}

// -----

// all_gather_c2
func.func @all_gather_c2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op ids in replica_groups must be unique, got 0 twice}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 0]]> : tensor<2x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

/// A splat that could not be walked.
// all_gather_c2
func.func @all_gather_c2_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op replica_groups must have unique ids, got 0 in all entries}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1000000x1000000xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_c4
func.func @all_gather_c4(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op replica_groups of 2 processes must have ids in [0, 2), got 2}}
  // expected-note@below {{each process must be in exactly one group}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_c4
func.func @all_gather_c4_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op ids in replica_groups must not be negative, got -1}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_c4
func.func @all_gather_c4_3(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op replica_groups of 2 processes must have ids in [0, 2), got 9223372036854775807}}
  // expected-note@below {{each process must be in exactly one group}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 9223372036854775807]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_i3
func.func @all_gather_i3(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op replica_groups must have rank 2, one row for each group, got 'tensor<2xi64>'}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_c5
func.func @all_gather_c5(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op with use_global_device_ids must have a channel id of at least 1, got 0}}
  // expected-note@below {{set channel_handle, or drop use_global_device_ids}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, use_global_device_ids, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_c5
func.func @all_gather_c5_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op with use_global_device_ids must have a channel id of at least 1, got 0}}
  // expected-note@below {{set channel_handle, or drop use_global_device_ids}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, use_global_device_ids, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_c6
func.func @all_gather_c6(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op result 0 must have element type 'f32' and shape [2, ?], got 'tensor<3x4xf32>'}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<3x4xf32>
  return
}

// -----

// all_gather_c6
func.func @all_gather_c6_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op result 0 must have element type 'f32' and shape [2, ?], got 'tensor<2x4xf64>'}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf64>
  return
}

// -----

// all_gather_c6
func.func @all_gather_c6_3(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op size of result 0 along all_gather_dim (dimension 1) must be a multiple of its operand's, got 5 and 2}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x5xf32>
  return
}

// -----

// all_gather_c6
func.func @all_gather_c6_4(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op must have one result for each operand, got 2 for 1}}
  %0:2 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

// all_gather_i3
func.func @all_gather_i3_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op replica_groups must refer to axes of their mesh, got "y"}}
  // expected-note@below {{the mesh is #stablehlo.mesh<}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>, axes = [#stablehlo.axis_ref<name = "y">]>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_gather_i3
func.func @all_gather_i3_3(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.all_gather' op replica_groups must refer to a mesh of this module, got @mesh}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// all_reduce_c1
func.func @all_reduce_c1(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op ids in replica_groups must be unique, got 1 twice}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [1, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

/// Here -1 is padding.
// all_reduce_c3
func.func @all_reduce_c3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op replica_groups of 3 processes must have ids in [0, 3), got 3}}
  // expected-note@below {{each process must be in exactly one group}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [3, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// all_reduce_c3
func.func @all_reduce_c3_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op ids in replica_groups must not be negative, got -2}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// all_reduce_c4
func.func @all_reduce_c4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op with use_global_device_ids must have a channel id of at least 1, got 0}}
  // expected-note@below {{set channel_handle, or drop use_global_device_ids}}
  %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, use_global_device_ids, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// all_reduce_c5
func.func @all_reduce_c5(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op computation must take 2 scalars and return 1, got 1 and 1}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// all_reduce_c5
func.func @all_reduce_c5_2(%a: tensor<4xf32>, %b: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.all_reduce' op computation must use a type to which operand 1 can be promoted, got operand type 'i32' and computation type 'f32'}}
  %0:2 = "stablehlo.all_reduce"(%a, %b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// all_reduce_c5
func.func @all_reduce_c5_3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op computation must use a type to which input 0 can be promoted, got input type 'f32' and computation type 'f16'}}
  // expected-note@below {{a promotion must keep the kind of number and must not make it narrower}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f16>, %x1: tensor<f16>):
    stablehlo.return %x0 : tensor<f16>
  }) : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

// all_reduce_c6
func.func @all_reduce_c6(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op result 0 must have the shape of its operand, [4], got 'tensor<5xf32>'}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// all_reduce_c6
func.func @all_reduce_c6_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op must have one result for each operand, got 2 for 1}}
  %0:2 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// all_reduce_c7
func.func @all_reduce_c7(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.all_reduce' op result 0 must have the element type of its computation, 'f64', got 'f32'}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    stablehlo.return %x0 : tensor<f64>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// all_reduce_i1
func.func @all_reduce_i1() {
  // expected-error@below {{'stablehlo.all_reduce' op must have at least one operand, got none}}
  "stablehlo.all_reduce"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : () -> ()
  return
}

// -----

// all_to_all_c1
func.func @all_to_all_c1(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op split_dimension must be a dimension of operand 0, in [0, 2), got 2}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c2
func.func @all_to_all_c2(%a: tensor<2x5xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op size of operand 0 along split_dimension must be divisible by split_count, got 5 and 2}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x5xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c3
func.func @all_to_all_c3(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op concat_dimension must be a dimension of operand 0, in [0, 2), got -1}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = -1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c4
func.func @all_to_all_c4(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op split_count must be at least 1, got 0}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c5
func.func @all_to_all_c5(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op ids in replica_groups must be unique, got 0 twice}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c7
func.func @all_to_all_c7(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op replica_groups of 2 processes must have ids in [0, 2), got 3}}
  // expected-note@below {{each process must be in exactly one group}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 3]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c8
func.func @all_to_all_c8(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op each replica group must have split_count processes, 2, got 1}}
  // expected-note@below {{each process sends one piece to each process of its group}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c8
func.func @all_to_all_c8_2(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op each replica group must have split_count processes, 2, got 0}}
  // expected-note@below {{each process sends one piece to each process of its group}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<> : tensor<0x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c9
func.func @all_to_all_c9(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op result 0 must have element type 'f32' and shape [4, 2], got 'tensor<2x4xf32>'}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

/// Split and joined along one dimension, the shape stays.
// all_to_all_c9
func.func @all_to_all_c9_2(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op result 0 must have element type 'f32' and shape [2, 4], got 'tensor<4x2xf32>'}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_to_all_c9
func.func @all_to_all_c9_3(%a: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op must have one result for each operand, got 2 for 1}}
  %0:2 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return
}

// -----

// all_to_all_c9
func.func @all_to_all_c9_4(%a: tensor<9223372036854775807x0xf32>) {
  // expected-error@below {{'stablehlo.all_to_all' op result sizes must fit in 63 bits, but dimension 0 computed from 'tensor<9223372036854775807x0xf32>' does not}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<9223372036854775807x0xf32>) -> tensor<4x2xf32>
  return
}

// -----

// reduce_scatter_c1
func.func @reduce_scatter_c1(%a: tensor<5xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op size along scatter_dimension must be divisible by the size of the groups, got 5 and 2}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<5xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_scatter_c2
func.func @reduce_scatter_c2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op scatter_dimension must be a dimension of operand 0, in [0, 1), got 1}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_scatter_c3
func.func @reduce_scatter_c3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op ids in replica_groups must be unique, got 0 twice}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_scatter_c5
func.func @reduce_scatter_c5(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op replica_groups of 2 processes must have ids in [0, 2), got 2}}
  // expected-note@below {{each process must be in exactly one group}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_scatter_c6
func.func @reduce_scatter_c6(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op with use_global_device_ids must have a channel id of at least 1, got 0}}
  // expected-note@below {{set channel_handle, or drop use_global_device_ids}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, use_global_device_ids, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_scatter_c7
func.func @reduce_scatter_c7(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op computation must take 2 scalars and return 1, got 1 and 1}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_scatter_c8
func.func @reduce_scatter_c8(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op result must have the operand's shape with scatter_dimension divided by the group size, [2], got 'tensor<4xf32>'}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// reduce_scatter_c9
func.func @reduce_scatter_c9(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_scatter' op result 0 must have the element type of its computation, 'f32', got 'f64'}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf64>
  return
}

// -----

// collective_broadcast_c1
func.func @collective_broadcast_c1(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_broadcast' op ids in replica_groups must be unique, got 2 twice}}
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[2, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_broadcast_c2
func.func @collective_broadcast_c2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_broadcast' op ids in replica_groups must not be negative, got -3}}
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, -3]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_broadcast_c3
func.func @collective_broadcast_c3() {
  // expected-error@below {{'stablehlo.collective_broadcast' op must have at least one operand, got none}}
  "stablehlo.collective_broadcast"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : () -> ()
  return
}

// -----

// collective_broadcast_c3
func.func @collective_broadcast_c3_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_broadcast' op result 0 must have the type of its operand, 'tensor<4xf32>', got 'tensor<4xf64>'}}
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// collective_broadcast_c4
func.func @collective_broadcast_c4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_broadcast' op with has_dynamic_root must have at least two operands, got 1}}
  %0 = "stablehlo.collective_broadcast"(%a) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_broadcast_c4
func.func @collective_broadcast_c4_2(%a: tensor<4xf32>, %b: tensor<2xi32>) {
  // expected-error@below {{'stablehlo.collective_broadcast' op with has_dynamic_root must have a last operand of type 'tensor<1xi32>', got 'tensor<2xi32>'}}
  // expected-note@below {{the last operand specifies the root process of each other operand}}
  %0 = "stablehlo.collective_broadcast"(%a, %b) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

// collective_broadcast_c4
func.func @collective_broadcast_c4_3(%a: tensor<4xf32>, %b: tensor<1xi32>) {
  // expected-error@below {{'stablehlo.collective_broadcast' op result 0 must have the type of its operand, 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = "stablehlo.collective_broadcast"(%a, %b) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<5xf32>
  return
}

// -----

// collective_broadcast_c5
func.func @collective_broadcast_c5(%a: tensor<4xf32>, %b: tensor<1xi32>) {
  // expected-error@below {{'stablehlo.collective_broadcast' op must have one result for each operand that is sent, got 2 for 1}}
  %0:2 = "stablehlo.collective_broadcast"(%a, %b) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<1xi32>) -> (tensor<4xf32>, tensor<1xi32>)
  return
}

// -----

// collective_reduce_c1
func.func @collective_reduce_c1(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op ids in replica_groups must be unique, got 5 twice}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[5, 1], [0, 5]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_reduce_c2
func.func @collective_reduce_c2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op ids in replica_groups must not be negative, got -3}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, -3]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_reduce_c3
func.func @collective_reduce_c3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op result 0 must have the shape of its operand, [4], got 'tensor<5xf32>'}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// collective_reduce_c3
func.func @collective_reduce_c3_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op with has_dynamic_root must have at least two operands, got 1}}
  %0 = "stablehlo.collective_reduce"(%a) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_reduce_c3
func.func @collective_reduce_c3_3(%a: tensor<4xf32>, %b: tensor<i32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op with has_dynamic_root must have a last operand of type 'tensor<1xi32>', got 'tensor<i32>'}}
  // expected-note@below {{the last operand specifies the root process of each other operand}}
  %0 = "stablehlo.collective_reduce"(%a, %b) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// collective_reduce_c4
func.func @collective_reduce_c4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op computation must take 2 scalars and return 1, got 1 and 1}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_reduce_c4
func.func @collective_reduce_c4_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op result 0 must have the element type of its computation, 'f64', got 'f32'}}
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    stablehlo.return %x0 : tensor<f64>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_channel(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_reduce' op with use_global_device_ids must have a channel id of at least 1, got 0}}
  // expected-note@below {{set channel_handle, or drop use_global_device_ids}}
  %0 = "stablehlo.collective_reduce"(%a) <{use_global_device_ids, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_permute_c1
func.func @collective_permute_c1(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_permute' op source_target_pairs must have shape [n, 2], got [2, 3]}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1, 2], [1, 0, 2]]> : tensor<2x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_permute_c1
func.func @collective_permute_c1_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_permute' op source_target_pairs must have shape [n, 2], got [2]}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[0, 1]> : tensor<2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_permute_c2
func.func @collective_permute_c2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_permute' op sources in source_target_pairs must be unique, got 0 twice}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

/// A splat that could not be walked.
// collective_permute_c2
func.func @collective_permute_c2_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_permute' op sources in source_target_pairs must be unique, got 0 in all entries}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1000000000x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_permute_c3
func.func @collective_permute_c3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_permute' op targets in source_target_pairs must be unique, got 1 twice}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_permute_c4
func.func @collective_permute_c4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_permute' op ids in source_target_pairs must not be negative, got -1}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// collective_permute_c5
func.func @collective_permute_c5(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.collective_permute' op result must have the type of the operand, 'tensor<4xf32>', got 'tensor<4xf16>'}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @cross_replica_sum_type(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.cross-replica-sum' op result must have the type of the operand, 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = "stablehlo.cross-replica-sum"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @cross_replica_sum_groups(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.cross-replica-sum' op replica_groups of 2 processes must have ids in [0, 2), got 2}}
  // expected-note@below {{each process must be in exactly one group}}
  %0 = "stablehlo.cross-replica-sum"(%a) <{replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
