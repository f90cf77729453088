// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Branches, loops, tuples and tokens.
// CHECK-LABEL: sym_name = "control_flow"
func.func @control_flow(%p: tensor<i1>, %i: tensor<i32>, %v: tensor<4xf32>) {
  // CHECK: "stablehlo.if"(%{{.*}}) ({
  %0 = "stablehlo.if"(%p) ({
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<4xf32>) -> ()
    "stablehlo.return"(%v) : (tensor<4xf32>) -> ()
  }, {
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<4xf32>) -> ()
    "stablehlo.return"(%v) : (tensor<4xf32>) -> ()
  // CHECK: }) : (tensor<i1>) -> tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  // CHECK: "stablehlo.case"(%{{.*}}) ({
  %1 = "stablehlo.case"(%i) ({
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<4xf32>) -> ()
    "stablehlo.return"(%v) : (tensor<4xf32>) -> ()
  }, {
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<4xf32>) -> ()
    "stablehlo.return"(%v) : (tensor<4xf32>) -> ()
  }, {
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<4xf32>) -> ()
    "stablehlo.return"(%v) : (tensor<4xf32>) -> ()
  // CHECK: }) : (tensor<i32>) -> tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  // CHECK: "stablehlo.while"(%{{.*}}, %{{.*}}) ({
  %2:2 = "stablehlo.while"(%i, %v) ({
  ^bb0(%j: tensor<i32>, %w: tensor<4xf32>):
    // CHECK: "stablehlo.compare"(%{{.*}}, %{{.*}}) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %less = "stablehlo.compare"(%j, %i) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<i1>) -> ()
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%j: tensor<i32>, %w: tensor<4xf32>):
    // CHECK: "stablehlo.return"(%{{.*}}, %{{.*}}) : (tensor<i32>, tensor<4xf32>) -> ()
    "stablehlo.return"(%j, %w) : (tensor<i32>, tensor<4xf32>) -> ()
  // CHECK: }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: sym_name = "tuples_and_tokens"
func.func @tuples_and_tokens(%a: tensor<4xf32>, %i: tensor<i32>) {
  // CHECK: "stablehlo.tuple"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<i32>) -> tuple<tensor<4xf32>, tensor<i32>>
  %0 = "stablehlo.tuple"(%a, %i) : (tensor<4xf32>, tensor<i32>) -> tuple<tensor<4xf32>, tensor<i32>>
  // CHECK: "stablehlo.get_tuple_element"(%{{.*}}) <{index = 1 : i32}> : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  %1 = "stablehlo.get_tuple_element"(%0) <{index = 1 : i32}> : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  // CHECK: "stablehlo.create_token"() : () -> !stablehlo.token
  %2 = "stablehlo.create_token"() : () -> !stablehlo.token
  // CHECK: "stablehlo.after_all"(%{{.*}}, %{{.*}}) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  %3 = "stablehlo.after_all"(%2, %2) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  // CHECK: "stablehlo.optimization_barrier"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %4:2 = "stablehlo.optimization_barrier"(%a, %3) : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}
