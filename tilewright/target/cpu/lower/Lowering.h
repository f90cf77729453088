// Declarations shared by the files of cpu-lower-ops.
#ifndef TILEWRIGHT_TARGET_CPU_LOWER_LOWERING_H
#define TILEWRIGHT_TARGET_CPU_LOWER_LOWERING_H

#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cpu {

/// The state of the pass: creates functions from regions, with equal regions sharing one function,
/// and numbers collectives.
class Lowering {
public:
  Lowering(mlir::ModuleOp module, mlir::SymbolTable &symbols) : module(module), symbols(symbols) {}

  mlir::ModuleOp module;
  mlir::SymbolTable &symbols;
  int64_t nextCollective = 0;

  /// The operation of a region that combines two elements; `function` if it is not a known one.
  static numerics::Combiner combinerOf(mlir::Region &region);
  /// Like combinerOf(), for the region of a scatter, which may also overwrite.
  static numerics::Combiner updaterOf(mlir::Region &region);
  /// Like combinerOf(), for the region of a reduce, which may also be argmax or argmin of pairs of
  /// a value and an index.
  static numerics::Combiner reducerOf(mlir::Region &region);
  /// The classification of a sort's comparator.
  struct Comparator {
    numerics::Comparator kind = numerics::Comparator::function;
    int64_t operand = 0;
    bool isTotalOrder = false;
    /// JAX's comparator: -0 equals +0, and all NaNs are equal and come last.
    bool isCanonical = false;
  };
  static Comparator comparatorOf(mlir::Region &region);
  /// The comparison of a region of two elements; `function` if it is not a known comparison.
  static numerics::Selector selectorOf(mlir::Region &region);

  /// Creates a private scalar function for the region; reports an error at the op if that is
  /// impossible.
  mlir::FailureOr<mlir::FlatSymbolRefAttr> functionOf(mlir::Region &region);

  /// Lowers an op that the library implements; nullopt if it does not.
  std::optional<mlir::LogicalResult> lowerToLibrary(mlir::Operation *op);
  mlir::LogicalResult lowerCustomCall(mlir::Operation *op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);
  /// Creates a kernel for one elementwise op and launches it.
  mlir::LogicalResult lowerElementwise(mlir::Operation *op);

private:
  llvm::StringMap<mlir::FlatSymbolRefAttr> functions; // by the text of the region
};

/// Reports E4004 at the op.
mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why);

/// Creates the library call for a product, stablehlo.dot_general or exec.scaled_dot, with an
/// epilogue if there is a `productType`.
exec::DotGeneralOp createProduct(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::TypeRange results, mlir::Operation *product,
                                 mlir::ValueRange epilogueInputs, mlir::TypeAttr productType,
                                 mlir::ArrayAttr bodies);

/// Lowers an op that represents JAX's top_k, with these attributes.
mlir::LogicalResult lowerTopK(mlir::Operation *op, mlir::DictionaryAttr attributes);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_LOWER_LOWERING_H
