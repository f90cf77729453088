// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one rule of composite, custom_call, infeed, send or recv.

// composite_c1
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c1(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op name must be a namespace and a name separated by a dot, got "my_op"}}
  // expected-note@below {{for example "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%a) <{name = "my_op", decomposition = @impl}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c1
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c1_2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op name must be a namespace and a name separated by a dot, got "my."}}
  // expected-note@below {{for example "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%a) <{name = "my.", decomposition = @impl}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c1
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c1_3(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op name must be a namespace and a name separated by a dot, got ".op"}}
  // expected-note@below {{for example "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%a) <{name = ".op", decomposition = @impl}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c1
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c1_4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op name must be a namespace and a name separated by a dot, got "1my.op"}}
  // expected-note@below {{for example "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%a) <{name = "1my.op", decomposition = @impl}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c1
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c1_5(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op name must be a namespace and a name separated by a dot, got "my.o-p"}}
  // expected-note@below {{for example "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%a) <{name = "my.o-p", decomposition = @impl}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c1
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c1_6(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op name must be a namespace and a name separated by a dot, got "my..op"}}
  // expected-note@below {{for example "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%a) <{name = "my..op", decomposition = @impl}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c1
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c1_7(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op name must be a namespace and a name separated by a dot, got ""}}
  // expected-note@below {{for example "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%a) <{name = "", decomposition = @impl}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c2
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c2(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op decomposition must be a function of this module, got @missing}}
  %0 = "stablehlo.composite"(%a) <{name = "my.op", decomposition = @missing}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c3
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c3(%a: tensor<5xf32>) {
  // expected-error@below {{'stablehlo.composite' op inputs must have the types that the decomposition takes, ('tensor<4xf32>'), got ('tensor<5xf32>')}}
  %0 = "stablehlo.composite"(%a) <{name = "my.op", decomposition = @impl}> : (tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// composite_c4
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @composite_c4(%a: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.composite' op results must have the types that the decomposition returns, ('tensor<4xf32>'), got ('tensor<5xf32>')}}
  %0 = "stablehlo.composite"(%a) <{name = "my.op", decomposition = @impl}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// custom_call
func.func @custom_call_one_layout(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op must have both operand_layouts and result_layouts or neither, got operand_layouts only}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_layout_count(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op must have one layout for each operand, got 2 for 1}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_layout_twice(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op layout of result 0 must list each of its 2 dimensions once, got dense<1> : tensor<2xindex>}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<1> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_layout_rank(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op layout of operand 0 must list each of its 2 dimensions once, got dense<0> : tensor<1xindex>}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_layout_range(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op layout of operand 0 must list each of its 2 dimensions once, got dense<[-1, 0]> : tensor<2xindex>}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[-1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_alias_operand(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op operand_index of an alias must be the index of an operand, in [0, 1), got 1}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_alias_operand_part(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op operand_tuple_indices of an alias must select a part of operand 0, got [0]}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = [0]>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_alias_output_part(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op output_tuple_indices of an alias must select a part of the results, got [1]}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>>
  return
}

// -----

// custom_call
func.func @custom_call_alias_type(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op an alias must connect parts of the same type, got 'tensor<2x3xf32>' and 'tensor<3x2xf32>'}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// custom_call
func.func @custom_call_dictionary(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op backend_config must be a string for api_version 2, got {a = 1 : i32}}}
  // expected-note@below {{api_version 4 requires a dictionary, earlier versions a string}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", api_version = 2 : i32, backend_config = {a = 1 : i32}}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// custom_call
func.func @custom_call_string(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.custom_call' op backend_config must be a dictionary for api_version 4, got "a"}}
  // expected-note@below {{api_version 4 requires a dictionary, earlier versions a string}}
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "f", api_version = 4 : i32, backend_config = "a"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// infeed_c1
func.func @infeed_c1(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.infeed' op must have at least one result, the token, got none}}
  "stablehlo.infeed"(%a) <{infeed_config = ""}> : (!stablehlo.token) -> ()
  return
}

// -----

// infeed_c2
func.func @infeed_c2(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.infeed' op results before the token must be tensors, got '!stablehlo.token' as result 0}}
  %0:2 = "stablehlo.infeed"(%a) <{infeed_config = ""}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}

// -----

// infeed_c3
func.func @infeed_c3(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.infeed' op last result must be a token, got 'tensor<4xf32>'}}
  %0 = "stablehlo.infeed"(%a) <{infeed_config = ""}> : (!stablehlo.token) -> tensor<4xf32>
  return
}

// -----

func.func @infeed_layout_count(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.infeed' op must have one layout for each tensor, got 2 for 1}}
  %0:2 = "stablehlo.infeed"(%a) <{infeed_config = "", layout = [[0], [0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @infeed_layout_kind(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.infeed' op a layout must be an array of integers, got 0 : i64}}
  %0:2 = "stablehlo.infeed"(%a) <{infeed_config = "", layout = [0]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @infeed_layout_leaf(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.infeed' op a layout must be an array of integers, got [0, []]}}
  %0:2 = "stablehlo.infeed"(%a) <{infeed_config = "", layout = [[0, []]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

// send_c1
func.func @send_c1(%a: tensor<4xf32>, %b: !stablehlo.token) {
  // expected-error@below {{'stablehlo.send' op source_target_pairs must have shape [n, 2], got [1, 3]}}
  %0 = "stablehlo.send"(%a, %b) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c2
func.func @send_c2(%a: tensor<4xf32>, %b: !stablehlo.token) {
  // expected-error@below {{'stablehlo.send' op sources in source_target_pairs must be unique, got 0 twice}}
  %0 = "stablehlo.send"(%a, %b) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c3
func.func @send_c3(%a: tensor<4xf32>, %b: !stablehlo.token) {
  // expected-error@below {{'stablehlo.send' op targets in source_target_pairs must be unique, got 1 twice}}
  %0 = "stablehlo.send"(%a, %b) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c4
func.func @send_c4(%a: tensor<4xf32>, %b: !stablehlo.token) {
  // expected-error@below {{'stablehlo.send' op ids in source_target_pairs must not be negative, got -1}}
  %0 = "stablehlo.send"(%a, %b) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

// recv_c1
func.func @recv_c1(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.recv' op source_target_pairs must have shape [n, 2], got [1, 3]}}
  %0:2 = "stablehlo.recv"(%a) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

// recv_c2
func.func @recv_c2(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.recv' op sources in source_target_pairs must be unique, got 0 twice}}
  %0:2 = "stablehlo.recv"(%a) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

// recv_c3
func.func @recv_c3(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.recv' op targets in source_target_pairs must be unique, got 1 twice}}
  %0:2 = "stablehlo.recv"(%a) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

// recv_c4
func.func @recv_c4(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.recv' op ids in source_target_pairs must not be negative, got -1}}
  %0:2 = "stablehlo.recv"(%a) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

// send_c5
func.func @send_c5(%a: tensor<4xf32>, %b: !stablehlo.token) {
  // expected-error@below {{'stablehlo.send' op channel type must be 2 (device to host) to match is_host_transfer, got 1}}
  %0 = "stablehlo.send"(%a, %b) <{is_host_transfer = true, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

// send_c5
func.func @send_c5_2(%a: tensor<4xf32>, %b: !stablehlo.token) {
  // expected-error@below {{'stablehlo.send' op channel type must be 1 (device to device) to match is_host_transfer, got 2}}
  %0 = "stablehlo.send"(%a, %b) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

// recv_c5
func.func @recv_c5(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.recv' op channel type must be 3 (host to device) to match is_host_transfer, got 1}}
  %0:2 = "stablehlo.recv"(%a) <{is_host_transfer = true, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

// recv_c5
func.func @recv_c5_2(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.recv' op channel type must be 1 (device to device) to match is_host_transfer, got 3}}
  %0:2 = "stablehlo.recv"(%a) <{is_host_transfer = false, channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_without_token(%a: !stablehlo.token) {
  // expected-error@below {{'stablehlo.recv' op last result must be a token, got 'tensor<4xf32>'}}
  %0 = "stablehlo.recv"(%a) <{is_host_transfer = true, channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>}> : (!stablehlo.token) -> tensor<4xf32>
  return
}
