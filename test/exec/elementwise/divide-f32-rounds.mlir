/// A quotient is rounded once, to the nearest.
// input: 6xf32=1,10,2,-7,1e-40,3e38
// input: 6xf32=3,7,3,9,3,7e10
// result: 6xf32=0.33333334,1.4285715,0.6666667,-0.7777778,3.3333e-41,4.2857143e+27
func.func @main(%a: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<6xf32> {
  %r = stablehlo.divide %a, %b : tensor<6xf32>
  return %r : tensor<6xf32>
}
