/// The maximum of each window and where it is; the first one of equal elements.
// input: 6xf32=3,1,4,4,-5,9
// input: 6xi32=0,1,2,3,4,5
// result: 5xf32=3,4,4,4,9
// result: 5xi32=0,2,2,3,5
func.func @main(%a: tensor<6xf32>, %i: tensor<6xi32>) -> (tensor<5xf32>, tensor<5xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %r:2 = "stablehlo.reduce_window"(%a, %i, %low, %none) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %j: tensor<i32>, %y: tensor<f32>, %k: tensor<i32>):
    %ge = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %ge, %x, %y : tensor<i1>, tensor<f32>
    %at = stablehlo.select %ge, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %v, %at : tensor<f32>, tensor<i32>
  }) : (tensor<6xf32>, tensor<6xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xi32>
}
