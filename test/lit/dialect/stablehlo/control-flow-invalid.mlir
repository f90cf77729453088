// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of if, case, while, optimization_barrier, tuple or get_tuple_element.

// if_i1
func.func @if_i1(%a: tensor<1xi1>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.if' op pred must be a scalar, got 'tensor<1xi1>'}}
  %0 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<1xi1>) -> tensor<4xf32>
  return
}

// -----

// if_c1
func.func @if_c1(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.if' op true_branch must take no arguments, got 1}}
  // expected-note@below {{a branch can use values defined outside the op}}
  %0 = "stablehlo.if"(%a) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

// if_c1
func.func @if_c1_2(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.if' op false_branch must take no arguments, got 1}}
  // expected-note@below {{a branch can use values defined outside the op}}
  %0 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
  ^bb0(%x: tensor<f32>):
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

// if_c2
func.func @if_c2(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.if' op branches must return the same types, got ('tensor<4xf32>') and ('tensor<4xi32>')}}
  %0 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %c : tensor<4xi32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

// if_c2
func.func @if_c2_2(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.if' op branches must return the same types, got ('tensor<4xf32>') and ()}}
  %0 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

// if_c3
func.func @if_c3(%a: tensor<i1>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.if' op results must have the types that the branches return, ('tensor<4xf32>'), got ('tensor<5xf32>')}}
  %0 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<5xf32>
  return
}

// -----

// case_i1
func.func @case_i1(%a: tensor<1xi32>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.case' op index must be a scalar, got 'tensor<1xi32>'}}
  %0 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<1xi32>) -> tensor<4xf32>
  return
}

// -----

// case_c1
func.func @case_c1(%a: tensor<i32>) {
  // expected-error@below {{'stablehlo.case' op must have at least one branch, got none}}
  %0 = "stablehlo.case"(%a) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// case_c2
func.func @case_c2(%a: tensor<i32>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.case' op branch 1 must take no arguments, got 2}}
  // expected-note@below {{a branch can use values defined outside the op}}
  %0 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// case_c3
func.func @case_c3(%a: tensor<i32>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.case' op branches must return the same types, got ('tensor<4xf32>') from branch 0 and ('tensor<4xi32>') from branch 1}}
  %0 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %c : tensor<4xi32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// case_c4
func.func @case_c4(%a: tensor<i32>, %b: tensor<4xf32>, %c: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.case' op results must have the types that the branches return, ('tensor<4xf32>'), got ('tensor<4xi32>')}}
  %0 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// while_c1
func.func @while_c1(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op cond must take 1 arguments, got 2}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<i32>, %x1: tensor<i32>):
    stablehlo.return %b : tensor<i1>
  }, {
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %x0 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

// while_c1
func.func @while_c1_2(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op cond must take 'tensor<i32>' as argument 0, got 'tensor<f32>'}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %b : tensor<i1>
  }, {
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %x0 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

// while_c1
func.func @while_c1_3(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op cond must return 'tensor<i1>' as value 0, got 'tensor<i32>'}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %x0 : tensor<i32>
  }, {
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %x0 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

// while_c2
func.func @while_c2(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op body must take 'tensor<i32>' as argument 0, got 'tensor<f32>'}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %b : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

// while_c2
func.func @while_c2_2(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op body must return 1 values, got 0}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %b : tensor<i1>
  }, {
  ^bb0(%x0: tensor<i32>):
    stablehlo.return
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

// while_c2
func.func @while_c2_3(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op body must return 'tensor<i32>' as value 0, got 'tensor<i1>'}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %b : tensor<i1>
  }, {
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %b : tensor<i1>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

// while_c3
func.func @while_c3(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op results must have the types of the operands, ('tensor<i32>'), got ('tensor<f32>')}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %b : tensor<i1>
  }, {
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %x0 : tensor<i32>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

// while_c3
func.func @while_c3_2(%a: tensor<i32>, %b: tensor<i1>) {
  // expected-error@below {{'stablehlo.while' op results must have the types of the operands, ('tensor<i32>'), got ()}}
  "stablehlo.while"(%a) ({
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %b : tensor<i1>
  }, {
  ^bb0(%x0: tensor<i32>):
    stablehlo.return %x0 : tensor<i32>
  }) : (tensor<i32>) -> ()
  return
}

// -----

// optimization_barrier_c1
func.func @optimization_barrier_c1(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.optimization_barrier' op results must have the types of the operands, ('tensor<4xf32>'), got ('tensor<5xf32>')}}
  "stablehlo.optimization_barrier"(%a) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// optimization_barrier_c1
func.func @optimization_barrier_c1_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.optimization_barrier' op results must have the types of the operands, ('tensor<4xf32>'), got ()}}
  "stablehlo.optimization_barrier"(%a) : (tensor<4xf32>) -> ()
  return
}

// -----

// tuple_c1
func.func @tuple_c1(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.tuple' op result must be a tuple of the operands' types, ('tensor<4xf32>'), got ('tensor<4xf32>', 'tensor<4xf32>')}}
  %0 = "stablehlo.tuple"(%a) : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  return
}

// -----

// tuple_c1
func.func @tuple_c1_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.tuple' op result must be a tuple of the operands' types, ('tensor<4xf32>'), got ('tensor<5xf32>')}}
  %0 = "stablehlo.tuple"(%a) : (tensor<4xf32>) -> tuple<tensor<5xf32>>
  return
}

// -----

// get_tuple_element_c1
func.func @get_tuple_element_c1(%a: tuple<tensor<4xf32>>) {
  // expected-error@below {{'stablehlo.get_tuple_element' op index must be the index of a tuple element, in [0, 1), got 1}}
  %0 = "stablehlo.get_tuple_element"(%a) <{index = 1 : i32}> : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

// get_tuple_element_c1
func.func @get_tuple_element_c1_2(%a: tuple<tensor<4xf32>>) {
  // expected-error@below {{'stablehlo.get_tuple_element' op index must be the index of a tuple element, in [0, 1), got -1}}
  %0 = "stablehlo.get_tuple_element"(%a) <{index = -1 : i32}> : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

// get_tuple_element_c2
func.func @get_tuple_element_c2(%a: tuple<tensor<4xf32>>) {
  // expected-error@below {{'stablehlo.get_tuple_element' op result must have the type of element 0, 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = "stablehlo.get_tuple_element"(%a) <{index = 0 : i32}> : (tuple<tensor<4xf32>>) -> tensor<5xf32>
  return
}
