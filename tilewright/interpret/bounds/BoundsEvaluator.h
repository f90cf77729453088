// BoundsEvaluator: one evaluation with bounds, and the rules that compute the bounds of each op.
#ifndef TILEWRIGHT_INTERPRET_BOUNDS_BOUNDSEVALUATOR_H
#define TILEWRIGHT_INTERPRET_BOUNDS_BOUNDSEVALUATOR_H

#include "tilewright/interpret/bounds/Bounds.h"
#include "tilewright/interpret/evaluate/OpEvaluator.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

#include <limits>
#include <string>

namespace tilewright::interpret {

inline constexpr double unknown = std::numeric_limits<double>::infinity();
using BoundList = std::vector<double>;

class BoundsEvaluator {
public:
  BoundsEvaluator(mlir::ModuleOp module, const Allowance &allowance,
                  const InterpretOptions &limits);

  Result<std::vector<Bounded>> call(llvm::StringRef function, std::vector<Bounded> inputs);

  using Operands = std::vector<Bounded>;
  using Results = std::vector<Bounded>;

private:
  using Frame = llvm::DenseMap<mlir::Value, Bounded>;

  Result<Results> runRegion(mlir::Region &region, const Operands &arguments, Frame &frame);
  Result<Results> runOp(mlir::Operation *op, Frame &frame);
  Result<Results> runLoop(mlir::Operation *op, Operands state, Frame &frame);
  Result<Results> runBranch(mlir::Operation *op, const Operands &operands, Frame &frame);

  /// Computes the bounds of `results`, whose values are already set.
  Status setBounds(mlir::Operation *op, const Operands &operands, Results &results);

  /// Evaluates `op` on f64 tensors instead of its floats. The op's region is replaced by the binary
  /// op named `body`, or, if `body` is empty, cloned with f64 instead of its floats.
  Result<std::vector<Tensor>> onDoubles(mlir::Operation *op, std::vector<Tensor> operands,
                                        llvm::StringRef body = {});
  /// The values as a tensor of f64 with the shape of `like`.
  Result<Tensor> doubles(const Tensor &like, const BoundList &values);
  /// The magnitude plus the bound of each element, or 0 if that is not finite: an upper bound on
  /// the terms of a sum.
  BoundList magnitudes(const Bounded &operand) const;

  /// Runs a reduction of one tensor, with the op named `body`, on the doubles `elements` instead of
  /// its input, and `starts` instead of its initial value or updates.
  Result<Tensor> reduceDoubles(mlir::Operation *op, const Operands &operands,
                               const BoundList &elements, const BoundList &starts,
                               llvm::StringRef body);
  /// The number of terms of each element of a reduction; 0 where a scatter has no updates.
  Result<Tensor> countTerms(mlir::Operation *op, const Operands &operands);
  /// Runs a matmul or convolution on `lhs` and `rhs`, which are doubles, in place of its operands.
  Result<Tensor> multiplyDoubles(mlir::Operation *op, const Operands &operands,
                                 const BoundList &lhs, const BoundList &rhs);
  /// For each element of a matmul or convolution, whether one of its factors is unknown.
  Result<std::vector<bool>> findUnknownProducts(mlir::Operation *op, const Operands &operands);

  // The rules by topic. Each sets results[i].bounds.
  bool setElementwise(mlir::Operation *op, const Operands &operands, Results &results);
  Status setMovement(mlir::Operation *op, const Operands &operands, Results &results);
  Status setReduction(mlir::Operation *op, const Operands &operands, Results &results);
  Status setSelectAndScatter(mlir::Operation *op, const Operands &operands, Results &results);
  Status setSort(mlir::Operation *op, const Operands &operands, Results &results);
  Status setProduct(mlir::Operation *op, const Operands &operands, Results &results);
  /// The bounds of reduce, reduce_window or scatter of one tensor of reals, with `add` or
  /// `multiply` as its body. In a product, relative errors add up if no partial product overflows
  /// or underflows. `worst` is the largest bound of a term.
  Status setRealSum(mlir::Operation *op, const Operands &operands, Bounded &result);
  Status setRealProduct(mlir::Operation *op, const Operands &operands, const Tensor &worst,
                        Bounded &result);
  void setFft(mlir::Operation *op, const Operands &operands, Results &results);
  void setTriangularSolve(mlir::Operation *op, const Operands &operands, Results &results);
  void setCholesky(mlir::Operation *op, const Operands &operands, Results &results);
  void setBatchNorm(mlir::Operation *op, const Operands &operands, Results &results);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  const Allowance allowance;
  const InterpretOptions limits;
  OpEvaluator ops;
  Context context;
  std::unique_ptr<mlir::Block> scratch; // holds operands of ops outside of the program
  int64_t depth = 0;
};

/// The inputs for the bound of a sum of terms in any order.
struct SumTerms {
  double magnitude = 0; // upper bound of the sum of the terms' magnitudes
  double inherited = 0; // the sum of the terms' own bounds
  double lattice = 0;   // every term is an exact multiple of it; 0 if unknown
  int64_t roundings = 0;
};
double boundOfSum(ElementType accumulated, double value, const SumTerms &terms);

/// The distance between adjacent values of `type` at a magnitude.
double ulpAt(ElementType type, double magnitude);
/// Half of the distance between adjacent values, relative to the value.
double unitRoundoff(ElementType type);
double largestFinite(ElementType type);
double smallestSubnormal(ElementType type);
double smallestNormal(ElementType type);
/// The largest power of two that every finite element is a multiple of; infinity if all are 0.
double latticeOf(const Tensor &tensor);

/// The name of the op if the body consists only of this op on its two arguments, otherwise "".
llvm::StringRef onlyOpOf(mlir::Region &region);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_BOUNDS_BOUNDSEVALUATOR_H
