/// What rules had changed the values of, each found by random programs: the compiled program gives what the evaluator gives, folded or not.
// RUN: tilewright run %s --on=evaluator > %t.expected
// RUN: tilewright run %s --on=cpu > %t.folded
// RUN: tilewright run %s --on=cpu --simplify.max-fold-elements=0 > %t.computed
// RUN: diff %t.expected %t.folded
// RUN: diff %t.expected %t.computed
// RUN: FileCheck %s < %t.computed

module {
  func.func @main() -> (tensor<i64>, tensor<i32>, tensor<i32>, tensor<5xui32>, tensor<2xf8E8M0FNU>, tensor<i16>,
                        tensor<2x3xi2>, tensor<2xf6E2M3FN>, tensor<4xi1>, tensor<2x3x4xi1>) {
    /// The bits that equal numbers have in common with the initial value.
    // CHECK: result 0: tensor<i64> 0
    %twos = stablehlo.constant dense<2> : tensor<2x3xi64>
    %start = stablehlo.constant dense<-4> : tensor<i64>
    %open_start = stablehlo.optimization_barrier %start : tensor<i64>
    %0 = stablehlo.reduce(%twos init: %open_start) applies stablehlo.and across dimensions = [0, 1] : (tensor<2x3xi64>, tensor<i64>) -> tensor<i64>

    /// A sum of two sums, each from 3: 3 + (3 + 1 + 2) + (3 + 3 + 4). The largest from 3 may be taken at once.
    // CHECK: result 1: tensor<i32> 19
    // CHECK: result 2: tensor<i32> 4
    %numbers = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %x = stablehlo.optimization_barrier %numbers : tensor<2x2xi32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %sums = stablehlo.reduce(%x init: %three) applies stablehlo.add across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %1 = stablehlo.reduce(%sums init: %three) applies stablehlo.add across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
    %largest = stablehlo.reduce(%x init: %three) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.reduce(%largest init: %three) applies stablehlo.maximum across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>

    /// From a float, what is too large or too small stops at the limit; from an integer it wraps around.
    // CHECK: result 3: tensor<5xui32> [0, 681470916, 33, 112418044, 0]
    %integers = stablehlo.constant dense<[0, 681470916, 33, 112418044, -1664537139]> : tensor<5xi32>
    %floats = stablehlo.convert %integers : (tensor<5xi32>) -> tensor<5xf64>
    %3 = stablehlo.convert %floats : (tensor<5xf64>) -> tensor<5xui32>

    /// There are no negative numbers of this type: what is negated is NaN, and stays it.
    // CHECK: result 4: tensor<2xf8E8M0FNU> [nan, nan]
    %powers = stablehlo.constant dense<[0.5, 2.0]> : tensor<2xf8E8M0FNU>
    %negated = stablehlo.negate %powers : tensor<2xf8E8M0FNU>
    %4 = stablehlo.negate %negated : tensor<2xf8E8M0FNU>

    /// The bits of a NaN are kept.
    // CHECK: result 5: tensor<i16> -3
    %bits = stablehlo.constant dense<-3> : tensor<i16>
    %nan = stablehlo.bitcast_convert %bits : (tensor<i16>) -> tensor<f16>
    %5 = stablehlo.bitcast_convert %nan : (tensor<f16>) -> tensor<i16>

    /// Six bits are three times two, for which there is no integer type.
    // CHECK: result 6: tensor<2x3xi2>
    // CHECK: result 7: tensor<2xf6E2M3FN> [-0, 0.625]
    %six = stablehlo.constant dense<[-0.0, 0.625]> : tensor<2xf6E2M3FN>
    %6 = stablehlo.bitcast_convert %six : (tensor<2xf6E2M3FN>) -> tensor<2x3xi2>
    %7 = stablehlo.bitcast_convert %6 : (tensor<2x3xi2>) -> tensor<2xf6E2M3FN>

    /// Padding is zeros, and zero times infinity is NaN: as a product of matrices, and where groups are narrow.
    // CHECK: result 8: tensor<4xi1> [true, false, false, true]
    %ones = stablehlo.constant dense<1.0> : tensor<1x4x1xf32>
    %kernel = stablehlo.constant dense<[[[0x7F800000]], [[1.0]], [[0x7F800000]]]> : tensor<3x1x1xf32>
    %padded = stablehlo.convolution(%ones, %kernel) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<3x1x1xf32>) -> tensor<1x4x1xf32>
    %row = stablehlo.reshape %padded : (tensor<1x4x1xf32>) -> tensor<4xf32>
    %8 = stablehlo.compare NE, %row, %row : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    // CHECK: result 9: tensor<2x3x4xi1> {{\[\[\[}}true, true, true, true], [false, false, false, false], [true, true, true, true]]
    %channels = stablehlo.constant dense<1.0> : tensor<2x3x4xf32>
    %narrow = stablehlo.constant dense<[[[0x7F800000, 0x7F800000, 0x7F800000, 0x7F800000]], [[1.0, 1.0, 1.0, 1.0]], [[0x7F800000, 0x7F800000, 0x7F800000, 0x7F800000]]]> : tensor<3x1x4xf32>
    %rows = stablehlo.convolution(%channels, %narrow) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x3x4xf32>, tensor<3x1x4xf32>) -> tensor<2x3x4xf32>
    %9 = stablehlo.compare NE, %rows, %rows : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xi1>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<i64>, tensor<i32>, tensor<i32>, tensor<5xui32>, tensor<2xf8E8M0FNU>, tensor<i16>, tensor<2x3xi2>, tensor<2xf6E2M3FN>, tensor<4xi1>, tensor<2x3x4xi1>
  }
}
