/// Conversion to 32 unsigned bits passes the sign bit.
// input: 5xf32=3e9,4294967296,-1,4294967040,nan
// result: 5xui32=3000000000,4294967295,0,4294967040,0
func.func @main(%a: tensor<5xf32>) -> tensor<5xui32> {
  %r = stablehlo.convert %a : (tensor<5xf32>) -> tensor<5xui32>
  return %r : tensor<5xui32>
}
