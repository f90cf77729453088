/// JAX's top_k: a composite, which a target may know.
// input: 2x4xi32=4,9,9,-1,0,2,1,2
// result: 2x2xi32=9,9,2,2
// result: 2x2xi32=1,2,1,3
func.func @main(%a: tensor<2x4xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  %r:2 = stablehlo.composite "chlo.top_k" %a {composite_attributes = {k = 2 : i64, largest = true}, decomposition = @top_k} : (tensor<2x4xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>)
  return %r#0, %r#1 : tensor<2x2xi32>, tensor<2x2xi32>
}
func.func private @top_k(%a: tensor<2x4xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %r:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.compare GT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>)
  %0 = stablehlo.slice %r#0 [0:2, 0:2] : (tensor<2x4xi32>) -> tensor<2x2xi32>
  %1 = stablehlo.slice %r#1 [0:2, 0:2] : (tensor<2x4xi32>) -> tensor<2x2xi32>
  return %0, %1 : tensor<2x2xi32>, tensor<2x2xi32>
}
