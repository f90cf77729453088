/// A square may be negative: products wrap around before anything else is done
/// with them. Compilers have taken abs(x * x) to be x * x.

func.func @main() {
  %x = stablehlo.constant dense<[12, 100, -128]> : tensor<3xi8>
  %square = stablehlo.multiply %x, %x : tensor<3xi8>
  %expectedSquare = stablehlo.constant dense<[-112, 16, 0]> : tensor<3xi8>
  stablehlo.custom_call @check.expect_eq(%square, %expectedSquare) {has_side_effect = true} : (tensor<3xi8>, tensor<3xi8>) -> ()
  %size = stablehlo.abs %square : tensor<3xi8>
  %expectedSize = stablehlo.constant dense<[112, 16, 0]> : tensor<3xi8>
  stablehlo.custom_call @check.expect_eq(%size, %expectedSize) {has_side_effect = true} : (tensor<3xi8>, tensor<3xi8>) -> ()
  return
}
