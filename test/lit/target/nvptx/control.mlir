// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A loop carries its counter in 32 bits, because its bounds are small constants, and each register of a tile. Threads
/// test the condition before the first iteration and at the end of each one.

// CHECK-LABEL: llvm.func @loop(
//       CHECK:   %[[LOWER:.*]] = llvm.trunc %{{.*}} : i64 to i32
//       CHECK:   %[[UPPER:.*]] = llvm.trunc %{{.*}} : i64 to i32
//       CHECK:   %[[STEP:.*]] = llvm.trunc %{{.*}} : i64 to i32
//       CHECK:   %[[RUNS:.*]] = llvm.icmp "slt" %[[LOWER]], %[[UPPER]] : i32
//       CHECK:   llvm.cond_br %[[RUNS]], ^[[LOOP:.*]](%[[LOWER]], %[[R0:.*]], %[[R1:.*]] : i32, f32, f32), ^[[AFTER:.*]](%[[R0]], %[[R1]] : f32, f32)
//       CHECK: ^[[AFTER]](%{{.*}}: f32, %{{.*}}: f32):
//       CHECK:   llvm.store
//       CHECK: ^[[LOOP]](%[[J:.*]]: i32, %[[SUM0:.*]]: f32, %[[SUM1:.*]]: f32):
//       CHECK:   llvm.load
//       CHECK:   %[[NEXT:.*]]:2 = lane.map(%[[SUM0]], %{{.*}}, %[[SUM1]], %{{.*}}) : (f32, f32, f32, f32) -> (f32, f32)
//       CHECK:   %[[K:.*]] = llvm.add %[[J]], %[[STEP]] overflow<nsw> : i32
//       CHECK:   %[[AGAIN:.*]] = llvm.icmp "slt" %[[K]], %[[UPPER]] : i32
//       CHECK:   llvm.cond_br %[[AGAIN]], ^[[LOOP]](%[[K]], %[[NEXT]]#0, %[[NEXT]]#1 : i32, f32, f32), ^[[AFTER]](%[[NEXT]]#0, %[[NEXT]]#1 : f32, f32)
#lanes = #sm.layout<[32 lane, 2 reg]>
sm.kernel @loop grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<640xf32>, %out: memref<64xf32>):
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c640 = arith.constant 640 : index
  %first = tile.load %x[%c0] : memref<640xf32> -> tensor<64xf32, #lanes>
  %sum = scf.for %j = %c64 to %c640 step %c64 iter_args(%acc = %first) -> tensor<64xf32, #lanes> {
    %t = tile.load %x[%j] : memref<640xf32> -> tensor<64xf32, #lanes>
    %next = tile.map(%acc, %t) : (tensor<64xf32, #lanes>, tensor<64xf32, #lanes>) -> tensor<64xf32, #lanes> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    scf.yield %next : tensor<64xf32, #lanes>
  }
  tile.store %sum, %out[%c0] : tensor<64xf32, #lanes>, memref<64xf32>
}

/// All threads hold the condition, so all take the same side; the result's registers are arguments of the block after it.

// CHECK-LABEL: llvm.func @branch(
//       CHECK:   %[[R0:.*]] = llvm.extractelement %[[TILE:.*]][%{{.*}}] : vector<2xf32>
//       CHECK:   %[[R1:.*]] = llvm.extractelement %[[TILE]][%{{.*}}] : vector<2xf32>
//       CHECK:   %[[N:.*]] = llvm.load %arg1
//       CHECK:   %[[POSITIVE:.*]] = lane.map(%[[N]], %{{.*}}) : (i32, i32) -> i1
//       CHECK:   llvm.cond_br %[[POSITIVE]], ^[[THEN:.*]], ^[[ELSE:bb[0-9]+]]
//       CHECK: ^[[AFTER:bb[0-9]+]](%{{.*}}: f32, %{{.*}}: f32):
//       CHECK:   llvm.store
//       CHECK: ^[[THEN]]:
//       CHECK:   %[[M:.*]]:2 = lane.map(%[[R0]], %[[R1]]) : (f32, f32) -> (f32, f32)
//       CHECK:   llvm.br ^[[AFTER]](%[[M]]#0, %[[M]]#1 : f32, f32)
//       CHECK: ^[[ELSE]]:
//       CHECK:   llvm.br ^[[AFTER]](%[[R0]], %[[R1]] : f32, f32)
sm.kernel @branch grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<64xf32>, %n: memref<i32>, %out: memref<64xf32>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32, #lanes>
  %loaded = tile.load %n[] : memref<i32> -> tensor<i32, #sm.layout<copies [32 lane]>>
  %value = tensor.extract %loaded[] : tensor<i32, #sm.layout<copies [32 lane]>>
  %positive = arith.cmpi sgt, %value, %zero : i32
  %r = scf.if %positive -> (tensor<64xf32, #lanes>) {
    %m = tile.map(%t) : (tensor<64xf32, #lanes>) -> tensor<64xf32, #lanes> {
    ^bb0(%a: f32):
      %c = arith.negf %a : f32
      tile.yield %c : f32
    }
    scf.yield %m : tensor<64xf32, #lanes>
  } else {
    scf.yield %t : tensor<64xf32, #lanes>
  }
  tile.store %r, %out[%c0] : tensor<64xf32, #lanes>, memref<64xf32>
}

// -----

/// Only structured control flow is supported.

// ERROR: E4051 target: while compiling kernel while: 'scf.while' at {{.*}} is not supported by the GPU target, which supports tile and sm ops, scf.for, scf.if,
sm.kernel @while grid [1] inputs 0 warps 1 {
^bb0(%i: index, %out: memref<4xf32>):
  %true = arith.constant true
  scf.while : () -> () {
    scf.condition(%true)
  } do {
    scf.yield
  }
}
