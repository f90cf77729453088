/// A slice of a slice of a reversal.
// input: 8xi32=0,1,2,3,4,5,6,7
// result: 2xi32=4,0
func.func @main(%a: tensor<8xi32>) -> tensor<2xi32> {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<8xi32>
  %1 = stablehlo.slice %0 [1:8:2] : (tensor<8xi32>) -> tensor<4xi32>
  %r = stablehlo.slice %1 [1:4:2] : (tensor<4xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
