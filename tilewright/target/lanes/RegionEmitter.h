// Emits scalar regions (arith, math, complex) as instructions on vectors.
#ifndef TILEWRIGHT_TARGET_LANES_REGIONEMITTER_H
#define TILEWRIGHT_TARGET_LANES_REGIONEMITTER_H

#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace tilewright::lanes {

/// The results of one op.
using Results = llvm::SmallVector<Lanes, 1>;

/// Emits the results of one op from its operands, which are all uniform or all have the same number
/// of lanes.
using OpEmitter = Results (*)(LaneBuilder &, mlir::Operation *, llvm::ArrayRef<Lanes>,
                              unsigned lanes);

/// Emits one op. If it has no implementation, sets `builder.failure` to the machine's error.
Results emitOp(LaneBuilder &builder, mlir::Operation *op, llvm::ArrayRef<Lanes> operands,
               unsigned lanes);

/// Emits a block with `arguments` as its block arguments; returns its terminator's operands.
llvm::SmallVector<Lanes, 2> emitBlock(LaneBuilder &builder, mlir::Block &block,
                                      llvm::ArrayRef<Lanes> arguments, unsigned lanes);

/// Estimates the cost of a block per vector, in instructions.
int64_t costOf(mlir::Block &block);

/// Emits an affine expression of index values.
llvm::Value *emitAffine(LaneBuilder &builder, mlir::AffineExpr expr,
                        llvm::ArrayRef<llvm::Value *> dims, llvm::ArrayRef<llvm::Value *> symbols);

/// Emits a function of complex numbers for one lane on a machine without the scalar table. Names
/// are those of numerics/scalar/Operations.def.
Lanes emitComplexAlone(LaneBuilder &builder, llvm::StringRef name, mlir::Type operand,
                       llvm::ArrayRef<Lanes> x);
/// Any of these functions, computed by pairs of f64 (MathPair.h).
Lanes emitComplexByPairs(LaneBuilder &builder, llvm::StringRef name, bool isSingle,
                         llvm::ArrayRef<Lanes> x);

/// An attribute as a constant of one element.
Lanes emitConstant(LaneBuilder &builder, mlir::Attribute attribute, mlir::Type type);

// The tables of emitOp, one for each dialect.
using OpTable = llvm::DenseMap<mlir::TypeID, OpEmitter>;
/// Sets the function that emits one op.
template <typename Op> void add(OpTable &table, OpEmitter emitter) {
  table[mlir::TypeID::get<Op>()] = emitter;
}
void addArithEmitters(OpTable &table);
void addMathEmitters(OpTable &table);
void addComplexEmitters(OpTable &table);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_REGIONEMITTER_H
