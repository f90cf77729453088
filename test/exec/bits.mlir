/// Bits seen as other types, and integers at the edges of their width.

func.func @main() {
  %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %halves = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x2xui16>
  %expectedHalves = stablehlo.constant dense<[[0, 16256], [0, 49152]]> : tensor<2x2xui16>
  stablehlo.custom_call @check.expect_eq(%halves, %expectedHalves) {has_side_effect = true} : (tensor<2x2xui16>, tensor<2x2xui16>) -> ()
  %again = stablehlo.bitcast_convert %halves : (tensor<2x2xui16>) -> tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%again, %x) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()

  %a = stablehlo.constant dense<[-128, 7, -7, 1]> : tensor<4xi8>
  %b = stablehlo.constant dense<[-1, 0, 2, 9]> : tensor<4xi8>
  %quotient = stablehlo.divide %a, %b : tensor<4xi8>
  %expectedQuotient = stablehlo.constant dense<[-128, -1, -3, 0]> : tensor<4xi8>
  stablehlo.custom_call @check.expect_eq(%quotient, %expectedQuotient) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
  %shifted = stablehlo.shift_left %a, %b : tensor<4xi8>
  %expectedShifted = stablehlo.constant dense<[0, 7, -28, 0]> : tensor<4xi8>
  stablehlo.custom_call @check.expect_eq(%shifted, %expectedShifted) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
  return
}
