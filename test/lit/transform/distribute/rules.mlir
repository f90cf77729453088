// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// Elementwise ops, and what is whole and only used in pieces: it is made in pieces. A constant
/// and an iota become smaller; an iota along what is divided begins where the piece does.

// CHECK-LABEL: module @elementwise
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x6xf32> {{.*}}, %[[W:.*]]: tensor<6xf32>
//   CHECK-NOT:   all_gather
//       CHECK:   %[[B:.*]] = stablehlo.broadcast_in_dim %[[W]], dims = [1] : (tensor<6xf32>) -> tensor<2x6xf32>
//       CHECK:   stablehlo.add %[[X]], %[[B]] : tensor<2x6xf32>
//       CHECK:   stablehlo.constant dense<2.000000e+00> : tensor<2x6xf32>
//       CHECK:   %[[ID:.*]] = stablehlo.partition_id
//       CHECK:   %[[I:.*]] = stablehlo.iota dim = 0 : tensor<2x6xi32>
//       CHECK:   %[[P:.*]] = stablehlo.add %[[I]], %{{.*}} : tensor<2x6xi32>
//       CHECK:   stablehlo.convert %[[P]] : (tensor<2x6xi32>) -> tensor<2x6xf32>
//       CHECK:   stablehlo.iota dim = 1 : tensor<2x6xf32>
//       CHECK:   stablehlo.select {{.*}} : tensor<2x6xi1>, tensor<2x6xf32>
//       CHECK:   stablehlo.clamp {{.*}} : (tensor<f32>, tensor<2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
//       CHECK:   stablehlo.convert {{.*}} : (tensor<2x6xf32>) -> tensor<2x6xbf16>
module @elementwise attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %w: tensor<6xf32>) -> tensor<8x6xbf16> {
    %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
    %0 = stablehlo.add %x, %b : tensor<8x6xf32>
    %c = stablehlo.constant dense<2.0> : tensor<8x6xf32>
    %1 = stablehlo.multiply %0, %c : tensor<8x6xf32>
    %i = stablehlo.iota dim = 0 : tensor<8x6xf32>
    %2 = stablehlo.compare LT, %1, %i : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xi1>
    %j = stablehlo.iota dim = 1 : tensor<8x6xf32>
    %3 = stablehlo.select %2, %1, %j : tensor<8x6xi1>, tensor<8x6xf32>
    %low = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = stablehlo.clamp %low, %3, %low : (tensor<f32>, tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
    %5 = stablehlo.convert %4 : (tensor<8x6xf32>) -> tensor<8x6xbf16>
    return %5 : tensor<8x6xbf16>
  }
}

// -----

/// Movements along other dimensions leave pieces pieces; a reshape keeps the first dimension of
/// each group.

// CHECK-LABEL: module @movement
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.transpose {{.*}} -> tensor<6x2xf32>
//       CHECK:   stablehlo.slice {{.*}} [1:4, 0:2] : (tensor<6x2xf32>) -> tensor<3x2xf32>
//       CHECK:   stablehlo.pad {{.*}} -> tensor<5x2xf32>
//       CHECK:   stablehlo.concatenate {{.*}} -> tensor<8x2xf32>
//       CHECK:   stablehlo.reverse {{.*}}, dims = [0] : tensor<8x2xf32>
//       CHECK:   stablehlo.reshape {{.*}} -> tensor<2x4x2xf32>
//       CHECK:   stablehlo.transpose {{.*}} -> tensor<2x2x4xf32>
//       CHECK:   stablehlo.reshape {{.*}} : (tensor<2x2x4xf32>) -> tensor<16xf32>
//       CHECK:   stablehlo.reshape {{.*}} : (tensor<16xf32>) -> tensor<2x1x8xf32>
module @movement attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<8x1x8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %1 = stablehlo.slice %0 [1:4, 0:8] : (tensor<6x8xf32>) -> tensor<3x8xf32>
    %2 = stablehlo.pad %1, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<3x8xf32>, tensor<f32>) -> tensor<5x8xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<3x8xf32>, tensor<5x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.reverse %3, dims = [0] : tensor<8x8xf32>
    %5 = stablehlo.reshape %4 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %6 = stablehlo.transpose %5, dims = [2, 0, 1] : (tensor<2x4x8xf32>) -> tensor<8x2x4xf32>
    %7 = stablehlo.reshape %6 : (tensor<8x2x4xf32>) -> tensor<64xf32>
    %8 = stablehlo.reshape %7 : (tensor<64xf32>) -> tensor<8x1x8xf32>
    return %8 : tensor<8x1x8xf32>
  }
}

