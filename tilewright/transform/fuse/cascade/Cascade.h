// Cascade: reductions of the same rows that depend on each other, and whether one pass computes
// them. README.md has the rule.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_CASCADE_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_CASCADE_H

#include "tilewright/transform/fuse/cascade/NormalForm.h"

#include "mlir/IR/Block.h"

#include <memory>
#include <set>

namespace tilewright::cascade {

/// The conditions of the rule. A reduction that depends on an earlier one is computed in the same
/// pass if all of them hold.
enum class Condition : uint8_t {
  none,           ///< all hold
  nonempty,       ///< a row has elements
  identity,       ///< the initial value is the identity of the combiner
  alignment,      ///< each row reads the earlier results of that row only
  separability,   ///< the map is a sum of products of factors that read only one of both
  exponents,      ///< all terms have the same exponential of earlier results
  rank,           ///< the map is a polynomial of few terms in the earlier results
  range,          ///< an exponent is bounded by the maximum that it subtracts
  distributivity, ///< the rescaling distributes over the combiner
  visibility,     ///< all earlier results that only some elements read are read by the same ones
};
std::string_view nameOf(Condition condition);

enum class Combiner : uint8_t { sum, product, maximum, minimum, other };

/// Masks that must all be true, or false, at an element.
using Conjunction = std::set<std::pair<unsigned, bool>>;

/// How a map depends on the parameters, the results of earlier reductions of the same pass:
///
///   f = factor * exp(exponent) * polynomial in the variables,     or     f = g + offset
///
/// A partial result holds the sum of the map without the factor and the offset, for some value of
/// the parameters, and of its derivatives by the variables. Changing the parameters multiplies it
/// by the quotient of the exponentials, and shifts the polynomial.
struct Form {
  Polynomial map;
  Factors factor;
  Linear exponent;
  std::vector<unsigned> variables;
  /// For each variable, whether it reads only plain sums of the pass. Such a variable soon comes
  /// near its final value, so partial results are relative to it. Any other variable may start far
  /// from its final value (a maximum of masked scores is -1e38 first), so partial results are
  /// relative to 0 instead.
  std::vector<bool> isSteady;
  /// The order of the derivative by each variable, for each part of a partial result. The first is
  /// the map itself.
  std::vector<std::vector<int>> derivatives = {{}};
  Linear offset;
  /// The parameters (by node) that only some elements of a row read, because a select chooses
  /// something else at the others, and the masks under which an element reads them: all masks of
  /// one conjunction. In a row without such an element these parameters must have no effect, not
  /// even if they are NaN. A partial result ends with whether any of its elements reads them.
  std::set<unsigned> hidden;
  std::set<Conjunction> readers;

  bool isIndependent() const {
    return factor.empty() && exponent.empty() && variables.empty() && offset.empty();
  }
};

/// A reduce, or a matmul whose contracted dimension is the axis.
struct Reduction {
  mlir::Operation *op = nullptr;
  Combiner combiner = Combiner::other;
  /// For a matmul: the number (0 or 1) of the operand whose shape is the space. The other operand
  /// is a factor of each term.
  unsigned mappedOperand = 0;
  /// The view of this operand.
  View view;
  /// The numbers that are reduced: one node for each operand of a reduce.
  llvm::SmallVector<const Node *, 1> maps;

  /// The pass over the rows in which it is computed.
  unsigned pass = 0;
  /// The condition that prevents an earlier pass, with both of its sides in words.
  Condition failed = Condition::none;
  std::string why;
  Form form;

  bool isMatmul() const;
};

/// Reductions over one axis, in program order, each of which depends on another one or is depended
/// on.
struct Cascade {
  explicit Cascade(const Space &space);
  Cascade(const Cascade &) = delete;
  Expressions nodes;
  std::vector<Reduction> reductions;
  unsigned passes = 0;

  const Space &space() const { return nodes.space; }
  /// The index of an op; the number of reductions if it is not among them.
  unsigned indexOf(mlir::Operation *op) const;
  /// Whether blocks of the rows may be reduced separately.
  bool canSplit() const;
  /// The decision in words, one line for each reduction.
  std::string describe() const;
};

/// How partial results of a reduction follow earlier results, or why they cannot.
std::string describe(const Reduction &reduction);

/// Finds the cascades among the ops of a block and decides them. The block is not changed.
std::vector<std::unique_ptr<Cascade>> findCascades(mlir::Block &block);

/// Decides the pass and the form of each reduction.
void decide(Cascade &cascade);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_CASCADE_H
