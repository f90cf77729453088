// Decides whether a reduction can be computed in the same pass as those that it depends on.
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/fuse/cascade/Cascade.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::cascade {

/// The maximum number of tensors in a partial result.
static constexpr size_t maxParts = 8;
/// The maximum number of conjunctions of masks under which an element reads an earlier result.
static constexpr size_t maxConjunctions = 8;

namespace {

/// The decision about one reduction.
class Decision {
public:
  Decision(const Cascade &cascade, const Reduction &reduction, unsigned pass)
      : cascade(cascade), reduction(reduction), pass(pass),
        normalizer(cascade.nodes, [&cascade, pass](unsigned other) {
          return cascade.reductions[other].pass == pass;
        }) {}

  /// Finds the form, or the condition that fails.
  bool run();

  Form form;
  Condition failed = Condition::none;
  std::string why;

private:
  const Node &node(unsigned id) const { return *cascade.nodes.node(id); }
  bool fail(Condition condition, std::string reason) {
    failed = condition;
    why = std::move(reason);
    return false;
  }
  bool separate();
  bool splitExponent(const Monomial &term, Linear &ofParameters, Linear &ofElements);
  bool findFactorAndVariables();
  bool addDerivatives();
  bool boundExponent();
  bool distribute();
  bool findHidden();
  bool findOffset();
  bool isBoundOf(const Node &parameter, const Reduction *&bounded) const;
  bool isNonNegative(const Node &value);
  bool findNonNegative(const Node &value);
  bool isSteady(const Node &parameter) const;

  const Cascade &cascade;
  const Reduction &reduction;
  unsigned pass;
  Normalizer normalizer;
  llvm::DenseMap<const Node *, bool> nonNegative; // what isNonNegative() returned before
};

/// Separates an exponent into the part that depends on parameters and the rest.
bool Decision::splitExponent(const Monomial &term, Linear &ofParameters, Linear &ofElements) {
  for (const auto &[factors, coefficient] : term.exponent) {
    bool hasParameter = false, hasElement = false;
    for (auto [id, power] : factors) {
      hasParameter |= normalizer.isLiveNode(node(id));
      hasElement |= node(id).onAxis;
    }
    if (hasParameter && hasElement)
      return fail(Condition::separability,
                  "an exponent multiplies an element by an earlier result");
    (hasParameter ? ofParameters : ofElements)[factors] = coefficient;
  }
  return true;
}

/// Every factor reads elements or parameters, never both.
bool Decision::separate() {
  bool isFirst = true;
  for (const auto &[term, coefficient] : form.map) {
    for (auto [id, power] : term.factors)
      if (normalizer.isMixed(node(id)))
        return fail(Condition::separability,
                    concat(toString(node(id)), " is not a product of a function of the element and "
                                               "one of earlier results"));
    Linear ofParameters, ofElements;
    if (!splitExponent(term, ofParameters, ofElements))
      return false;
    if (!isFirst && ofParameters != form.exponent)
      return fail(Condition::exponents, "the terms have different exponentials of earlier results");
    isFirst = false;
    form.exponent = std::move(ofParameters);
  }
  return true;
}

/// Parameters with the same power in all terms form a factor; the others are variables.
bool Decision::findFactorAndVariables() {
  std::map<unsigned, int> smallest, largest;
  std::map<unsigned, size_t> occurrences;
  for (const auto &[term, coefficient] : form.map)
    for (auto [id, power] : term.factors)
      if (normalizer.isLiveNode(node(id))) {
        auto [entry, isNew] = smallest.try_emplace(id, power);
        entry->second = std::min(entry->second, power);
        largest[id] = isNew ? power : std::max(largest[id], power);
        ++occurrences[id];
      }
  for (auto [id, power] : smallest) {
    if (occurrences[id] == form.map.size() && power == largest[id]) {
      form.factor.push_back({id, power});
      continue;
    }
    if (power < 0)
      return fail(Condition::rank,
                  concat("some terms are divided by ", toString(node(id)), " and others are not"));
    form.variables.push_back(id);
    form.isSteady.push_back(isSteady(node(id)));
  }
  for (const auto &[term, coefficient] : form.map) {
    int degree = 0;
    for (auto [id, power] : term.factors)
      if (auto at = llvm::find(form.variables, id);
          at != form.variables.end() &&
          !form.isSteady[static_cast<size_t>(at - form.variables.begin())])
        degree += power;
    // The terms of a square would cancel each other far from zero.
    if (degree > 1)
      return fail(Condition::range,
                  "the map is a square of differences from an extremum, or from a sum that "
                  "depends on one");
  }
  return true;
}

/// Whether a parameter reads only sums that do not depend on parameters.
bool Decision::isSteady(const Node &parameter) const {
  return llvm::all_of(parameter.reads, [&](unsigned index) {
    const Reduction &read = cascade.reductions[index];
    return read.pass != pass || (read.combiner == Combiner::sum && read.form.isIndependent());
  });
}

/// The derivatives that do not vanish: all orders up to those of a term.
bool Decision::addDerivatives() {
  std::vector<std::vector<int>> orders = {std::vector<int>(form.variables.size(), 0)};
  for (const auto &[term, coefficient] : form.map) {
    std::vector<std::vector<int>> below = {{}};
    for (unsigned variable : form.variables) {
      int power = 0;
      for (auto [id, termPower] : term.factors)
        if (id == variable)
          power = termPower;
      std::vector<std::vector<int>> longer;
      for (const std::vector<int> &order : below)
        for (int next = 0; next <= power; ++next) {
          longer.push_back(order);
          longer.back().push_back(next);
        }
      below = std::move(longer);
      if (below.size() > maxParts)
        return fail(Condition::rank, concat("the map needs more than ", maxParts, " sums"));
    }
    for (std::vector<int> &order : below)
      if (!llvm::is_contained(orders, order))
        orders.push_back(std::move(order));
  }
  if (orders.size() > maxParts)
    return fail(Condition::rank,
                concat("the map needs ", orders.size(), " sums, at most ", maxParts, " are kept"));
  form.derivatives = std::move(orders);
  return true;
}

/// Whether a value, wherever it is finite, is greater than or equal to the maximum of a reduction
/// (or less than or equal to the minimum).
bool Decision::isBoundOf(const Node &parameter, const Reduction *&bounded) const {
  if (parameter.kind == Node::Kind::reduced) {
    bounded = &cascade.reductions[parameter.reduction];
    return bounded->combiner == Combiner::maximum || bounded->combiner == Combiner::minimum;
  }
  // JAX replaces an infinite maximum by zero.
  if (parameter.isOp("select") && parameter.operands[0]->isOp("is_finite") &&
      parameter.operands[0]->operands[0] == parameter.operands[1])
    return isBoundOf(*parameter.operands[1], bounded);
  if (parameter.isOp("maximum") || parameter.isOp("minimum"))
    for (const Node *operand : parameter.operands)
      if (isBoundOf(*operand, bounded) &&
          (bounded->combiner == Combiner::maximum) == parameter.isOp("maximum"))
        return true;
  return false;
}

/// An exponential of parameters must cancel the largest exponential of elements: then no partial
/// result is out of range for any value that the parameters take on the way.
bool Decision::boundExponent() {
  if (form.exponent.empty())
    return true;
  const auto &[factors, coefficient] = *form.exponent.begin();
  const Reduction *bounded = nullptr;
  if (form.exponent.size() != 1 || factors.size() != 1 || factors[0].second != 1 ||
      !isBoundOf(node(factors[0].first), bounded))
    return fail(Condition::range, "the exponent does not subtract a maximum");
  if ((coefficient < 0) != (bounded->combiner == Combiner::maximum))
    return fail(Condition::range, "the exponent adds a maximum or subtracts a minimum");
  if (bounded->maps.size() != 1 || normalizer.isLiveNode(*bounded->maps[0]))
    return fail(Condition::range, "the maximum depends on an earlier result");
  const std::optional<Linear> reduced = normalizer.linear(*bounded->maps[0]);
  if (!reduced)
    return fail(Condition::range, "the maximum is that of an exponential");
  for (const auto &[term, termCoefficient] : form.map) {
    Linear ofParameters, rest;
    splitExponent(term, ofParameters, rest);
    for (const auto &[product, value] : *reduced)
      if ((rest[product] += coefficient * value) == 0)
        rest.erase(product);
    for (const auto &[product, value] : rest)
      for (auto [id, power] : product)
        if (node(id).onAxis)
          return fail(Condition::range, concat("the maximum that the exponent subtracts is not "
                                               "that of its elements: ",
                                               toString(node(id)), " remains"));
  }
  return true;
}

/// Whether a value is never negative; NaN counts as not negative.
bool Decision::isNonNegative(const Node &value) {
  // Nodes are shared, so there may be exponentially many paths to one.
  if (auto known = nonNegative.find(&value); known != nonNegative.end())
    return known->second;
  const bool result = findNonNegative(value);
  return nonNegative[&value] = result;
}

bool Decision::findNonNegative(const Node &value) {
  if (value.kind == Node::Kind::constant)
    return value.number >= 0;
  if (value.kind == Node::Kind::reduced) {
    const Reduction &source = cascade.reductions[value.reduction];
    return !source.isMatmul() && source.combiner != Combiner::other && source.maps.size() == 1 &&
           isNonNegative(*source.maps[0]);
  }
  if (value.kind != Node::Kind::op)
    return false;
  auto operand = [&](size_t i) { return isNonNegative(*value.operands[i]); };
  if (value.isOp("abs") || value.isOp("exponential") || value.isOp("sqrt") || value.isOp("rsqrt") ||
      value.isOp("logistic"))
    return isa<FloatType>(value.element);
  if (value.isOp("multiply"))
    return value.operands[0] == value.operands[1] || (operand(0) && operand(1));
  if (value.isOp("add") || value.isOp("divide") || value.isOp("minimum"))
    return operand(0) && operand(1);
  if (value.isOp("maximum"))
    return operand(0) || operand(1);
  return value.isOp("convert") && isa<FloatType>(value.operands[0]->element) && operand(0);
}

/// A maximum of g(element) + h(parameters).
bool Decision::findOffset() {
  for (const auto &[term, coefficient] : form.map) {
    bool hasParameter = false, hasElement = false;
    for (auto [id, power] : term.factors) {
      hasParameter |= normalizer.isLiveNode(node(id));
      hasElement |= node(id).onAxis;
      if (normalizer.isLiveNode(node(id)) && power < 0)
        return false;
    }
    if (!term.exponent.empty() || (hasParameter && hasElement))
      return false;
    if (hasParameter)
      form.offset[term.factors] = coefficient;
  }
  return true;
}

/// Multiplication distributes over sums, and over maxima and minima if the factor is not negative.
bool Decision::distribute() {
  switch (reduction.combiner) {
  case Combiner::sum:
    return true;
  case Combiner::maximum:
  case Combiner::minimum:
    if (!form.variables.empty())
      return fail(Condition::distributivity,
                  "a polynomial in earlier results does not distribute over a maximum or minimum");
    for (auto [id, power] : form.factor)
      if (power % 2 != 0 && !isNonNegative(node(id)))
        return fail(Condition::distributivity,
                    concat("multiplication by ", toString(node(id)),
                           ", which may be negative, does not distribute over a maximum or "
                           "minimum"));
    return true;
  case Combiner::product:
    return fail(Condition::distributivity, "rescaling does not distribute over a product");
  case Combiner::other:
    return fail(Condition::distributivity, "no rescaling is known for this combiner");
  }
  return false;
}

/// Finds the parameters that selects hide from some elements.
bool Decision::findHidden() {
  // Users have higher numbers than their operands. No condition at all is one empty conjunction.
  std::map<unsigned, std::set<Conjunction>, std::greater<>> work = {
      {reduction.maps[0]->id, {Conjunction()}}};
  std::map<unsigned, std::set<Conjunction>> found;
  while (!work.empty()) {
    auto [id, readers] = *work.begin();
    work.erase(work.begin());
    if (readers.contains({}))
      readers = {Conjunction()};
    if (readers.size() > maxConjunctions)
      return fail(Condition::visibility, concat(toString(node(id)), " is read under more than ",
                                                maxConjunctions, " combinations of masks"));
    found[id] = readers;
    for (auto [index, operand] : llvm::enumerate(node(id).operands)) {
      if (!normalizer.isLiveNode(*operand))
        continue;
      const bool isChoice = node(id).onAxis && node(id).isOp("select") && index > 0;
      for (Conjunction reader : readers) {
        if (isChoice)
          reader.insert({node(id).operands[0]->id, index == 1});
        work[operand->id].insert(std::move(reader));
      }
    }
  }
  std::vector<unsigned> parameters = form.variables;
  for (const auto &[id, power] : form.factor)
    parameters.push_back(id);
  for (const auto &[factors, coefficient] : form.exponent)
    for (auto [id, power] : factors)
      parameters.push_back(id);
  for (unsigned id : parameters) {
    const std::set<Conjunction> &readers = found[id];
    if (readers.empty() || readers.contains({}))
      continue;
    if (!form.hidden.empty() && form.readers != readers)
      return fail(Condition::visibility,
                  concat(toString(node(id)), " is read by other elements than ",
                         toString(node(*form.hidden.begin()))));
    form.hidden.insert(id);
    form.readers = readers;
  }
  return true;
}

bool Decision::run() {
  if (reduction.combiner == Combiner::product || reduction.combiner == Combiner::other)
    return distribute();
  form.map = normalizer.of(*reduction.maps[0]);
  if (reduction.combiner != Combiner::sum && findOffset())
    return true;
  form.offset.clear();
  return separate() && findFactorAndVariables() && distribute() && addDerivatives() &&
         boundExponent() && findHidden();
}

} // namespace

/// Whether combining with the initial value has no effect, or no further effect when it is
/// repeated.
static bool startsFromIdentity(const Reduction &reduction) {
  auto reduce = dyn_cast<stablehlo::ReduceOp>(reduction.op);
  if (!reduce || (reduction.combiner != Combiner::sum && reduction.combiner != Combiner::product))
    return true;
  DenseElementsAttr init;
  if (!matchPattern(reduce.getInitValues()[0], m_Constant(&init)) || !init.isSplat())
    return false;
  const double identity = reduction.combiner == Combiner::sum ? 0 : 1;
  if (isa<FloatType>(init.getElementType()))
    return init.getSplatValue<APFloat>().isExactlyValue(identity);
  return isa<IntegerType>(init.getElementType()) &&
         init.getSplatValue<APInt>() == static_cast<uint64_t>(identity);
}

/// The reductions on whose results a value depends, other than through nodes of the cascade.
static void addSources(const Cascade &cascade, Value value, std::vector<bool> &found) {
  Operation *first = cascade.reductions.front().op;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> work;
  auto visit = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    // An op before the first reduction cannot depend on any of them.
    if (op && op->getBlock() == first->getBlock() && !op->isBeforeInBlock(first) &&
        seen.insert(op).second)
      work.push_back(op);
  };
  visit(value);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (const unsigned index = cascade.indexOf(op); index < found.size())
      found[index] = true;
    // Regions may read values of the block, too.
    op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
  }
}

