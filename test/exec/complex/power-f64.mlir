/// Powers of complex<f64>.
// input: 6xcomplex<f64>=1+2i,-3+0.5i,0.25-1i,0.001+0.002i,-0.7-0.7i,12+30i
// input: 6xcomplex<f64>=2-1i,1+1i,-0.5+4i,3+0i,0.3+0.1i,0.5-0.25i
// result: 6xcomplex<f64>=2.428447747683069+14.93241486964456i,-0.09053611135100453-0.12584802931308403i,140.1592758136846+139.81208652836978i,-1.1000000000000001e-08-2e-09i,0.9586996920739514-0.8204831684685351i,7.369436163543219-2.0689916932753705i
// within: 2 ulps
func.func @main(%a: tensor<6xcomplex<f64>>, %b: tensor<6xcomplex<f64>>) -> tensor<6xcomplex<f64>> {
  %r = stablehlo.power %a, %b : tensor<6xcomplex<f64>>
  return %r : tensor<6xcomplex<f64>>
}
