/// A selection keeps NaN and the sign of zero, and computes nothing with the other side.
// input: 4xi1=true,false,true,false
// input: 4xf32=nan,nan,-0.0,inf
// input: 4xf32=1,2,3,-0.0
// result: 4xf32=nan,2,-0.0,-0.0
func.func @main(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.select %a, %b, %c : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}
