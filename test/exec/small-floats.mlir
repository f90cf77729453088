/// Formats below 16 bits: conversion rounds to nearest even, arithmetic rounds once.

func.func @main() {
  %x = stablehlo.constant dense<[0.3, 1.25, 5.1, -7.0]> : tensor<4xf32>
  %f4 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf4E2M1FN>
  %double = stablehlo.add %f4, %f4 : tensor<4xf4E2M1FN>
  %y = stablehlo.convert %double : (tensor<4xf4E2M1FN>) -> tensor<4xf32>
  // 0.5, 1.0 (a tie, to even), 6.0 and -6.0 (the largest) doubled, the large ones saturated.
  %expected = stablehlo.constant dense<[1.0, 2.0, 6.0, -6.0]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_eq(%y, %expected) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()

  %big = stablehlo.constant dense<[500.0, 0.001]> : tensor<2xf32>
  %f8 = stablehlo.convert %big : (tensor<2xf32>) -> tensor<2xf8E5M2>
  %z = stablehlo.convert %f8 : (tensor<2xf8E5M2>) -> tensor<2xf32>
  %want = stablehlo.constant dense<[512.0, 9.765625E-4]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%z, %want) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