/// The reductions that must be complete before the reduction starts, because it does not read them
/// row by row.
static std::vector<bool> sourcesOf(const Cascade &cascade, const Reduction &reduction) {
  std::vector<bool> found(cascade.reductions.size());
  llvm::SmallPtrSet<const Node *, 16> seen;
  SmallVector<const Node *> work(reduction.maps.begin(), reduction.maps.end());
  while (!work.empty()) {
    const Node *node = work.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (node->kind == Node::Kind::leaf)
      addSources(cascade, node->value, found);
    work.append(node->operands.begin(), node->operands.end());
  }
  if (reduction.isMatmul())
    addSources(cascade, reduction.op->getOperand(1 - reduction.mappedOperand), found);
  return found;
}

/// Decides one reduction, after all earlier ones.
static void decide(Cascade &cascade, Reduction &reduction) {
  const std::vector<bool> sources = sourcesOf(cascade, reduction);
  std::vector<unsigned> reads;
  for (const Node *map : reduction.maps)
    reads.insert(reads.end(), map->reads.begin(), map->reads.end());
  unsigned pass = 0, afterSources = 0;
  for (unsigned other : reads)
    pass = std::max(pass, cascade.reductions[other].pass);
  for (auto [other, isSource] : llvm::enumerate(sources))
    if (isSource)
      afterSources = std::max(afterSources, cascade.reductions[other].pass + 1);
  if (!startsFromIdentity(reduction)) {
    reduction.failed = Condition::identity;
    reduction.why = "the initial value is not the identity of the combiner";
    reduction.pass = std::max(pass + (reads.empty() ? 0 : 1), afterSources);
  } else if (afterSources > pass) {
    reduction.failed = Condition::alignment;
    reduction.why = "it reads earlier results of other rows, or through another op";
    reduction.pass = afterSources;
  } else if (!reads.empty() && cascade.space().length() == 0) {
    reduction.failed = Condition::nonempty;
    reduction.why = "the rows have no elements";
    reduction.pass = pass + 1;
  } else if (!reads.empty()) {
    Decision decision(cascade, reduction, pass);
    if (decision.run()) {
      reduction.pass = pass;
      reduction.form = std::move(decision.form);
    } else {
      reduction.pass = pass + 1;
      reduction.failed = decision.failed;
      reduction.why = std::move(decision.why);
    }
  }
}

void decide(Cascade &cascade) {
  for (Reduction &reduction : cascade.reductions) {
    decide(cascade, reduction);
    cascade.passes = std::max(cascade.passes, reduction.pass + 1);
  }
}

} // namespace tilewright::cascade
