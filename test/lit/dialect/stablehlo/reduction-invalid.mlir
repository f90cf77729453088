// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of map, reduce or sort.

// map_c1
func.func @map_c1(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error@below {{'stablehlo.map' op input 1 must have the shape of the result, [4], got 'tensor<5xf32>'}}
  %0 = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// map_c2
func.func @map_c2() {
  // expected-error@below {{'stablehlo.map' op must have at least one input, got none}}
  %0 = "stablehlo.map"() <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : () -> tensor<4xf32>
  return
}

// -----

// map_c3
func.func @map_c3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.map' op dimensions must have one entry for each dimension of the inputs, got 2 for 1}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// map_c3
func.func @map_c3_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.map' op dimensions must list all dimensions in order, got 1 at index 0}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// map_c4
func.func @map_c4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.map' op computation must take 1 arguments, got 2}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// map_c4
func.func @map_c4_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.map' op computation must take 'tensor<f32>' as argument 0, got 'tensor<f64>'}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f64>):
    stablehlo.return %x0 : tensor<f64>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// map_c4
func.func @map_c4_3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.map' op computation must return 'tensor<i1>' as value 0, got 'tensor<f32>'}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

// map_c4
func.func @map_c4_4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.map' op computation must return 1 values, got 2}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0, %x0 : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// reduce_c1
func.func @reduce_c1(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op inputs must have the same shape, got 'tensor<2x3xf32>' at index 0 and 'tensor<2x4xf32>' at index 1}}
  %0:2 = "stablehlo.reduce"(%a, %b, %c, %d) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>):
    stablehlo.return %x0, %x1 : tensor<f32>, tensor<f32>
  }) : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// reduce_c2
func.func @reduce_c2(%a: tensor<2x3xf32>, %b: tensor<f64>) {
  // expected-error@below {{'stablehlo.reduce' op initial value 0 must have the element type of its input, 'f32', got 'f64'}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f64>) -> tensor<2xf32>
  return
}

// -----

// reduce_c2
func.func @reduce_c2_2(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.reduce' op initial value 0 must be a scalar, got 'tensor<2xf32>'}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c3
func.func @reduce_c3(%a: tensor<2x3xf32>, %b: tensor<f32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op must have one initial value for each input, got an odd number of operands, 3}}
  %0 = "stablehlo.reduce"(%a, %b, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c3
func.func @reduce_c3_2() {
  // expected-error@below {{'stablehlo.reduce' op must have at least one input, got none}}
  %0 = "stablehlo.reduce"() <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : () -> tensor<2xf32>
  return
}

// -----

// reduce_c3
func.func @reduce_c3_3(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op must have one result for each input, got 2 for 1}}
  %0:2 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// reduce_c4
func.func @reduce_c4(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op dimensions must be dimensions of the inputs, in [0, 2), got 2}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c4
func.func @reduce_c4_2(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op dimensions must be dimensions of the inputs, in [0, 2), got -1}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: -1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c5
func.func @reduce_c5(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op dimensions must be unique, got 1 twice}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1, 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c6
func.func @reduce_c6(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op body must take 2 scalars and return 1, got 3 and 1}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c6
func.func @reduce_c6_2(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op body must take 2 scalars and return 1, got 2 and 0}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c6
func.func @reduce_c6_3(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op body must take and return the same type of scalar for input 0, got arguments 'tensor<2xf32>' and 'tensor<2xf32>' and result 'tensor<2xf32>'}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<2xf32>, %x1: tensor<2xf32>):
    stablehlo.return %x0 : tensor<2xf32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c6
func.func @reduce_c6_4(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op body must use a type to which input 0 can be promoted, got input type 'f32' and computation type 'i32'}}
  // expected-note@below {{a promotion must keep the kind of number and must not make it narrower}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<i32>, %x1: tensor<i32>):
    stablehlo.return %x0 : tensor<i32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xi32>
  return
}

// -----

// reduce_c7
func.func @reduce_c7(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op result 0 must have the inputs' shape without the reduced dimensions, [2], got 'tensor<3xf32>'}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// reduce_c8
func.func @reduce_c8(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op result 0 must have the element type of its computation, 'f64', got 'f32'}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    stablehlo.return %x0 : tensor<f64>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// sort_c1
func.func @sort_c1() {
  // expected-error@below {{'stablehlo.sort' op must have at least one input, got none}}
  "stablehlo.sort"() <{dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : () -> ()
  return
}

// -----

// sort_c2
func.func @sort_c2(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.sort' op result 0 must have the type of its input, 'tensor<8xf32>', got 'tensor<8xf64>'}}
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf64>
  return
}

// -----

// sort_c2
func.func @sort_c2_2(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.sort' op must have one result for each input, got 2 for 1}}
  %0:2 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// sort_c3
func.func @sort_c3(%a: tensor<8xf32>, %b: tensor<7xf32>) {
  // expected-error@below {{'stablehlo.sort' op inputs must have the same shape, got 'tensor<8xf32>' at index 0 and 'tensor<7xf32>' at index 1}}
  %0:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8xf32>, tensor<7xf32>) -> (tensor<8xf32>, tensor<7xf32>)
  return
}

// -----

// sort_c4
func.func @sort_c4(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.sort' op dimension must be in [-rank, rank) of the inputs, [-1, 1), got 1}}
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// sort_c4
func.func @sort_c4_2(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.sort' op dimension must be in [-rank, rank) of the inputs, [-1, 1), got -2}}
  %0 = "stablehlo.sort"(%a) <{dimension = -2 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// sort_c5
func.func @sort_c5(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.sort' op comparator must take 2 arguments, got 4}}
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// sort_c5
func.func @sort_c5_2(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.sort' op comparator must take 'tensor<f32>' as argument 1, got 'tensor<1xf32>'}}
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<1xf32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// sort_c5
func.func @sort_c5_3(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.sort' op comparator must return 'tensor<i1>' as value 0, got 'tensor<f32>'}}
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

/// Regions are one block that ends in stablehlo.return; nothing else reaches the rules above.
func.func @reduce_empty_region(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_two_blocks(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op expects region #0 to have 0 or 1 blocks}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  ^bb1:
    stablehlo.return %a : tensor<2x3xf32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_no_terminator(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce' op expects a non-empty block}}
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