// -----

/// Free and batch dimensions give pieces, contracted ones parts of a sum; if one side alone is
/// divided, the other is cut.

// CHECK-LABEL: module @products
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x6xf32> {{.*}}, %[[W:.*]]: tensor<6x3xf32>, %[[E:.*]]: tensor<2x5x6xf32>{{.*}}, %[[O:.*]]: tensor<8xf32>)
//       CHECK:   %[[Y:.*]] = stablehlo.dot_general %[[X]], %[[W]], {{.*}} -> tensor<2x3xf32>
//       CHECK:   %[[G:.*]] = stablehlo.dot_general %[[X]], %[[Y]], contracting_dims = [0] x [0] {{.*}} -> tensor<6x3xf32>
//  CHECK-NEXT:   %[[GS:.*]] = "stablehlo.all_reduce"(%[[G]])
//       CHECK:   stablehlo.dot_general %[[E]], %[[X]], batching_dims = [0] x [0], contracting_dims = [2] x [1] : {{.*}} -> tensor<2x5xf32>
//       CHECK:   %[[P:.*]] = stablehlo.dot_general %{{.*}}, %[[X]], contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2x6xf32>) -> tensor<6xf32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[P]])
//   CHECK-NOT:   all_gather
module @products attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %w: tensor<6x3xf32>,
                         %e: tensor<8x5x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}, {}]>}, %o: tensor<8xf32>)
      -> (tensor<6x3xf32>, tensor<8x5xf32>, tensor<6xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x3xf32>) -> tensor<6x3xf32>
    %2 = stablehlo.dot_general %e, %x, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x5x6xf32>, tensor<8x6xf32>) -> tensor<8x5xf32>
    %3 = stablehlo.dot_general %o, %x, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8x6xf32>) -> tensor<6xf32>
    return %1, %2, %3 : tensor<6x3xf32>, tensor<8x5xf32>, tensor<6xf32>
  }
}

// -----

/// A convolution in pieces of its batch; the gradient of its kernel sums over the batch.

// CHECK-LABEL: module @convolutions
//       CHECK:   stablehlo.convolution({{.*}}) {{.*}} : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x6x6x4xf32>
//       CHECK:   %[[G:.*]] = stablehlo.convolution({{.*}}) {{.*}} : (tensor<2x8x8x3xf32>, tensor<2x6x6x4xf32>) -> tensor<3x3x3x4xf32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[G]])
module @convolutions attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x8x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}, {}, {}]>}, %w: tensor<3x3x3x4xf32>) -> tensor<3x3x3x4xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<8x6x6x4xf32>
    %1 = stablehlo.convolution(%x, %0) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x8x8x3xf32>, tensor<8x6x6x4xf32>) -> tensor<3x3x3x4xf32>
    return %1 : tensor<3x3x3x4xf32>
  }
}

// -----

/// Over other dimensions a reduction gives shards, over the sharded one a partial result that all
/// devices combine. Only the first device adds an initial value that is not neutral.

