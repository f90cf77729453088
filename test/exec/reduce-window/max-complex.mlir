/// The identity of a complex maximum is less than every number, also than one whose real part is -inf.
// input: 4xcomplex<f32>=-inf-5i,-inf-3i,-inf-7i,-inf-2i
// result: 5xcomplex<f32>=-inf-5i,-inf-3i,-inf-3i,-inf-2i,-inf-2i
// result: 4xcomplex<f32>=-inf-5i,-inf-3i,-inf-3i,-inf-2i
func.func @main(%a: tensor<4xcomplex<f32>>) -> (tensor<5xcomplex<f32>>, tensor<4xcomplex<f32>>) {
  %least = stablehlo.constant dense<(0xFF800000, 0xFF800000)> : tensor<complex<f32>>
  %pairs = "stablehlo.reduce_window"(%a, %least) <{window_dimensions = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>):
    %0 = stablehlo.maximum %x, %y : tensor<complex<f32>>
    stablehlo.return %0 : tensor<complex<f32>>
  }) : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
  %prefixes = "stablehlo.reduce_window"(%a, %least) <{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>):
    %0 = stablehlo.maximum %x, %y : tensor<complex<f32>>
    stablehlo.return %0 : tensor<complex<f32>>
  }) : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
  return %pairs, %prefixes : tensor<5xcomplex<f32>>, tensor<4xcomplex<f32>>
}
