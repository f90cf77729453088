/// The type of 4 bits saturates and rounds ties to even.
// input: 8xf32=0.25,0.75,1.25,5,7,-100,2.5,-0.0
// result: 8xf4E2M1FN=0,1,1,4,6,-6,2,-0.0
func.func @main(%a: tensor<8xf32>) -> tensor<8xf4E2M1FN> {
  %r = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xf4E2M1FN>
  return %r : tensor<8xf4E2M1FN>
}
