/// An argmax that compares no indices: the order of the elements makes the first of equal maxima win.
// input: 64xi32=0,3,6,9,2,5,8,1,4,7,0,3,6,9,2,5,8,1,4,7,0,3,6,9,2,5,8,1,4,7,0,3,6,9,2,5,8,1,4,7,0,3,6,9,2,5,8,1,4,7,0,3,6,9,2,5,8,1,4,7,0,3,6,9
// result: i32=9
// result: i32=3
func.func @main(%a: tensor<64xi32>) -> (tensor<i32>, tensor<i32>) {
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %i = stablehlo.iota dim = 0 : tensor<64xi32>
  %r:2 = "stablehlo.reduce"(%a, %i, %low, %none) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %at: tensor<i32>, %y: tensor<i32>, %to: tensor<i32>):
    %more = stablehlo.compare GT, %y, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v = stablehlo.select %more, %y, %x : tensor<i1>, tensor<i32>
    %j = stablehlo.select %more, %to, %at : tensor<i1>, tensor<i32>
    stablehlo.return %v, %j : tensor<i32>, tensor<i32>
  }) : (tensor<64xi32>, tensor<64xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}
