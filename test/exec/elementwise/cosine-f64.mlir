/// Cosines of f64, also of angles beyond 2^20.
// input: 8xf64=0,1,1.5707963267948966,-100000,1000000000000000.0,1e+300,inf,nan
// result: 8xf64=1,0.5403023058681398,6.123233995736766e-17,-0.9993608074382124,-0.5131937377869703,-0.5753861119575491,nan,nan
// within: 1 ulps
func.func @main(%a: tensor<8xf64>) -> tensor<8xf64> {
  %r = stablehlo.cosine %a : tensor<8xf64>
  return %r : tensor<8xf64>
}
