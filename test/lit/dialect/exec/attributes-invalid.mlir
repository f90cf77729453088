// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

// expected-error@below {{attribute 'exec.target' must be an #exec.target, got {chip = "sm_90a"}}}
module attributes {exec.target = {chip = "sm_90a"}} {}

// -----

// expected-error@below {{attribute 'exec.target' is valid only on a module}}
func.func private @f() attributes {exec.target = #exec.target<units = 2>}

// -----

// expected-error@below {{target must describe either a CPU or a GPU, got both}}
module attributes {exec.target = #exec.target<cpu = <vector_bytes = 16>, gpu = <warp_size = 64>>} {}

// -----

// expected-error@below {{units must be at least 1, got 0}}
module attributes {exec.target = #exec.target<units = 0>} {}

// -----

// expected-error@below {{types must be a list of element types such as [f16, tf32], got "f16"}}
#matrix = #exec.matrix<types = ["f16"]>

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{unknown collective 'gossip'}}
  // expected-error@below {{failed to parse Exec_CollectiveAttr parameter 'kind'}}
  %0 = exec.collective_start <kind = gossip>(%x) {id = 7 : i64, groups = dense<0> : tensor<1x1xi64>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
