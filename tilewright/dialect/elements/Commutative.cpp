#include "tilewright/dialect/elements/Commutative.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

using namespace mlir;

namespace tilewright::elements {
namespace {

using Direction = stablehlo::ComparisonDirection;

/// Numbers the values of a body such that equal formulas have equal numbers, whatever the order of
/// operands that commute.
class Formulas {
public:
  /// The numbers of the constants of type i1. The numbers from `firstVariable` on are free for
  /// variables.
  enum : int64_t { no, yes, firstVariable };

  /// The numbers of the results, if argument i is variable, or constant, `variables[i]`.
  SmallVector<int64_t> resultsOf(Block &body, ArrayRef<int64_t> variables) {
    numbers.clear();
    for (auto [argument, variable] : llvm::zip_equal(body.getArguments(), variables))
      numbers[argument] = variable;
    for (Operation &op : body.without_terminator())
      for (OpResult result : op.getResults())
        numbers[result] = numberOf(op, result.getResultNumber());
    return llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) { return at(v); });
  }

private:
  /// A value from outside the body has a number of its own.
  int64_t at(Value value) {
    if (auto found = numbers.find(value); found != numbers.end())
      return found->second;
    return add({outside, keyOf(value.getAsOpaquePointer())});
  }

  /// The number of a value up to its sign: x - y and y - x have the same.
  int64_t upToSign(Value value) {
    Operation *op = value.getDefiningOp();
    if (isa_and_present<stablehlo::NegateOp>(op))
      return upToSign(op->getOperand(0));
    if (isa_and_present<stablehlo::SubtractOp>(op))
      return add({difference, std::min(at(op->getOperand(0)), at(op->getOperand(1))),
                  std::max(at(op->getOperand(0)), at(op->getOperand(1)))});
    return at(value);
  }

  /// The number of an op on flags of which enough are known.
  std::optional<int64_t> fold(Operation &op, ArrayRef<int64_t> operands) {
    if (isa<stablehlo::SelectOp>(op))
      return operands[0] == yes           ? std::optional(operands[1])
             : operands[0] == no          ? std::optional(operands[2])
             : operands[1] == operands[2] ? std::optional(operands[1])
                                          : std::nullopt;
    if (op.getNumResults() != 1 || !getElementTypeOrSelf(op.getResult(0)).isInteger(1))
      return std::nullopt;
    auto isKnown = [](int64_t number) { return number < firstVariable; };
    if (isa<stablehlo::NotOp>(op) && isKnown(operands[0]))
      return yes - operands[0];
    for (unsigned i : {0u, 1u}) {
      if (!isa<stablehlo::AndOp, stablehlo::OrOp>(op) || !isKnown(operands[i]))
        continue;
      const bool decides = operands[i] == (isa<stablehlo::OrOp>(op) ? yes : no);
      return decides ? operands[i] : operands[1 - i];
    }
    return std::nullopt;
  }

  int64_t numberOf(Operation &op, unsigned result) {
    std::vector<int64_t> operands;
    for (Value operand : op.getOperands())
      operands.push_back(at(operand));
    if (std::optional<int64_t> known = fold(op, operands))
      return *known;
    // |x|, x * x and tests for NaN ignore the sign of x.
    const bool isSame = operands.size() == 2 && operands[0] == operands[1];
    auto compare = dyn_cast<stablehlo::CompareOp>(op);
    const bool isEquality = compare && (compare.getComparisonDirection() == Direction::EQ ||
                                        compare.getComparisonDirection() == Direction::NE);
    if (isa<stablehlo::AbsOp>(op) || (isSame && (isEquality || isa<stablehlo::MultiplyOp>(op))))
      operands.assign(operands.size(), upToSign(op.getOperand(0)));
    if (isEquality ||
        isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
            stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp>(op))
      llvm::sort(operands);
    int64_t attributes = keyOf(op.getAttrDictionary().getAsOpaquePointer());
    // a > b is b < a.
    if (compare && !isEquality &&
        (compare.getComparisonDirection() == Direction::GT ||
         compare.getComparisonDirection() == Direction::GE)) {
      std::swap(operands[0], operands[1]);
      const Direction direction =
          compare.getComparisonDirection() == Direction::GT ? Direction::LT : Direction::LE;
      NamedAttrList list(op.getAttrDictionary());
      list.set(compare.getComparisonDirectionAttrName(),
               stablehlo::ComparisonDirectionAttr::get(op.getContext(), direction));
      attributes = keyOf(list.getDictionary(op.getContext()).getAsOpaquePointer());
    }
    std::vector<int64_t> key = {computed, keyOf(op.getName().getAsOpaquePointer()), attributes,
                                keyOf(op.getResult(result).getType().getAsOpaquePointer()), result};
    key.insert(key.end(), operands.begin(), operands.end());
    // Nothing is known about ops with regions.
    if (op.getNumRegions() != 0)
      key.push_back(keyOf(&op)), key.push_back(next);
    return add(std::move(key));
  }

