/// chlo.ragged_dot: two rows in the first group, none in the second, three in the third, and two in no group.
// input: 7x2xf32=1,2,3,4,5,6,7,8,9,10,11,12,13,14
// input: 3x2x2xf32=1,0,0,1,5,5,5,5,3,1,0,2
// input: 3xi32=2,0,3
// result: 7x2xf32=1,2,3,4,15,17,21,23,27,29,0,0,0,0
func.func @main(%x: tensor<7x2xf32>, %w: tensor<3x2x2xf32>, %sizes: tensor<3xi32>) -> tensor<7x2xf32> {
  %0 = stablehlo.composite "chlo.ragged_dot" %x, %w, %sizes {
    composite_attributes = {
      precision_config = ["DEFAULT", "DEFAULT"],
      ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>,
                                      dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]},
    decomposition = @masked, version = 1 : i32
  } : (tensor<7x2xf32>, tensor<3x2x2xf32>, tensor<3xi32>) -> tensor<7x2xf32>
  return %0 : tensor<7x2xf32>
}
func.func private @masked(%x: tensor<7x2xf32>, %w: tensor<3x2x2xf32>, %sizes: tensor<3xi32>) -> tensor<7x2xf32> {
  %group = stablehlo.iota dim = 0 : tensor<3x3xi32>
  %other = stablehlo.iota dim = 1 : tensor<3x3xi32>
  %upto = stablehlo.compare LE, %other, %group : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %square = stablehlo.broadcast_in_dim %sizes, dims = [1] : (tensor<3xi32>) -> tensor<3x3xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<0> : tensor<3x3xi32>
  %counted = stablehlo.select %upto, %square, %zeros : tensor<3x3xi1>, tensor<3x3xi32>
  %ends = stablehlo.reduce(%counted init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x3xi32>, tensor<i32>) -> tensor<3xi32>
  %begins = stablehlo.subtract %ends, %sizes : tensor<3xi32>
  %row = stablehlo.iota dim = 1 : tensor<3x7xi32>
  %begin = stablehlo.broadcast_in_dim %begins, dims = [0] : (tensor<3xi32>) -> tensor<3x7xi32>
  %end = stablehlo.broadcast_in_dim %ends, dims = [0] : (tensor<3xi32>) -> tensor<3x7xi32>
  %after = stablehlo.compare LE, %begin, %row : (tensor<3x7xi32>, tensor<3x7xi32>) -> tensor<3x7xi1>
  %before = stablehlo.compare LT, %row, %end : (tensor<3x7xi32>, tensor<3x7xi32>) -> tensor<3x7xi1>
  %inside = stablehlo.and %after, %before : tensor<3x7xi1>
  %mask = stablehlo.broadcast_in_dim %inside, dims = [0, 1] : (tensor<3x7xi1>) -> tensor<3x7x2xi1>
  %rows = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<7x2xf32>) -> tensor<3x7x2xf32>
  %none = stablehlo.constant dense<0.0> : tensor<3x7x2xf32>
  %kept = stablehlo.select %mask, %rows, %none : tensor<3x7x2xi1>, tensor<3x7x2xf32>
  %product = stablehlo.dot_general %kept, %w, contracting_dims = [0, 2] x [0, 1] : (tensor<3x7x2xf32>, tensor<3x2x2xf32>) -> tensor<7x2xf32>
  return %product : tensor<7x2xf32>
}
