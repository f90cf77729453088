#include "tilewright/predict/Measured.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tilewright::predict {

namespace {

constexpr std::string_view collectivesText =
#include "tilewright/predict/data/collectives.inc"
    ;
constexpr std::string_view productsText =
#include "tilewright/predict/data/products.inc"
    ;

constexpr size_t sizes = 5, batches = 3;
constexpr double firstSize = 256;

} // namespace

std::vector<CurvePoints> parseCurves(std::string_view text) {
  std::vector<CurvePoints> curves;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#')
      continue;
    std::istringstream words(line);
    std::string kind;
    CurvePoints curve{};
    words >> curve.chip >> kind >> curve.ranks;
    curve.kind = *numerics::collectiveNamed(kind);
    char colon;
    for (double bytes, microseconds; words >> bytes >> colon >> microseconds;)
      curve.points.push_back({bytes, microseconds * 1e-6});
    curves.push_back(std::move(curve));
  }
  return curves;
}

CollectiveTimes::CollectiveTimes(const std::vector<CurvePoints> &curves) {
  for (const CurvePoints &curve : curves)
    table[{curve.chip, curve.kind}].emplace(curve.ranks, Curve(curve.points));
}

const CollectiveTimes &CollectiveTimes::measured() {
  static const CollectiveTimes times(parseCurves(collectivesText));
  return times;
}

std::optional<double> CollectiveTimes::seconds(std::string_view chip, CollectiveKind kind,
                                               int64_t ranks, double bytes) const {
  auto found = table.find(std::pair(std::string(chip), kind));
  if (found == table.end() || ranks < 1)
    return std::nullopt;
  if (ranks == 1)
    return 0;
  const std::map<int64_t, Curve> &curves = found->second;
  auto above = curves.lower_bound(ranks);
  if (above != curves.end() && (above->first == ranks || above == curves.begin()))
    return above->second.at(bytes);
  if (above == curves.end())
    return std::prev(above)->second.at(bytes);
  auto below = std::prev(above);
  const double t = std::log(double(ranks) / double(below->first)) /
                   std::log(double(above->first) / double(below->first));
  return std::exp((1 - t) * std::log(below->second.at(bytes)) +
                  t * std::log(above->second.at(bytes)));
}

int64_t CollectiveTimes::maxRanks(std::string_view chip) const {
  auto found = table.find(std::pair(std::string(chip), CollectiveKind::allReduce));
  return found == table.end() ? 0 : found->second.rbegin()->first;
}

ProductRates::ProductRates(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#')
      continue;
    std::istringstream words(line);
    std::string chip, type;
    words >> chip >> type;
    std::vector<float> &rates = table[{chip, type}];
    for (float rate; words >> rate;)
      rates.push_back(std::log(rate));
  }
}

const ProductRates &ProductRates::measured() {
  static const ProductRates rates(productsText);
  return rates;
}

std::optional<double> ProductRates::flopsPerSecond(std::string_view chip, std::string_view type,
                                                   double batch, double m, double n, double k,
                                                   size_t stride) const {
  auto found = table.find(std::pair(std::string(chip), std::string(type)));
  if (found == table.end())
    return std::nullopt;
  constexpr double lastSize = 4096, lastBatch = 4;
  double excess =
      std::max(m / lastSize, 1.0) * std::max(n / lastSize, 1.0) * std::max(batch / lastBatch, 1.0);
  for (double *size : {&m, &n, &k}) {
    const double grown = std::min(*size * excess, lastSize);
    excess /= std::max(grown / *size, 1.0);
    *size = std::max(*size, grown);
  }
  // Multilinear in the logarithms of the four sizes.
  struct Axis {
    size_t low, high;
    double weight; // of high
  };
  auto locate = [](double position, size_t count, size_t step) {
    const double last = double(count - 1);
    position = std::clamp(position, 0.0, last);
    const size_t low = std::min(static_cast<size_t>(position) / step * step, count - 1);
    const size_t high = std::min(low + step, count - 1);
    return Axis{low, high, high == low ? 0 : (position - double(low)) / double(high - low)};
  };
  const Axis axes[] = {locate(std::log2(std::max(batch, 1.0)), batches, 1),
                       locate(std::log2(m / firstSize), sizes, stride),
                       locate(std::log2(n / firstSize), sizes, stride),
                       locate(std::log2(k / firstSize), sizes, stride)};
  double sum = 0;
  for (size_t corner = 0; corner < 16; ++corner) {
    double weight = 1;
    size_t index = 0;
    for (size_t axis = 0; axis < 4; ++axis) {
      const bool isHigh = corner >> axis & 1;
      weight *= isHigh ? axes[axis].weight : 1 - axes[axis].weight;
      index = index * (axis == 0 ? batches : sizes) + (isHigh ? axes[axis].high : axes[axis].low);
    }
    sum += weight * double(found->second[index]);
  }
  return std::exp(sum) * 1e12;
}

std::optional<double> ProductRates::best(std::string_view chip, std::string_view type) const {
  auto found = table.find(std::pair(std::string(chip), std::string(type)));
  if (found == table.end())
    return std::nullopt;
  return std::exp(double(*std::max_element(found->second.begin(), found->second.end()))) * 1e12;
}

} // namespace tilewright::predict
