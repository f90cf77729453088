/// One constant is two results.
// result: 2xi32=1,2
// result: 2xi32=1,2
func.func @main() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  return %0, %0 : tensor<2xi32>, tensor<2xi32>
}
