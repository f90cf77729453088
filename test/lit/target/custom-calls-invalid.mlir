// RUN: tilewright-opt %s --lower-custom-calls --split-input-file --verify-diagnostics

func.func @main(%x: tensor<8xf32>) -> tuple<tensor<8xf32>, tuple<tensor<8xf32>>> {
  // expected-error@+1 {{E2101 transform: 'stablehlo.custom_call' @update aliases an element of a nested tuple, which is not supported}}
  %y = stablehlo.custom_call @update(%x) {
    output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1, 0], operand_index = 0, operand_tuple_indices = []>]
  } : (tensor<8xf32>) -> tuple<tensor<8xf32>, tuple<tensor<8xf32>>>
  return %y : tuple<tensor<8xf32>, tuple<tensor<8xf32>>>
}
