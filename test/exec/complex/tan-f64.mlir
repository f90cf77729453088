/// Tangents of complex<f64>.
// input: 6xcomplex<f64>=1+2i,-3+0.5i,0.25-1i,0.001+0.002i,-0.7-0.7i,12+30i
// result: 6xcomplex<f64>=0.03381282607989669+1.0147936161466335i,0.11162105077158345+0.4694699934258854i,0.10332940767091636-0.7816883070914595i,0.0009999963333388+0.0019999993333282666i,-0.42460439176962855-0.8205134733552442i,-1.5859413346752176e-26+1i
// within: 2 ulps
func.func @main(%a: tensor<6xcomplex<f64>>) -> tensor<6xcomplex<f64>> {
  %r = stablehlo.tan %a : tensor<6xcomplex<f64>>
  return %r : tensor<6xcomplex<f64>>
}
