#include "tilewright/predict/Curve.h"

#include <algorithm>
#include <cmath>

namespace tilewright::predict {

namespace {

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The non-decreasing sequence with the smallest sum of absolute differences: neighbours that
/// contradict the order are merged into blocks.
std::vector<double> nonDecreasing(const std::vector<double> &values) {
  std::vector<std::pair<double, std::vector<double>>> blocks; // median, members
  for (double value : values) {
    blocks.push_back({value, {value}});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].first > blocks.back().first) {
      std::vector<double> last = std::move(blocks.back().second);
      blocks.pop_back();
      auto &members = blocks.back().second;
      members.insert(members.end(), last.begin(), last.end());
      blocks.back().first = medianOf(members);
    }
  }
  std::vector<double> result;
  for (const auto &[median, members] : blocks)
    result.insert(result.end(), members.size(), median);
  return result;
}

} // namespace

Curve::Curve(const std::vector<std::pair<double, double>> &points) {
  std::vector<double> times;
  for (auto [size, time] : points) {
    x.push_back(std::log(size));
    times.push_back(std::log(time));
  }
  y = nonDecreasing(times);
  const size_t count = x.size();
  std::vector<double> secant(count - 1);
  for (size_t i = 0; i + 1 < count; ++i)
    secant[i] = (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
  slope.assign(count, 0);
  slope.front() = secant.front();
  slope.back() = secant.back();
  for (size_t i = 1; i + 1 < count; ++i) {
    if (secant[i - 1] <= 0 || secant[i] <= 0)
      continue; // flat on one side
    // The weighted harmonic mean keeps the cubic monotone.
    const double left = x[i] - x[i - 1], right = x[i + 1] - x[i];
    const double one = 2 * right + left, two = right + 2 * left;
    slope[i] = (one + two) / (one / secant[i - 1] + two / secant[i]);
  }
}

double Curve::at(double size) const {
  const double at = std::log(std::max(size, 1.0));
  if (at <= x.front())
    return std::exp(y.front());
  if (at >= x.back())
    return std::exp(y.back() + at - x.back());
  const size_t i = static_cast<size_t>(std::upper_bound(x.begin(), x.end(), at) - x.begin()) - 1;
  const double width = x[i + 1] - x[i], t = (at - x[i]) / width;
  const double t2 = t * t, t3 = t2 * t;
  return std::exp((2 * t3 - 3 * t2 + 1) * y[i] + (t3 - 2 * t2 + t) * width * slope[i] +
                  (3 * t2 - 2 * t3) * y[i + 1] + (t3 - t2) * width * slope[i + 1]);
}

} // namespace tilewright::predict
