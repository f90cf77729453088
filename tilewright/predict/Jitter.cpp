#include "tilewright/predict/Jitter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

namespace tilewright::predict {

Maximum maximumOf(int64_t count) {
  if (count <= 1)
    return {0, 1};
  static std::mutex mutex;
  static std::map<int64_t, Maximum> known; // guarded by mutex
  std::lock_guard lock(mutex);
  auto [found, isNew] = known.try_emplace(count);
  if (!isNew)
    return found->second;
  // Density of the maximum: n phi(x) Phi(x)^(n-1), integrated by the trapezoidal rule, which
  // converges exponentially for such functions.
  constexpr double step = 1.0 / 256;
  double mass = 0, first = 0, second = 0;
  for (double x = -9; x <= 9; x += step) {
    const double below = 0.5 * std::erfc(-x / std::sqrt(2.0));
    if (below <= 0)
      continue;
    const double weight = std::exp(-x * x / 2 + double(count - 1) * std::log(below));
    mass += weight, first += weight * x, second += weight * x * x;
  }
  const double mean = first / mass;
  return found->second = {mean, second / mass - mean * mean};
}

void Scatter::addTerm(numerics::AxisSet sameAlong, double variance) {
  if (variance <= 0)
    return;
  for (Term &term : terms)
    if (term.sameAlong == sameAlong) {
      term.variance += variance;
      return;
    }
  terms.push_back({sameAlong, variance});
}

void Scatter::add(double variance) { addTerm(0, variance); }

/// The product of the sizes of some axes.
static double product(numerics::AxisSet axes, std::span<const int64_t> sizes) {
  double result = 1;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    if (axes >> axis & 1)
      result *= static_cast<double>(sizes[axis]);
  return result;
}

double Scatter::meet(numerics::AxisSet axes, std::span<const int64_t> sizes, int64_t ranks) {
  // A term that is the same for all members of a group delays them equally, so it does not affect
  // the maximum.
  double variance = 0, weightedLog = 0;
  numerics::AxisSet common = ~numerics::AxisSet(0);
  std::vector<Term> kept;
  for (const Term &term : terms) {
    const numerics::AxisSet varies = axes & ~term.sameAlong;
    if (axes != 0 && product(varies, sizes) <= 1) {
      kept.push_back(term);
      continue;
    }
    const double draws =
        axes == 0 ? static_cast<double>(ranks) : std::max(product(varies, sizes), 1.0);
    variance += term.variance;
    weightedLog += term.variance * std::log(draws);
    common &= term.sameAlong;
  }
  if (variance <= 0)
    return 0;
  const auto draws = static_cast<int64_t>(std::llround(std::exp(weightedLog / variance)));
  const Maximum maximum = maximumOf(std::max<int64_t>(draws, 1));
  terms = std::move(kept);
  addTerm(axes | common, variance * maximum.variance);
  return std::sqrt(variance) * maximum.mean;
}

double Scatter::last(std::span<const int64_t> sizes, int64_t ranks) const {
  Scatter copy = *this;
  numerics::AxisSet all = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    all |= numerics::AxisSet(1) << axis;
  return copy.meet(all, sizes, ranks);
}

void Scatter::repeat(const Scatter &before, int64_t count) {
  for (Term &term : terms) {
    double earlier = 0;
    for (const Term &other : before.terms)
      if (other.sameAlong == term.sameAlong)
        earlier = other.variance;
    term.variance += std::max(term.variance - earlier, 0.0) * double(count);
  }
}

bool Scatter::isSimilar(const Scatter &other) const {
  auto same = [](const Term &a, const Term &b) { return a.sameAlong == b.sameAlong; };
  return std::is_permutation(terms.begin(), terms.end(), other.terms.begin(), other.terms.end(),
                             same);
}

double Scatter::variance() const {
  double sum = 0;
  for (const Term &term : terms)
    sum += term.variance;
  return sum;
}

} // namespace tilewright::predict
