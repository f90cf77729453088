// Curve: a monotone function through measured points, both axes logarithmic.
#ifndef TILEWRIGHT_PREDICT_CURVE_H
#define TILEWRIGHT_PREDICT_CURVE_H

#include <utility>
#include <vector>

namespace tilewright::predict {

/// The time of an exchange by its size, from measurements that scatter. A larger exchange is never
/// faster, so points that contradict this are replaced by their median (isotonic regression with
/// absolute errors); between points a cubic keeps the curve monotone (Fritsch and Carlson).
class Curve {
public:
  /// Points are positive, at least two, with increasing first coordinates.
  explicit Curve(const std::vector<std::pair<double, double>> &points);

  /// Below the first point, the time is constant, because latency dominates. Above the last point,
  /// it grows with the size, at the last point's bandwidth.
  double at(double size) const;

private:
  std::vector<double> x, y, slope; // logarithms, and dy/dx
};

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_CURVE_H
