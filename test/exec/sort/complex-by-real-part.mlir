/// A comparator of other types: complex numbers by their real part, in their order where it is equal.
// input: 5xcomplex<f32>=2-1i,1+5i,2+3i,-4-4i,1-7i
// result: 5xcomplex<f32>=-4-4i,1+5i,1-7i,2-1i,2+3i
func.func @main(%a: tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>):
    %0 = stablehlo.real %x : (tensor<complex<f32>>) -> tensor<f32>
    %1 = stablehlo.real %y : (tensor<complex<f32>>) -> tensor<f32>
    %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return %r : tensor<5xcomplex<f32>>
}
