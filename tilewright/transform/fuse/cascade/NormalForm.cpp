#include "tilewright/transform/fuse/cascade/NormalForm.h"

#include <cmath>

using namespace mlir;

namespace tilewright::cascade {

/// A larger polynomial stays a single node: no profitable cascade has so many terms.
static constexpr size_t maxTerms = 64;

/// The product of two products.
static Factors multiply(const Factors &a, const Factors &b) {
  Factors result = a;
  for (auto [node, power] : b) {
    auto at = llvm::lower_bound(result, std::pair(node, std::numeric_limits<int>::min()));
    if (at == result.end() || at->first != node)
      result.insert(at, {node, power});
    else if ((at->second += power) == 0)
      result.erase(at);
  }
  return result;
}

/// Adds `scale` times a sum to another one.
template <typename Sum> static void addTo(Sum &to, const Sum &from, double scale) {
  for (const auto &[term, coefficient] : from) {
    double &sum = to[term];
    sum += scale * coefficient;
    if (sum == 0)
      to.erase(term);
  }
}

static Polynomial multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, leftCoefficient] : a)
    for (const auto &[right, rightCoefficient] : b) {
      Monomial product{multiply(left.factors, right.factors), left.exponent};
      addTo(product.exponent, right.exponent, 1);
      addTo(result, Polynomial{{product, leftCoefficient * rightCoefficient}}, 1);
    }
  return result;
}

static Polynomial atom(const Node &node, int power = 1) {
  return {{Monomial{{{node.id, power}}, {}}, 1.0}};
}

/// 1 / (a node with the given normal form).
static Polynomial inverse(const Node &node, const Polynomial &form) {
  if (form.size() != 1)
    return atom(node, -1);
  Monomial result;
  for (auto [factor, power] : form.begin()->first.factors)
    result.factors.push_back({factor, -power});
  addTo(result.exponent, form.begin()->first.exponent, -1);
  return {{result, 1 / form.begin()->second}};
}

bool becomesFactor(const Node &node, double coefficient) {
  return node.isOp("log") && coefficient == std::trunc(coefficient) && std::abs(coefficient) <= 4;
}

bool Normalizer::isLiveNode(const Node &node) const {
  return llvm::any_of(node.reads, [&](unsigned reduction) { return isLive(reduction); });
}

/// Whether 0 times an operand of a select may be taken for 0: true unless it is a constant that is
/// not finite.
static bool isFiniteChoice(const Node &node) {
  return node.kind != Node::Kind::constant || std::isfinite(node.number);
}

std::optional<Linear> Normalizer::linear(const Node &node) const {
  Linear result;
  for (const auto &[term, coefficient] : expand(node, /*isExponent=*/true)) {
    if (!term.exponent.empty())
      return std::nullopt;
    result[term.factors] = coefficient;
  }
  return result;
}

Polynomial Normalizer::exponential(const Node &node) const {
  std::optional<Linear> exponent = linear(*node.operands[0]);
  if (!exponent)
    return atom(node);
  Monomial result;
  for (const auto &[factors, coefficient] : *exponent) {
    const bool isSingle = factors.size() == 1 && factors[0].second == 1;
    if (isSingle && becomesFactor(*nodes.node(factors[0].first), coefficient))
      result.factors = multiply(result.factors, {{nodes.node(factors[0].first)->operands[0]->id,
                                                  static_cast<int>(coefficient)}});
    else
      result.exponent[factors] = coefficient;
  }
  return {{result, 1.0}};
}

Polynomial Normalizer::expand(const Node &node, bool isExponent) const {
  if (!isa<FloatType>(node.element))
    return atom(node);
  if (node.kind == Node::Kind::constant && std::isfinite(node.number))
    return node.number == 0 ? Polynomial() : Polynomial{{Monomial(), node.number}};
  const bool isTakenApart =
      isExponent || isMixed(node) || (expands == Expands::allOnAxis && node.onAxis);
  if (node.kind != Node::Kind::op || !isTakenApart)
    return atom(node);
  auto found = known.find({node.id, isExponent});
  if (found == known.end())
    found = known.try_emplace({node.id, isExponent}, expandOp(node, isExponent)).first;
  return found->second;
}

Polynomial Normalizer::expandOp(const Node &node, bool isExponent) const {
  auto operand = [&](size_t i) { return expand(*node.operands[i], isExponent); };
  Polynomial result;
  if (node.isOp("add") || node.isOp("subtract")) {
    result = operand(0);
    addTo(result, operand(1), node.isOp("add") ? 1 : -1);
  } else if (node.isOp("negate")) {
    addTo(result, operand(0), -1);
  } else if (node.isOp("multiply")) {
    const Polynomial left = operand(0), right = operand(1);
    if (left.size() * right.size() > maxTerms)
      return atom(node);
    result = multiply(left, right);
  } else if (node.isOp("divide")) {
    const Polynomial divisor = operand(1);
    result =
        divisor.empty() ? atom(node) : multiply(operand(0), inverse(*node.operands[1], divisor));
  } else if (node.isOp("convert") && isa<FloatType>(node.operands[0]->element)) {
    result = operand(0);
  } else if (node.isOp("exponential") && !isExponent) {
    result = exponential(node);
  } else if (node.isOp("select") && !isExponent && !isLiveNode(*node.operands[0]) &&
             isFiniteChoice(*node.operands[1]) && isFiniteChoice(*node.operands[2])) {
    // The condition as a number, 0 or 1: c * a + (1 - c) * b.
    const Polynomial onFalse = operand(2);
    result = operand(1);
    addTo(result, onFalse, -1);
    result = multiply(result, atom(*node.operands[0]));
    addTo(result, onFalse, 1);
  } else {
    return atom(node);
  }
  return result.size() > maxTerms ? atom(node) : result;
}

} // namespace tilewright::cascade