// CHECK-LABEL: module @reductions
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x6xf32>
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.add across dimensions = [1] {{.*}} -> tensor<2xf32>
//       CHECK:   %[[S:.*]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] {{.*}} -> tensor<6xf32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[S]])
//       CHECK:     stablehlo.add
//       CHECK:   %[[M:.*]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.maximum across dimensions = [0, 1] {{.*}} -> tensor<f32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[M]])
//       CHECK:     stablehlo.maximum
//       CHECK:   %[[NEUTRAL:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
//       CHECK:   %[[INIT:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %[[NEUTRAL]] : tensor<i1>, tensor<f32>
//       CHECK:   %[[T:.*]] = stablehlo.reduce(%[[X]] init: %[[INIT]]) applies stablehlo.add across dimensions = [0] : (tensor<2x6xf32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[T]])
//       CHECK:   stablehlo.reduce({{.*}}) across dimensions = [1] : (tensor<2x6xf32>, tensor<2x6xi32>, {{.*}} -> (tensor<2xf32>, tensor<2xi32>)
module @reductions attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>})
      -> (tensor<8xf32>, tensor<6xf32>, tensor<f32>, tensor<6xf32>, tensor<8xf32>, tensor<8xi32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
    %2 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.reduce(%x init: %one) applies stablehlo.add across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
    %i = stablehlo.iota dim = 1 : tensor<8x6xi32>
    %n = stablehlo.constant dense<0> : tensor<i32>
    %4:2 = stablehlo.reduce(%x init: %low), (%i init: %n) across dimensions = [1] : (tensor<8x6xf32>, tensor<8x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
      reducer(%a: tensor<f32>, %b: tensor<f32>) (%ai: tensor<i32>, %bi: tensor<i32>) {
        %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %v = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f32>
        %k = stablehlo.select %c, %ai, %bi : tensor<i1>, tensor<i32>
        stablehlo.return %v, %k : tensor<f32>, tensor<i32>
      }
    return %0, %1, %2, %3, %4#0, %4#1 : tensor<8xf32>, tensor<6xf32>, tensor<f32>, tensor<6xf32>, tensor<8xf32>, tensor<8xi32>
  }
}

// -----

/// Rows by index: the indices are divided, the table is whole. Its gradient is a sum over all.

// CHECK-LABEL: module @embedding
//       CHECK:   func.func public @main(%[[I:.*]]: tensor<256x1xi32> {{.*}}, %[[T:.*]]: tensor<10x6xf32>)
//       CHECK:   %[[R:.*]] = "stablehlo.gather"(%[[T]], %[[I]]) {{.*}} -> tensor<256x6xf32>
//       CHECK:   %[[S:.*]] = "stablehlo.scatter"(%{{.*}}, %[[I]], %[[R]])
//       CHECK:   (tensor<10x6xf32>, tensor<256x1xi32>, tensor<256x6xf32>) -> tensor<10x6xf32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[S]])
//   CHECK-NOT:   all_gather
module @embedding attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%i: tensor<1024x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %t: tensor<10x6xf32>)
      -> (tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<1024x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) {
    %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<10x6xf32>, tensor<1024x1xi32>) -> tensor<1024x6xf32>
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %z = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<10x6xf32>
    %1 = "stablehlo.scatter"(%z, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<10x6xf32>, tensor<1024x1xi32>, tensor<1024x6xf32>) -> tensor<10x6xf32>
    return %1, %0 : tensor<10x6xf32>, tensor<1024x6xf32>
  }
}

// -----

/// Batches of gather and scatter are pieces on both sides; a window of full size is cut too.

// CHECK-LABEL: module @batched_indexing
//       CHECK:   "stablehlo.gather"({{.*}}) {{.*}}slice_sizes = array<i64: 1, 1>{{.*}} : (tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<2xf32>
//       CHECK:   (tensor<2x6xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<2x6xf32>
//       CHECK:   "stablehlo.gather"({{.*}}) {{.*}}slice_sizes = array<i64: 2, 1>{{.*}} : (tensor<2x6xf32>, tensor<3x1xi32>) -> tensor<2x3xf32>
//   CHECK-NOT:   all_gather
module @batched_indexing attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %j: tensor<3x1xi32>)
      -> (tensor<8x6xf32>, tensor<8x3xf32>) {
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x6xf32>, tensor<8x1xi32>) -> tensor<8xf32>
    %1 = "stablehlo.scatter"(%x, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x6xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<8x6xf32>
    %2 = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 8, 1>}> : (tensor<8x6xf32>, tensor<3x1xi32>) -> tensor<8x3xf32>
    return %1, %2 : tensor<8x6xf32>, tensor<8x3xf32>
  }
}

// -----

/// Two axes of a mesh divide two dimensions of a product, and the result has both.

// CHECK-LABEL: module @two_axes
//       CHECK:   stablehlo.dot_general {{.*}} : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
//       CHECK:   %[[P:.*]] = stablehlo.dot_general {{.*}} : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[P]]) {{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>
//   CHECK-NOT:   all_gather
module @two_axes attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                         %v: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                         %w: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x6xf32> {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    return %1 : tensor<8x6xf32>
  }
}

