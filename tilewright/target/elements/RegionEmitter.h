// Scalar regions (arith, math, complex) as instructions on vectors.
#ifndef TILEWRIGHT_TARGET_ELEMENTS_REGIONEMITTER_H
#define TILEWRIGHT_TARGET_ELEMENTS_REGIONEMITTER_H

#include "tilewright/target/elements/Lanes.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace tilewright::lanes {

/// What the results of one op are, given its operands: all uniform or all with the same lanes.
using OpEmitter = llvm::SmallVector<Lanes, 1> (*)(LaneBuilder &, mlir::Operation *,
                                                  llvm::ArrayRef<Lanes>, unsigned lanes);

/// Instructions for one op; E4003 through `builder.failure` if there are none.
llvm::SmallVector<Lanes, 1> emitOp(LaneBuilder &builder, mlir::Operation *op,
                                   llvm::ArrayRef<Lanes> operands, unsigned lanes);

/// Instructions for a block whose arguments are `arguments`; the values that its terminator has.
llvm::SmallVector<Lanes, 2> emitBlock(LaneBuilder &builder, mlir::Block &block,
                                      llvm::ArrayRef<Lanes> arguments, unsigned lanes);

/// A guess at the cost of a block for one vector, in instructions.
int64_t costOf(mlir::Block &block);

/// An affine expression of index values.
llvm::Value *emitAffine(LaneBuilder &builder, mlir::AffineExpr expr,
                        llvm::ArrayRef<llvm::Value *> dims, llvm::ArrayRef<llvm::Value *> symbols);

/// A function of complex numbers on a machine without the scalar table, one lane; refused where it
/// has no instructions. Names are those of interpret/scalar/Operations.def.
Lanes emitComplexAlone(LaneBuilder &builder, llvm::StringRef name, mlir::Type operand,
                       mlir::Type result, llvm::ArrayRef<Lanes> x);

/// The constant that an attribute is, as one element.
Lanes emitConstant(LaneBuilder &builder, mlir::Attribute attribute, mlir::Type type);

// The tables that emitOp looks into, one for each dialect.
using OpTable = llvm::DenseMap<mlir::TypeID, OpEmitter>;
void addArithEmitters(OpTable &table);
void addMathEmitters(OpTable &table);
void addComplexEmitters(OpTable &table);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_ELEMENTS_REGIONEMITTER_H
