#ifndef TILEWRIGHT_DIALECT_LANE_LANEOPS_TD
#define TILEWRIGHT_DIALECT_LANE_LANEOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Lane_Dialect : Dialect {
  let name = "lane";
  let cppNamespace = "::tilewright::lane";
  let summary = "Scalar code of one thread between `sm` and LLVM IR.";
  let description = [{
    The ops stand in an `llvm.func` beside ops of the `llvm` and `nvvm` dialects. Their operands and results
    are registers: an integer, f32 or f64 has its own type, every smaller float is an f32 whose value the small
    type can represent, and a complex number is two values. `target/lanes` translates them to LLVM IR, with the
    same code that it emits for vectors on CPUs, so that both give the same bits.

    The attribute `lane.convergent` on an `llvm.inline_asm` says that no pass may make the instruction depend on
    more or less control flow: `llvm.inline_asm` itself cannot say it.
  }];
}

class Lane_Op<string mnemonic, list<Trait> traits = []> : Op<Lane_Dialect, mnemonic, traits>;

def Lane_MapOp : Lane_Op<"map", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Computes scalar ops for several registers.";
  let description = [{
    The body has `arith`, `math` and `complex` ops on elements. It is applied to each group of registers: the
    operands are the arguments of the first application, then those of the second, and so on; so are the results.

    ```mlir
    %sum:2 = lane.map(%a0, %b0, %a1, %b1) : (f32, f32, f32, f32) -> (f32, f32) {
    ^bb0(%a: bf16, %b: bf16):
      %s = arith.addf %a, %b : bf16
      lane.yield %s : bf16
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def Lane_YieldOp : Lane_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"MapOp">]> {
  let summary = "Returns the elements of one application of a map.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Lane_DecodeOp : Lane_Op<"decode", [Pure]> {
  let summary = "Converts a part of an element from its form in memory to its form in registers.";
  let arguments = (ins AnyType:$stored, TypeAttr:$element);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$stored `as` $element attr-dict `:` type($stored) `->` type($result)";
}

def Lane_EncodeOp : Lane_Op<"encode", [Pure]> {
  let summary = "Converts a part of an element from its form in registers to its form in memory.";
  let description = [{
    The result is an integer with the element's bits, or the float itself where LLVM has its type (f16, bf16).
  }];
  let arguments = (ins AnyType:$value, TypeAttr:$element);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `as` $element attr-dict `:` type($value) `->` type($result)";
}

#endif // TILEWRIGHT_DIALECT_LANE_LANEOPS_TD
