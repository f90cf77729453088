// Compares a program with itself after its reductions have been computed in blocks.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_TESTING_COMPAREINBLOCKS_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_TESTING_COMPAREINBLOCKS_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/transform/fuse/cascade/Cascade.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace tilewright::cascade {

/// Parses programs and judges them by the evaluator.
class Judge {
public:
  Judge();

  /// The decision about the largest cascade, "0, 0, 1 separability": the pass of each reduction,
  /// and the condition that fails.
  std::string decisionOf(const std::string &text);
  /// The description of all cascades.
  std::string description(const std::string &text);

  /// Inputs of the program: random numbers, of which some are -inf if `hasInfinities`. All elements
  /// of x in row 1 are, then. `center` is added to all of x and y.
  interpret::RuntimeValues inputs(const std::string &text, unsigned seed, bool hasInfinities,
                                  double center = 0);
  /// The results, after the reductions of the largest cascade have been computed in blocks unless
  /// `blockSize` is 0. Each failure is a failure of the test.
  interpret::RuntimeValues run(const std::string &text, const interpret::RuntimeValues &inputs,
                               int64_t blockSize = 0, bool asTree = false);

  /// The inputs with other last digits: each number times 1 plus or minus 1e-13.
  interpret::RuntimeValues nudged(const interpret::RuntimeValues &inputs, unsigned seed);

private:
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  mlir::MLIRContext context;
};

/// The largest difference of two results, relative to the magnitude of the first or 1. Numbers that
/// are not finite are equal to each other, and infinitely far from those that are.
double difference(const interpret::RuntimeValues &expected, const interpret::RuntimeValues &actual);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_TESTING_COMPAREINBLOCKS_H