  int64_t add(std::vector<int64_t> key) {
    auto [found, isNew] = known.try_emplace(std::move(key), next);
    next += isNew;
    return found->second;
  }
  static int64_t keyOf(const void *object) { return reinterpret_cast<intptr_t>(object); }

  enum : int64_t { outside, difference, computed };
  int64_t next = 1 << 20; // variables have lower numbers
  std::map<std::vector<int64_t>, int64_t> known;
  llvm::DenseMap<Value, int64_t> numbers;
};

/// Whether the formulas of the results are symmetric, for each choice of the flags among the
/// arguments.
bool isSymmetric(Block &body) {
  const unsigned count = body.getNumArguments() / 2;
  SmallVector<unsigned> flags;
  for (BlockArgument argument : body.getArguments())
    if (getElementTypeOrSelf(argument).isInteger(1))
      flags.push_back(argument.getArgNumber());
  constexpr size_t maxFlags = 6;
  if (flags.size() > maxFlags)
    flags.clear();
  Formulas formulas;
  for (unsigned choice = 0; choice < 1u << flags.size(); ++choice) {
    SmallVector<int64_t> straight, swapped;
    for (unsigned i = 0; i < 2 * count; ++i)
      straight.push_back(Formulas::firstVariable + i);
    for (auto [bit, flag] : llvm::enumerate(flags))
      straight[flag] = choice >> bit & 1 ? Formulas::yes : Formulas::no;
    for (unsigned i = 0; i < 2 * count; ++i)
      swapped.push_back(straight[(i + count) % (2 * count)]);
    if (formulas.resultsOf(body, straight) != formulas.resultsOf(body, swapped))
      return false;
  }
  return true;
}

/// Evaluates a body that only compares and selects its arguments. The results of such a body depend
/// on no more than which of two arguments is less and whether they are NaN, so trying all of these
/// cases is a proof.
class Selection {
public:
  explicit Selection(Block &body) : body(body), count(body.getNumArguments() / 2) {}

  /// Whether the body is of that kind. An argument may only be compared with the one that it is
  /// combined with, or with integer constants, and only these may become the same result.
  bool isKnown() {
    if (count > maxPairs)
      return false;
    llvm::DenseMap<Value, unsigned> pairs;
    for (BlockArgument argument : body.getArguments())
      pairs[argument] = argument.getArgNumber() % count;
    auto areOfSamePair = [&](Value a, Value b) {
      return pairs.contains(a) && pairs.contains(b) && pairs[a] == pairs[b];
    };
    auto isFlag = [&](Value value) {
      return !pairs.contains(value) && getElementTypeOrSelf(value).isInteger(1);
    };
    for (Operation &op : body.without_terminator()) {
      if (std::optional<int64_t> constant = constantOf(op)) {
        constants[op.getResult(0)] = *constant;
      } else if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
        if (compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER ||
            isa<ComplexType>(getElementTypeOrSelf(compare.getLhs())))
          return false;
        if (areOfSamePair(compare.getLhs(), compare.getRhs()))
          continue;
        auto constant = constants.find(compare.getRhs());
        if (constant == constants.end() || !pairs.contains(compare.getLhs()))
          return false;
        borders[pairs[compare.getLhs()]].insert(constant->second);
      } else if (auto select = dyn_cast<stablehlo::SelectOp>(op)) {
        if (!isFlag(select.getPred()) || !areOfSamePair(select.getOnTrue(), select.getOnFalse()))
          return false;
        pairs[select] = pairs[select.getOnTrue()];
      } else if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(op)) {
        if (!areOfSamePair(op.getOperand(0), op.getOperand(1)) ||
            isa<ComplexType>(getElementTypeOrSelf(op.getOperand(0))))
          return false;
        pairs[op.getResult(0)] = pairs[op.getOperand(0)];
      } else if (!isa<stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp, stablehlo::NotOp>(op) ||
                 !llvm::all_of(op.getOperands(), isFlag)) {
        return false;
      }
    }
    return llvm::all_of(body.getTerminator()->getOperands(),
                        [&](Value value) { return pairs.contains(value); });
  }

  bool isCommutative() {
    SmallVector<SmallVector<std::pair<double, double>>> cases;
    for (unsigned pair = 0; pair < count; ++pair)
      cases.push_back(casesOf(pair));
    SmallVector<size_t> chosen(count, 0);
    while (true) {
      SmallVector<double> arguments(2 * count), swapped(2 * count);
      for (unsigned pair = 0; pair < count; ++pair) {
        const auto [first, second] = cases[pair][chosen[pair]];
        arguments[pair] = swapped[count + pair] = first;
        arguments[count + pair] = swapped[pair] = second;
      }
      for (auto [a, b] : llvm::zip_equal(resultsOf(arguments), resultsOf(swapped)))
        if (a != b && !(std::isnan(a) && std::isnan(b)))
          return false;
      unsigned pair = 0;
      while (pair < count && ++chosen[pair] == cases[pair].size())
        chosen[pair++] = 0;
      if (pair == count)
        return true;
    }
  }

