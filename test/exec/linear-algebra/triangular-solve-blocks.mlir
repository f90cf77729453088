/// A triangle of ones, of several blocks, from the right and transposed; the other half is not read.
// input: f32=1
// result: 2x70xf32=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2
func.func @main(%one: tensor<f32>) -> tensor<2x70xf32> {
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<70x70xf32>
  %row = stablehlo.iota dim = 0 : tensor<70x70xi32>
  %column = stablehlo.iota dim = 1 : tensor<70x70xi32>
  %lower = stablehlo.compare GE, %row, %column, SIGNED : (tensor<70x70xi32>, tensor<70x70xi32>) -> tensor<70x70xi1>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<70x70xf32>
  %a = stablehlo.select %lower, %ones, %nan : tensor<70x70xi1>, tensor<70x70xf32>
  %which = stablehlo.iota dim = 0 : tensor<2x70xf32>
  %at = stablehlo.iota dim = 1 : tensor<2x70xf32>
  %more = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<2x70xf32>
  %first = stablehlo.add %at, %more : tensor<2x70xf32>
  %scale = stablehlo.add %which, %more : tensor<2x70xf32>
  %b = stablehlo.multiply %first, %scale : tensor<2x70xf32>
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<70x70xf32>, tensor<2x70xf32>) -> tensor<2x70xf32>
  return %r : tensor<2x70xf32>
}
