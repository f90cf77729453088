/// A constant of booleans, more than a byte holds.
// result: 9xi1=true,false,true,true,false,false,true,false,true
func.func @main() -> tensor<9xi1> {
  %r = stablehlo.constant dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>
  return %r : tensor<9xi1>
}
