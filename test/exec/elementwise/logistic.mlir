/// The logistic function saturates without NaN.
// input: 8xf32=0,inf,-inf,-80,80,1,-1,nan
// result: 8xf32=0.5,1,0,1.8048513e-35,1,0.7310586,0.26894143,nan
// within: 4 ulps
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = stablehlo.logistic %a : tensor<8xf32>
  return %r : tensor<8xf32>
}
