// Measured: published measurements of collectives and matrix products, as functions of their shape.
#ifndef TILEWRIGHT_PREDICT_MEASURED_H
#define TILEWRIGHT_PREDICT_MEASURED_H

#include "tilewright/numerics/Collective.h"
#include "tilewright/predict/Curve.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::predict {

using numerics::CollectiveKind;

/// The points of one kind of collective among `ranks` ranks of a chip: bytes of the whole tensor,
/// seconds.
struct CurvePoints {
  std::string chip;
  CollectiveKind kind;
  int64_t ranks;
  std::vector<std::pair<double, double>> points;
};
/// Reads data/collectives.inc and files of the same form, which must be our own.
std::vector<CurvePoints> parseCurves(std::string_view text);

/// Times of collectives inside one NVLink (or xGMI) domain, by chip, kind, ranks and size.
class CollectiveTimes {
public:
  explicit CollectiveTimes(const std::vector<CurvePoints> &curves);
  /// The built-in table, which contains half of the measured sizes.
  static const CollectiveTimes &measured();

  /// The time in seconds; `bytes` is the size of the whole tensor (Price.h). Interpolates between
  /// measured numbers of ranks. Empty if the chip or the kind was not measured.
  std::optional<double> seconds(std::string_view chip, CollectiveKind kind, int64_t ranks,
                                double bytes) const;
  /// The largest number of ranks that was measured; 0 for an unknown chip.
  int64_t maxRanks(std::string_view chip) const;

private:
  std::map<std::pair<std::string, CollectiveKind>, std::map<int64_t, Curve>, std::less<>> table;
};

/// Rates of matrix products by chip, type ("bf16", "f16", "f8", "f32") and shape.
class ProductRates {
public:
  explicit ProductRates(std::string_view text);
  static const ProductRates &measured();

  /// FLOP/s of `batch` products of m x k by k x n; sizes outside the measured 256 to 4,096 take the
  /// rate of the nearest. The part of batch, m and n beyond the table counts for the others:
  /// more output tiles fill the chip more evenly and amortize the begin and the end of a kernel.
  /// `stride` 2 uses every second size, for tests. Empty if not measured.
  std::optional<double> flopsPerSecond(std::string_view chip, std::string_view type, double batch,
                                       double m, double n, double k, size_t stride = 1) const;
  /// The highest rate of the table.
  std::optional<double> best(std::string_view chip, std::string_view type) const;

private:
  std::map<std::pair<std::string, std::string>, std::vector<float>, std::less<>>
      table; // log TFLOP/s
};

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_MEASURED_H
