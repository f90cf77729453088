#include "tilewright/predict/Measured.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace tilewright::predict {
namespace {

constexpr std::string_view heldOutText =
#include "tilewright/predict/testing/held-out-collectives.inc"
    ;
constexpr std::string_view calibrationText =
#include "tilewright/predict/data/collectives.inc"
    ;

/// t = alpha + bytes / bandwidth, by relative least squares: what cost models usually fit.
struct AlphaBeta {
  double alpha, beta;
  explicit AlphaBeta(const std::vector<std::pair<double, double>> &points) {
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0; // of rows (1/t, bytes/t) with right side 1
    for (auto [bytes, time] : points) {
      const double a = 1 / time, b = bytes / time;
      aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
    }
    const double determinant = aa * bb - ab * ab;
    alpha = (a1 * bb - b1 * ab) / determinant;
    beta = (b1 * aa - a1 * ab) / determinant;
  }
  double at(double bytes) const { return alpha + beta * bytes; }
};

struct Error {
  double sum = 0;
  int count = 0;
  void add(double predicted, double measured) {
    sum += std::abs(predicted / measured - 1);
    ++count;
  }
  double mean() const { return count ? 100 * sum / count : 0; }
};

/// The held-out sizes, and what is predicted for them from the other half. Printed by chip, kind
/// and ranks, beside an alpha-beta fit on the same half.
TEST(Measured, PredictsTheHeldOutHalfOfTheCollectives) {
  const CollectiveTimes &times = CollectiveTimes::measured();
  std::map<std::string, std::vector<std::pair<double, double>>> calibration;
  auto nameOf = [](const CurvePoints &curve) {
    return curve.chip + " " + std::string(numerics::nameOf(curve.kind)) + " " +
           std::to_string(curve.ranks);
  };
  for (const CurvePoints &curve : parseCurves(calibrationText))
    calibration[nameOf(curve)] = curve.points;
  std::map<std::string, Error> byChip, largeByChip, fitByChip;
  Error all, allFit;
  std::printf("%-28s %8s %10s %12s   mean |error| in percent\n", "held out", "table", ">= 1 MiB",
              "alpha-beta");
  for (const CurvePoints &curve : parseCurves(heldOutText)) {
    const auto &points = calibration.at(nameOf(curve));
    const AlphaBeta fit(points);
    Error table, large, line;
    for (auto [bytes, measured] : curve.points) {
      if (bytes > points.back().first)
        continue; // not between two calibration points
      const double predicted = *times.seconds(curve.chip, curve.kind, curve.ranks, bytes);
      for (Error *error : {&table, &byChip[curve.chip], &all})
        error->add(predicted, measured);
      if (bytes >= 1 << 20)
        large.add(predicted, measured), largeByChip[curve.chip].add(predicted, measured);
      for (Error *error : {&line, &fitByChip[curve.chip], &allFit})
        error->add(fit.at(bytes), measured);
    }
    std::printf("%-28s %8.1f %10.1f %12.1f\n", nameOf(curve).c_str(), table.mean(), large.mean(),
                line.mean());
  }
  for (const auto &[chip, error] : byChip)
    std::printf("%-28s %8.2f %10.2f %12.2f\n", ("all of " + chip).c_str(), error.mean(),
                largeByChip[chip].mean(), fitByChip[chip].mean());
  std::printf("%-28s %8.2f %10s %12.2f\n", "all", all.mean(), "", allFit.mean());

  // The H100, B200 and MI355X tables scatter by 15 % and more between neighbouring sizes below 1
  // MiB (one all_reduce of 1 KiB took 123 us, of 2 KiB 17 us), which no curve can predict. These
  // limits are what is attained; the goal for the mean is 5 %.
  EXPECT_LT(byChip["gb200"].mean(), 5.2);
  EXPECT_LT(byChip["gb300"].mean(), 5.3);
  EXPECT_LT(largeByChip["h100"].mean(), 8.5);
  EXPECT_LT(largeByChip["b200"].mean(), 9.0);
  EXPECT_LT(all.mean(), 8.3);
  EXPECT_LT(all.mean(), 0.7 * allFit.mean());
}

TEST(Measured, CurvesAreMonotoneDespiteOutliers) {
  const Curve curve({{1, 10}, {2, 50}, {4, 11}, {8, 12}, {16, 24}});
  double last = 0;
  for (double size = 0.5; size < 64; size *= 1.1) {
    EXPECT_GE(curve.at(size), last * (1 - 1e-12)) << size;
    last = curve.at(size);
  }
  EXPECT_DOUBLE_EQ(curve.at(0), 10);
  EXPECT_NEAR(curve.at(16), 24, 1e-9);
  EXPECT_NEAR(curve.at(32), 48, 1e-9); // the bandwidth of the last point
}

TEST(Measured, RanksBetweenMeasuredNumbersAreInterpolated) {
  const CollectiveTimes &times = CollectiveTimes::measured();
  auto seconds = [&](int64_t ranks) {
    return *times.seconds("h100", CollectiveKind::allReduce, ranks, 1 << 26);
  };
  EXPECT_GT(seconds(6), std::min(seconds(4), seconds(8)));
  EXPECT_LT(seconds(6), std::max(seconds(4), seconds(8)));
  EXPECT_EQ(seconds(1), 0);
  EXPECT_EQ(seconds(9), seconds(8));
  EXPECT_FALSE(times.seconds("h100", CollectiveKind::permute, 8, 1 << 20));
  EXPECT_FALSE(times.seconds("k80", CollectiveKind::allReduce, 8, 1 << 20));
}

TEST(Measured, ProductsOfSizesLeftOutAreInterpolated) {
  const ProductRates &rates = ProductRates::measured();
  for (const char *chip : {"h100", "b200", "mi355x"}) {
    Error error;
    for (double batch : {1, 2, 4})
      for (double m : {512, 2048})
        for (double n : {256, 512, 1024, 2048, 4096})
          for (double k : {256, 512, 1024, 2048, 4096})
            error.add(*rates.flopsPerSecond(chip, "bf16", batch, m, n, k, /*stride=*/2),
                      *rates.flopsPerSecond(chip, "bf16", batch, m, n, k));
    std::printf("products on %s from every second size: mean |error| %.1f %%\n", chip,
                error.mean());
    EXPECT_LT(error.mean(), 12);
  }
  // A published point of the table: a bf16 cube of 4,096 on one H100.
  EXPECT_NEAR(*rates.flopsPerSecond("h100", "bf16", 1, 4096, 4096, 4096) / 1e12, 780, 15);
  EXPECT_FALSE(rates.flopsPerSecond("h100", "i8", 1, 256, 256, 256));
}

} // namespace
} // namespace tilewright::predict
