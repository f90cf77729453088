// NormalForm: rewrites a node as a sum of products in which exponentials are combined.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_NORMALFORM_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_NORMALFORM_H

#include "tilewright/transform/fuse/cascade/Expression.h"

#include <compare>
#include <functional>

namespace tilewright::cascade {

/// A product of powers of nodes, by ascending id.
using Factors = std::vector<std::pair<unsigned, int>>;
/// A sum of products, each with its coefficient.
using Linear = std::map<Factors, double>;

/// factors * exp(exponent)
struct Monomial {
  Factors factors;
  Linear exponent;
  bool operator<(const Monomial &other) const {
    return std::tie(factors, exponent) < std::tie(other.factors, other.exponent);
  }
};
using Polynomial = std::map<Monomial, double>;

/// Normalises nodes of real numbers, as if arithmetic were exact.
///
/// The largest nodes that are constant along the axis, or that read no live reduction, remain as
/// they are: only nodes that mix the two are taken apart, or all that vary along the axis.
/// Exponents are taken apart completely, and logarithms in them become factors: exp(x - (m +
/// log(l))) is l^-1 * exp(x - m).
class Normalizer {
public:
  enum class Expands : uint8_t { mixed, allOnAxis };
  /// `isLive` tells which reductions are computed in the same pass.
  Normalizer(const Expressions &nodes, std::function<bool(unsigned)> isLive,
             Expands expands = Expands::mixed)
      : nodes(nodes), isLive(std::move(isLive)), expands(expands) {}

  Polynomial of(const Node &node) const { return expand(node, /*isExponent=*/false); }
  /// The node as a sum of terms without exponentials; nullopt if this is impossible.
  std::optional<Linear> linear(const Node &node) const;

  /// Whether a node depends on a reduction of the same pass.
  bool isLiveNode(const Node &node) const;
  /// Whether a node depends on such a reduction in the same way at each point of a row.
  bool isParameter(const Node &node) const { return isLiveNode(node) && !node.onAxis; }
  /// Whether it depends on such a reduction and varies along the axis.
  bool isMixed(const Node &node) const { return isLiveNode(node) && node.onAxis; }

private:
  Polynomial expand(const Node &node, bool isExponent) const;
  Polynomial expandOp(const Node &node, bool isExponent) const;
  Polynomial exponential(const Node &node) const;

  const Expressions &nodes;
  std::function<bool(unsigned)> isLive;
  Expands expands;
  mutable std::map<std::pair<unsigned, bool>, Polynomial> known;
};

/// Whether the node is log(…) and its coefficient in an exponent is a small integer, so that it
/// becomes a factor.
bool becomesFactor(const Node &node, double coefficient);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_NORMALFORM_H
