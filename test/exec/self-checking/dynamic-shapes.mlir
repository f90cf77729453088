/// Shapes computed by the program.

func.func @main() {
  %n = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %iota = stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>
  %size = stablehlo.get_dimension_size %iota, dim = 1 : (tensor<?x?xi32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %flat = stablehlo.multiply %size, %two : tensor<i32>
  %shape = stablehlo.reshape %flat : (tensor<i32>) -> tensor<1xi32>
  %line = stablehlo.dynamic_reshape %iota, %shape : (tensor<?x?xi32>, tensor<1xi32>) -> tensor<?xi32>
  %low = stablehlo.constant dense<-1> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %padded = stablehlo.dynamic_pad %line, %nine, %low, %one, %one
      : (tensor<?xi32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
  %start = stablehlo.constant dense<1> : tensor<1xi32>
  %limit = stablehlo.constant dense<11> : tensor<1xi32>
  %stride = stablehlo.constant dense<2> : tensor<1xi32>
  %slice = stablehlo.real_dynamic_slice %padded, %start, %limit, %stride
      : (tensor<?xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
  %five = stablehlo.constant dense<5> : tensor<1xi32>
  %cast = stablehlo.dynamic_reshape %slice, %five : (tensor<?xi32>, tensor<1xi32>) -> tensor<5xi32>
  %expected = stablehlo.constant dense<[1, 2, 0, 1, 2]> : tensor<5xi32>
  stablehlo.custom_call @check.expect_eq(%cast, %expected) {has_side_effect = true} : (tensor<5xi32>, tensor<5xi32>) -> ()
  return
}
