// Random cascades: whatever is decided, computing in blocks gives the same results.
//
// TILEWRIGHT_TEST_COUNT=10000 makes more programs; TILEWRIGHT_TEST_SEED=500 makes others.
#include "tilewright/transform/fuse/cascade/testing/CompareInBlocks.h"
#include "tilewright/transform/fuse/cascade/testing/ProgramText.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

using namespace tilewright::cascade;

namespace {

/// The number in an environment variable.
unsigned fromEnvironment(const char *name, unsigned otherwise) {
  const char *text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

/// Writes a program of up to six reductions. About a third of the dependent ones break a condition
/// of the rule.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed), p(static_cast<int64_t>(1 + random() % 17)) {
    rows = {"%b"};
    const unsigned count = 2 + random() % 5;
    for (unsigned i = 0; i < count; ++i)
      addReduction();
  }

  std::string text() const { return p.text(); }

private:
  using Text = std::string;
  bool chance(unsigned percent) { return random() % 100 < percent; }
  const Text &oneOf(const std::vector<Text> &list) { return list[random() % list.size()]; }
  Text constant() {
    static const char *const numbers[] = {"0.5", "1.0", "2.0", "-0.75", "0.125"};
    return p.number(numbers[random() % std::size(numbers)]);
  }
  Text mask() { return p.compare(chance(50) ? "LE" : "GT", "%y", constant()); }

  /// A function of the element.
  Text element() {
    if (!elements.empty() && chance(40))
      return oneOf(elements);
    Text x = chance(60) ? "%x" : "%y";
    switch (random() % 8) {
    case 0:
      x = p.mul(x, constant());
      break;
    case 1:
      x = p.mul(p.op("tanh", {x}), p.number("3.0"));
      break;
    case 2:
      x = p.select(mask(), x, p.number(chance(50) ? p.infinity(true) : "-2.38e38"));
      maskedElements.push_back(x);
      return x;
    case 3:
      x = p.add("%x", "%y");
      break;
    case 4:
      x = p.add(x, "%b");
      break;
    case 5:
      x = p.op("abs", {x});
      break;
    default:
      break;
    }
    elements.push_back(x);
    return x;
  }
  /// A function of the element whose powers are in range.
  Text smallElement() {
    Text x = element();
    while (!maskedElements.empty() && x == maskedElements.back())
      x = element();
    return x;
  }

  /// exp(e - maximum of e), or of something else.
  Text exponential() {
    if (softmaxes.empty() || chance(30)) {
      Text e = element();
      softmaxes.push_back({e, p.max(e), ""});
    }
    Softmax &s = softmaxes[random() % softmaxes.size()];
    Text e = chance(90) ? s.element : smallElement();
    Text difference = p.sub(e, s.maximum);
    if (chance(20))
      difference = p.mul(difference, p.number("0.5"));
    Text result = p.exp(difference);
    if (!s.sum.empty() && chance(60))
      result = p.div(result, s.sum);
    return result;
  }

  /// A polynomial in earlier results.
  Text polynomial() {
    Text d = p.sub(smallElement(), oneOf(rows));
    switch (random() % 5) {
    case 0:
      return p.mul(d, d);
    case 1:
      return p.mul(d, p.sub(smallElement(), oneOf(rows)));
    case 2:
      return p.mul(p.mul(d, d), d);
    case 3:
      return p.select(mask(), d, p.number("0.0"));
    default:
      return d;
    }
  }

  Text factor() {
    Text r = oneOf(rows);
    Text positive = p.add(p.mul(r, r), p.number("1.0"));
    return chance(50) ? p.div(p.number("1.0"), positive) : p.op("rsqrt", {positive});
  }

  /// A map: a function of the element and of earlier results.
  Text map() {
    switch (random() % 8) {
    case 0:
    case 1:
    case 6:
      return exponential();
    case 2:
      return p.mul(exponential(), smallElement());
    case 3:
      return polynomial();
    case 4:
      return p.mul(polynomial(), factor());
    case 5:
      return p.mul(smallElement(), factor());
    default:
      return chance(30) ? p.op("tanh", {polynomial()}) : p.mul(exponential(), polynomial());
    }
  }

  void addReduction() {
    Text result;
    switch (random() % 12) {
    case 0:
      result = p.max(p.sub(smallElement(), oneOf(rows)));
      break;
    case 1:
      result = p.min(p.mul(smallElement(), factor()));
      break;
    case 2: {
      // The mean of the elements.
      Text sum = p.sum(smallElement());
      rows.push_back(p.mul(sum, p.number("0.125")));
      result = sum;
      break;
    }
    case 3: {
      Text e = element(), m = p.max(e), l = p.sum(p.exp(p.sub(e, m)));
      softmaxes.push_back({e, m, l});
      rows.push_back(p.add(m, p.log(l)));
      result = l;
      break;
    }
    case 4:
    case 5:
      p.result(p.dot(map(), chance(30)));
      return;
    case 6:
      result = p.reduce("multiply", "1.0", p.mul(p.op("tanh", {map()}), p.number("1.5")));
      break;
    default:
      result = p.sum(map());
    }
    rows.push_back(result);
    p.result(result);
  }

  struct Softmax {
    Text element, maximum, sum;
  };
  std::mt19937 random;
  ProgramText p;
  std::vector<Text> rows, elements, maskedElements;
  std::vector<Softmax> softmaxes;
};

} // namespace

TEST(RandomCascade, BlocksGiveTheSameResults) {
  const unsigned programCount = fromEnvironment("TILEWRIGHT_TEST_COUNT", 200);
  const unsigned firstSeed = fromEnvironment("TILEWRIGHT_TEST_SEED", 0);
  Judge judge;
  size_t onePass = 0, morePasses = 0, failures = 0;
  double largest = 0;
  for (unsigned seed = firstSeed; seed < firstSeed + programCount; ++seed) {
    const std::string text = Generator(seed).text();
    const std::string decision = judge.decisionOf(text);
    if (decision == "no cascade")
      continue;
    const bool hasFailure = decision.find_first_of("abcdefghijklmnopqrstuvwxyz") != decision.npos;
    ++(hasFailure ? morePasses : onePass);
    const auto inputs = judge.inputs(text, seed, false);
    const auto expected = judge.run(text, inputs);
    // The inputs with other last digits: by as much as results change, they are ill-conditioned.
    const double sensitivity = difference(expected, judge.run(text, judge.nudged(inputs, seed)));
    if (!std::isfinite(sensitivity))
      continue;
    const std::pair<int64_t, bool> orders[] = {{seed % 8 == 0 ? 1 : 3 + seed % 5, false},
                                               {2 + seed % 5, true}};
    for (auto [blockSize, asTree] : orders) {
      const double error = difference(expected, judge.run(text, inputs, blockSize, asTree));
      largest = std::max(largest, error / (1e-12 + sensitivity));
      if (error <= 1e-10 + 1000 * sensitivity)
        continue;
      ADD_FAILURE() << "seed " << seed << ", blocks of " << blockSize
                    << (asTree ? " in a tree" : " in sequence") << ": differs by " << error
                    << ", sensitivity " << sensitivity << "\n"
                    << judge.description(text) << text;
      if (++failures > 3)
        return;
    }
  }
  std::cout << onePass << " cascades in one pass, " << morePasses
            << " in several; largest error / sensitivity " << largest << "\n";
  // A generator that makes no cascades, or only hopeless ones, would test nothing.
  EXPECT_GE(onePass, programCount / 8);
  EXPECT_GE(morePasses, programCount / 8);
}
