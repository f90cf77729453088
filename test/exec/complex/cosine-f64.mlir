/// Cosines of complex<f64>.
// input: 6xcomplex<f64>=1+2i,-3+0.5i,0.25-1i,0.001+0.002i,-0.7-0.7i,12+30i
// result: 6xcomplex<f64>=2.0327230070196656-3.0518977991518i,-1.116341244526152+0.0735369737112366i,1.495109994773637+0.2907494282281178i,1.0000014999997084-2.000001000000061e-06i,0.9600062076784668-0.4886930379752704i,4508911940256.784+2867036424673.029i
// within: 2 ulps
func.func @main(%a: tensor<6xcomplex<f64>>) -> tensor<6xcomplex<f64>> {
  %r = stablehlo.cosine %a : tensor<6xcomplex<f64>>
  return %r : tensor<6xcomplex<f64>>
}