private:
  /// The value of an integer constant.
  static std::optional<int64_t> constantOf(Operation &op) {
    auto constant = dyn_cast<stablehlo::ConstantOp>(op);
    auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
    auto type = splat ? dyn_cast<IntegerType>(splat.getElementType()) : IntegerType();
    if (!type || type.isInteger(1))
      return std::nullopt;
    const APInt value = splat.getSplatValue<APInt>();
    // The numbers around it must be exact as f64.
    constexpr unsigned maxBits = 50;
    if (type.isUnsigned() ? value.getActiveBits() > maxBits : value.getSignificantBits() > maxBits)
      return std::nullopt;
    return type.isUnsigned() ? static_cast<int64_t>(value.getZExtValue()) : value.getSExtValue();
  }

  /// Numbers that stand for all pairs: each is less, equal or greater than the other one, and than
  /// the constants with which they are compared.
  SmallVector<std::pair<double, double>> casesOf(unsigned pair) {
    std::set<double> numbers = {1, 2};
    for (int64_t border : borders[pair])
      for (int64_t distance = -2; distance <= 2; ++distance)
        numbers.insert(double(border + distance));
    SmallVector<double> all(numbers.begin(), numbers.end());
    if (isa<FloatType>(getElementTypeOrSelf(body.getArgument(pair))))
      all.push_back(std::numeric_limits<double>::quiet_NaN());
    SmallVector<std::pair<double, double>> cases;
    for (double a : all)
      for (double b : all)
        cases.push_back({a, b});
    return cases;
  }

  SmallVector<double> resultsOf(ArrayRef<double> arguments) {
    llvm::DenseMap<Value, double> values;
    for (auto [constant, number] : constants)
      values[constant] = double(number);
    for (auto [argument, number] : llvm::zip_equal(body.getArguments(), arguments))
      values[argument] = number;
    for (Operation &op : body.without_terminator()) {
      if (values.contains(op.getResult(0)))
        continue;
      auto at = [&](unsigned i) { return values.lookup(op.getOperand(i)); };
      double &result = values[op.getResult(0)];
      if (auto compare = dyn_cast<stablehlo::CompareOp>(op))
        result = holds(compare.getComparisonDirection(), at(0), at(1));
      else if (isa<stablehlo::SelectOp>(op))
        result = at(0) != 0 ? at(1) : at(2);
      else if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(op))
        result = std::isnan(at(0)) || std::isnan(at(1)) ? std::numeric_limits<double>::quiet_NaN()
                 : isa<stablehlo::MaximumOp>(op)        ? std::max(at(0), at(1))
                                                        : std::min(at(0), at(1));
      else if (isa<stablehlo::AndOp>(op))
        result = at(0) * at(1);
      else if (isa<stablehlo::OrOp>(op))
        result = std::max(at(0), at(1));
      else if (isa<stablehlo::XorOp>(op))
        result = at(0) != at(1);
      else
        result = 1 - at(0);
    }
    return llvm::map_to_vector(body.getTerminator()->getOperands(),
                               [&](Value value) { return values.lookup(value); });
  }

  static bool holds(Direction direction, double a, double b) {
    switch (direction) {
    case Direction::EQ:
      return a == b;
    case Direction::NE:
      return a != b;
    case Direction::GE:
      return a >= b;
    case Direction::GT:
      return a > b;
    case Direction::LE:
      return a <= b;
    case Direction::LT:
      return a < b;
    }
    return false;
  }

  static constexpr unsigned maxPairs = 4; // 9^4 cases without constants
  Block &body;
  unsigned count;
  llvm::DenseMap<Value, int64_t> constants;
  std::map<unsigned, std::set<int64_t>> borders; // constants with which a pair is compared
};

} // namespace

bool isCommutative(Region &region) {
  Block &body = region.front();
  if (isSymmetric(body))
    return true;
  Selection selection(body);
  return selection.isKnown() && selection.isCommutative();
}

} // namespace tilewright::elements