// -----

/// A composite that is elementwise means the same of a piece.

// CHECK-LABEL: module @composite
//       CHECK:   stablehlo.composite "chlo.erf" %arg0 {decomposition = @[[F:.*]]} : (tensor<2xf32>) -> tensor<2xf32>
//       CHECK:   func.func private @[[F]](%{{.*}}: tensor<2xf32>) -> tensor<2xf32>
//       CHECK:   stablehlo.constant dense<2.000000e+00> : tensor<2xf32>
module @composite attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.composite "chlo.erf" %x {decomposition = @erf} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @erf(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.constant dense<2.0> : tensor<8xf32>
    %1 = stablehlo.multiply %x, %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

/// A barrier passes on values that are divided alike and otherwise, each as it is; what is whole
/// before it and used in pieces behind it is cut before it.

// CHECK-LABEL: module @barrier
//       CHECK:   stablehlo.optimization_barrier {{.*}} : tensor<2x6xf32>, tensor<6x2xf32>, tensor<2xf32>
//   CHECK-NOT:   all_gather
module @barrier attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %w: tensor<8xf32>) -> (tensor<8x6xf32>, tensor<6x8xf32>) {
    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %0:3 = stablehlo.optimization_barrier %x, %t, %w : tensor<8x6xf32>, tensor<6x8xf32>, tensor<8xf32>
    %b = stablehlo.broadcast_in_dim %0#2, dims = [1] : (tensor<8xf32>) -> tensor<6x8xf32>
    %1 = stablehlo.add %0#1, %b : tensor<6x8xf32>
    return %0#0, %1 : tensor<8x6xf32>, tensor<6x8xf32>
  }
}

// -----

/// A program that was exported for one device has its mesh; the program of four that calls it is
/// divided as its own parameters say.

// CHECK-LABEL: module @mesh_of_one_device
//       CHECK:   func.func public @main(%{{.*}}: tensor<2x4xf32> {exec.sharding = {{.*}}}) -> tensor<8x4xf32>
module @mesh_of_one_device attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @one = <["i"=1]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %0 = sdy.sharding_constraint %x <@one, [{"i"}, {}]> : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

/// Every device prints what it holds. Other callbacks get the whole array.

// CHECK-LABEL: module @partitioned_callback
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x4xi32> {{.*}})
//       CHECK:   stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%[[X]], %[[X]]) {{.*}} : (tensor<2x4xi32>, tensor<2x4xi32>) -> ()
//       CHECK:   stablehlo.custom_call @xla_ffi_python_cpu_callback(%{{.*}}) {{.*}} : (tensor<8x4xi32>) -> ()
module @partitioned_callback attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%x, %x) {has_side_effect = true} : (tensor<8x4xi32>, tensor<8x4xi32>) -> ()
    stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {has_side_effect = true} : (tensor<8x4xi32>) -> ()
    return
  }
}

// -----

/// JAX says how many leading dimensions of its linear algebra are a batch: those are divided.

// CHECK-LABEL: module @batched_call
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.custom_call @lapack_sgetrf_ffi({{.*}}) {{.*}} : (tensor<2x6x6xf32>) -> (tensor<2x6x6xf32>, tensor<2x6xi32>, tensor<2xi32>)
//   CHECK-NOT:   all_gather
module @batched_call attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}, {}]>}) -> (tensor<8x6x6xf32>, tensor<8x6xi32>, tensor<8xi32>) {
    %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%x) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<8x6x6xf32>) -> (tensor<8x6x6xf32>, tensor<8x6xi32>, tensor<8xi32>)
    return %0#0, %0#1, %0#2 : tensor<8x6x6xf32>, tensor<8x6xi32>, tensor<8xi32>
  }
}

// -----

/// A matrix that is divided itself is gathered, and a call that does not say so too.

