// RUN: tilewright-opt %s --import --split-input-file --verify-diagnostics

/// A program: functions of func, stablehlo and sdy that call each other without a cycle.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{E1107 import: a function must not call itself: @main calls @again calls @main}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error-re @below {{E1106 import: 'exec.copy' at {{.*}} is not an op of func, stablehlo or sdy, the dialects of a program}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = exec.copy %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error-re @below {{E1106 import: 'tile.kernel' at {{.*}} is not an op of func, stablehlo or sdy, the dialects of a program}}
module {
  tile.kernel @nothing grid [1] inputs 0 {
  ^bb0(%i: index):
  }
}
