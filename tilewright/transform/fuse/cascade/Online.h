// Online: computes a pass of a cascade block by block, with partial results that can be merged.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ONLINE_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ONLINE_H

#include "tilewright/transform/fuse/cascade/Cascade.h"

#include "mlir/IR/Builders.h"

namespace tilewright::cascade {

/// Elements [start, start + size) along the first axis of the space. If `at` is set, it is the
/// start as a scalar computed at run time.
struct Slice {
  int64_t start = 0, size = 0;
  mlir::Value at = {};
};

/// The results of the reductions of some elements of each row: for each reduction of the pass, the
/// sums of its map and of the map's derivatives, and whether any element reads hidden parameters.
///
/// They are relative to parameters that follow from the partial results before them
/// (Online::parametersOf): sums depend on the maximum so far, for example. `count` is the number of
/// positions along the first axis that they cover.
struct Partial {
  int64_t count = 0;
  std::vector<std::vector<mlir::Value>> parts;
};

/// The values of reductions, by number: one for each result; empty if unknown.
using Values = std::vector<llvm::SmallVector<mlir::Value, 1>>;

/// Emits StableHLO that computes the reductions of one pass.
///
///   Online online(builder, loc, cascade, pass, results);   // results of earlier passes
///   Partial a = online.reduce({0, 64}), b = online.reduce({64, 64});
///   online.update(a, {128, 32});                           // sequence
///   online.finish(online.merge(a, b), results);            // tree
class Online {
public:
  /// `known` are the results of earlier passes.
  Online(mlir::OpBuilder &builder, mlir::Location loc, const Cascade &cascade, unsigned pass,
         Values known);

  /// The partial results of some elements.
  Partial reduce(const Slice &slice) { return update({}, slice); }
  /// Adds some elements to partial results, which may be empty.
  Partial update(const Partial &partial, const Slice &slice);
  /// Combines the partial results of two sets of elements.
  Partial merge(const Partial &a, const Partial &b);
  /// The results of the reductions of this pass, from the partial results of all elements. The
  /// others are unchanged.
  Values finish(const Partial &partial);

private:
  using Value = mlir::Value;

  std::vector<Value> partsOf(unsigned index, const Slice &slice, const Values &parameters);
  /// Rescales the parts to other parameters, which are the final results if `isLast`.
  std::vector<Value> move(unsigned index, const std::vector<Value> &parts, const Values &from,
                          const Values &to, bool isLast = false);
  std::vector<Value> combine(unsigned index, const std::vector<Value> &a,
                             const std::vector<Value> &b);
  /// Sets the parameters that follow from the parts of a reduction of `count` elements.
  void setParameter(unsigned index, const std::vector<Value> &parts, int64_t count,
                    Values &parameters);
  /// Applies the factor and the offset.
  llvm::SmallVector<Value, 1> complete(unsigned index, const std::vector<Value> &parts,
                                       const Values &parameters);
  /// The value, or a number in rows whose elements do not read the parameter (Form::hidden).
  Value ifRead(unsigned index, unsigned parameter, const std::vector<Value> &parts, Value value,
               double otherwise);
  /// A number for each row, repeated to the shape of a part.
  Value spread(unsigned index, Value row, mlir::Type like);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const Cascade &cascade;
  unsigned pass;
  Values known;
};

/// Replaces the reductions of a cascade by ones of blocks of `blockSize` elements, merged in
/// sequence or as a balanced tree. The cascade must be splittable (canSplit); its ops are erased.
void computeInBlocks(const Cascade &cascade, int64_t blockSize, bool asTree);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ONLINE_H