// CHECK-LABEL: module @whole_call
//       CHECK:   all_gather
//       CHECK:   stablehlo.custom_call @lapack_sgetrf_ffi({{.*}}) {{.*}} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
//       CHECK:   stablehlo.custom_call @unknown({{.*}}) : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
module @whole_call attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}, {}]>}) -> (tensor<8x4x4xf32>, tensor<8x4x4xf32>) {
    %0 = stablehlo.custom_call @lapack_sgetrf_ffi(%x) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %1 = stablehlo.custom_call @unknown(%x) : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    return %0, %1 : tensor<8x4x4xf32>, tensor<8x4x4xf32>
  }
}

// -----

/// A reshape shards each factor that both shapes have: an axis that splits several factors of a
/// merged dimension is split into sub-axes, and joined again.

// CHECK-LABEL: module @factors
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<1x1x3xf32>) -> tensor<3xf32>
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<3xf32>) -> tensor<1x1x3xf32>
//       CHECK:   stablehlo.transpose %{{.*}} -> tensor<3x1x1xf32>
module @factors attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func public @main(%x: tensor<4x2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}, {}]>})
      -> (tensor<3x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}, {"a"}]>}) {
    %0 = stablehlo.reshape %x : (tensor<4x2x3xf32>) -> tensor<24xf32>
    %1 = stablehlo.reshape %0 : (tensor<24xf32>) -> tensor<4x2x3xf32>
    %2 = stablehlo.transpose %1, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
    return %2 : tensor<3x4x2xf32>
  }
}

// -----

// CHECK-LABEL: module @sub_axes
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<6xf32>) -> tensor<1x2x3xf32>
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<1x2x3xf32>) -> tensor<6xf32>
module @sub_axes attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  func.func public @main(%x: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>})
      -> (tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
    %0 = stablehlo.reshape %x : (tensor<24xf32>) -> tensor<2x4x3xf32>
    %1 = stablehlo.negate %0 : tensor<2x4x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x4x3xf32>) -> tensor<24xf32>
    return %2 : tensor<24xf32>
  }
}

// -----

/// Positions of a float are integers until they are whole: bf16 has 8 bits for them.

// CHECK-LABEL: module @positions_of_floats
//       CHECK:   %[[I:.*]] = stablehlo.iota dim = 0 : tensor<256xi32>
//       CHECK:   %[[P:.*]] = stablehlo.add %[[I]], %{{.*}} : tensor<256xi32>
//       CHECK:   stablehlo.convert %[[P]] : (tensor<256xi32>) -> tensor<256xbf16>
module @positions_of_floats attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<1024xbf16> {
    %i = stablehlo.iota dim = 0 : tensor<1024xbf16>
    %0 = stablehlo.add %i, %x : tensor<1024xbf16>
    return %0 : tensor<1024xbf16>
  }
}

// -----

/// Positions beyond 2^31 are i64: in an iota, and where a device takes its shard.

// CHECK-LABEL: module @positions_beyond_i32
//       CHECK:   stablehlo.constant dense<[0, 2147483648, 4294967296, 6442450944]> : tensor<4xi64>
//       CHECK:   stablehlo.dynamic_slice {{.*}} -> tensor<2147483648xi8>
//       CHECK:   stablehlo.constant dense<[0, 2147483648, 4294967296, 6442450944]> : tensor<4xi64>
//       CHECK:   stablehlo.iota dim = 0 : tensor<2147483648xi64>
module @positions_beyond_i32 attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8589934592xi8>) -> (tensor<8589934592xi64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %w = stablehlo.convert %x : (tensor<8589934592xi8>) -> tensor<8589934592xi64>
    %i = stablehlo.iota dim = 0 : tensor<8589934592xi64>
    %0 = stablehlo.add %i, %w : tensor<8589934592xi64>
    return %0 : tensor<8589934592xi64>
  }
}

// -----

/// Local forms count positions in i32, so such a dimension is whole where it is indexed.

// CHECK-LABEL: module @negative_index_beyond_i32
//       CHECK:   stablehlo.dynamic_slice %{{.*}}, %arg1, sizes = [5] : (tensor<8589934592xi8>, tensor<i64>) -> tensor<5xi8>
module @negative_index_beyond_i32 attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8589934592xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %i: tensor<i64>) -> tensor<5xi8> {
    %0 = stablehlo.dynamic_slice %x, %i, sizes = [5] : (tensor<8589934592xi8>, tensor<i64>) -> tensor<5xi8>
    return %0 : tensor<5xi8>
  }
}
