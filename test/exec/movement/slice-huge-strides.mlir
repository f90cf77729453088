/// Slices of one element whose strides are as long as i64 permits.
// input: 4xf32=1,2,3,4
// result: 1xf32=3
// result: 1xf32=3
func.func @main(%x: tensor<4xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = stablehlo.slice %x [2:4:9223372036854775807] : (tensor<4xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %x [0:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %2 = stablehlo.slice %1 [1:2:9223372036854775807] : (tensor<2xf32>) -> tensor<1xf32>
  return %0, %2 : tensor<1xf32>, tensor<1xf32>
}
