/// A loop that fills a tensor element by element, and reads what it wrote.
// input: 6xi32=1,1,0,0,0,0
// result: 6xi32=1,1,2,3,5,8
func.func @main(%a: tensor<6xi32>) -> tensor<6xi32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %six = stablehlo.constant dense<6> : tensor<i32>
  %n, %r = stablehlo.while(%i = %two, %x = %a) : tensor<i32>, tensor<6xi32>
  cond {
    %0 = stablehlo.compare LT, %i, %six, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %0 = stablehlo.subtract %i, %one : tensor<i32>
    %1 = stablehlo.subtract %i, %two : tensor<i32>
    %2 = stablehlo.dynamic_slice %x, %0, sizes = [1] : (tensor<6xi32>, tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.dynamic_slice %x, %1, sizes = [1] : (tensor<6xi32>, tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.add %2, %3 : tensor<1xi32>
    %5 = stablehlo.dynamic_update_slice %x, %4, %i : (tensor<6xi32>, tensor<1xi32>, tensor<i32>) -> tensor<6xi32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %5 : tensor<i32>, tensor<6xi32>
  }
  return %r : tensor<6xi32>
}
