// Published training runs, predicted. Factors of kernel times are fitted on runs of at most 8 chips
// of the same stack, never on the run that is predicted.
#include "tilewright/predict/testing/Published.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace tilewright::predict {
namespace {

constexpr size_t factorCount = 3;
using Vector = std::array<double, factorCount>;

KernelFactors factorsOf(const Vector &logs) {
  return {std::exp(logs[0]), std::exp(logs[1]), std::exp(logs[2])};
}

/// Log of the ratio of prediction and measurement.
double residual(const PublishedStep &step, const Cluster &cluster, const Vector &logs) {
  Result<double> seconds = trainingStep(cluster, step.model, step.layout, factorsOf(logs));
  if (!seconds.isOk()) {
    ADD_FAILURE() << step.id << ": " << std::move(seconds).takeStatus().message();
    return 0;
  }
  return std::log(*seconds / step.seconds);
}

/// Solves a x = b by elimination with pivots.
Vector solve(std::array<Vector, factorCount> a, Vector b) {
  for (size_t i = 0; i < factorCount; ++i) {
    size_t best = i;
    for (size_t j = i; j < factorCount; ++j)
      if (std::abs(a[j][i]) > std::abs(a[best][i]))
        best = j;
    std::swap(a[i], a[best]), std::swap(b[i], b[best]);
    for (size_t j = i + 1; j < factorCount; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (size_t k = i; k < factorCount; ++k)
        a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  Vector x{};
  for (size_t i = factorCount; i-- > 0;) {
    x[i] = b[i];
    for (size_t k = i + 1; k < factorCount; ++k)
      x[i] -= a[i][k] * x[k];
    x[i] /= a[i][i];
  }
  return x;
}

/// Runs of at most 8 chips of one stack, with the derivatives of their predictions by the factors.
class Calibration {
public:
  void add(const PublishedStep &step, const Cluster &cluster) {
    runs.push_back({&step, &cluster, 0, {}});
  }
  size_t size() const { return runs.size(); }

  /// Gauss-Newton on the logarithms. The prior, a factor of e^0.4 either way, decides what the runs
  /// leave open: one run moves all factors by its error.
  void fit() {
    for (int iteration = 0; iteration < 6; ++iteration) {
      linearize();
      const Vector update = best(nullptr);
      for (size_t i = 0; i < factorCount; ++i)
        logs[i] += update[i];
    }
    linearize();
  }
  /// The factors without one of the runs.
  Vector without(const PublishedStep *left) const {
    Vector update = best(left), result = logs;
    for (size_t i = 0; i < factorCount; ++i)
      result[i] += update[i];
    return result;
  }

private:
  struct Run {
    const PublishedStep *step;
    const Cluster *cluster;
    double error;
    Vector slope;
  };
  void linearize() {
    for (Run &run : runs) {
      run.error = residual(*run.step, *run.cluster, logs);
      for (size_t i = 0; i < factorCount; ++i) {
        Vector moved = logs;
        moved[i] += 0.02;
        run.slope[i] = (residual(*run.step, *run.cluster, moved) - run.error) / 0.02;
      }
    }
  }
  Vector best(const PublishedStep *left) const {
    constexpr double noise = 0.04, prior = 0.4;
    std::array<Vector, factorCount> a{};
    Vector b{};
    for (size_t i = 0; i < factorCount; ++i) {
      a[i][i] = 1 / (prior * prior);
      b[i] = -logs[i] / (prior * prior);
    }
    for (const Run &run : runs) {
      if (run.step == left)
        continue;
      for (size_t i = 0; i < factorCount; ++i) {
        b[i] -= run.slope[i] * run.error / (noise * noise);
        for (size_t j = 0; j < factorCount; ++j)
          a[i][j] += run.slope[i] * run.slope[j] / (noise * noise);
      }
    }
    return solve(a, b);
  }

  std::vector<Run> runs;
  Vector logs{};
};

struct Summary {
  double sum = 0, worst = 0, rival = 0;
  int count = 0, uncalibrated = 0, missing = 0;
  void add(double error) {
    sum += std::abs(error);
    worst = std::max(worst, std::abs(error));
    ++count;
  }
  double mean() const { return count ? sum / count : 0; }
};

/// Runs that differ in one respect: the number of chips, the layout of a model on 8 chips, or
/// whether collectives of tensor parallelism are hidden.
std::string familyOf(const PublishedStep &step) {
  const Layout &layout = step.layout;
  std::ostringstream key;
  key << step.source << ' ' << step.model.hidden << ' ' << step.model.layers << ' '
      << layout.sequence << ' ';
  if (step.source == "simumax")
    key << layout.microbatches();
  else
    key << step.stack << ' ' << layout.microbatch << ' ' << int(layout.recompute) << ' '
        << layout.tensor << ' ' << layout.pipeline << ' ' << layout.context << ' ' << layout.chunks;
  return key.str();
}

/// Sequences that one chip trains in a second.
double rateOf(const PublishedStep &step, double seconds) {
  return double(step.layout.batch) / double(step.layout.chips) / seconds;
}

Cluster clusterOf(const PublishedStep &step) {
  Cluster cluster = *parseCluster(shippedCluster(step.cluster), step.cluster);
  if (step.networkBandwidth > 0)
    cluster.levels.back().bandwidth = step.networkBandwidth;
  return *withRanks(cluster, std::max<int64_t>(step.layout.chips, 1));
}

TEST(Validation, PublishedStepsArePredicted) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tilewright/predict/testing/published-steps.csv");
  std::stringstream text;
  text << file.rdbuf();
  const std::vector<PublishedStep> steps = readPublishedSteps(text.str());
  ASSERT_GT(steps.size(), 340u);

  std::vector<Cluster> clusters(steps.size());
  std::map<std::string, Calibration> calibrations, wider;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].missing.empty())
      continue;
    clusters[i] = clusterOf(steps[i]);
    if (steps[i].layout.chips <= 8)
      calibrations[steps[i].stack].add(steps[i], clusters[i]),
          wider[steps[i].wider].add(steps[i], clusters[i]);
  }
  for (auto &[name, calibration] : wider)
    calibration.fit();
  for (auto &[stack, calibration] : calibrations) {
    calibration.fit();
    const KernelFactors factors = factorsOf(calibration.without(nullptr));
    std::printf("stack %-40s %2zu runs of at most 8 chips: products x %.2f, attention x %.2f, "
                "memory x %.2f\n",
                stack.c_str(), calibration.size(), factors.product, factors.attention,
                factors.memory);
  }

  std::map<std::string, Summary> small, large; // by source: at most 8 chips, more
  Summary others;                              // all but the two sources with bars of their own
  struct Reference {
    double measured, predicted; // rates
  };
  std::map<std::string, Reference> families;
  std::map<std::string, Summary> ratios;
  std::printf("%-60s %6s %12s %12s %8s\n", "run", "chips", "measured s", "predicted s", "error %");
  for (size_t i = 0; i < steps.size(); ++i) {
    const PublishedStep &step = steps[i];
    Summary &summary = (step.layout.chips <= 8 ? small : large)[step.source];
    if (!step.missing.empty()) {
      ++summary.missing;
      std::printf("%-60s %6ld %s\n", step.id.c_str(), long(step.layout.chips),
                  step.missing.c_str());
      continue;
    }
    // A stack whose only small run is the one that is predicted has no factors of its own.
    const Calibration *calibration = nullptr;
    for (const auto &[name, all] : {std::pair(step.wider, &wider), {step.stack, &calibrations}})
      if (auto found = all->find(name);
          found != all->end() && found->second.size() > (step.layout.chips <= 8 ? 1 : 0))
        calibration = &found->second;
    const bool isCalibrated = calibration != nullptr;
    const Vector logs = isCalibrated ? calibration->without(&step) : Vector{};
    const double error = std::exp(residual(step, clusters[i], logs)) - 1;
    summary.add(100 * error);
    summary.uncalibrated += !isCalibrated;
    if (step.source != "simumax" && step.source != "seqsel")
      others.add(100 * error);
    // Ratios to the first run of the family, in points.
    const Reference rates{rateOf(step, step.seconds), rateOf(step, step.seconds * (1 + error))};
    auto [family, isFirst] = families.try_emplace(familyOf(step), rates);
    if (!isFirst)
      ratios[step.source].add(100 * (rates.predicted / family->second.predicted -
                                     rates.measured / family->second.measured));
    if (step.rival > 0)
      summary.rival += 100 * std::abs(step.rival / step.seconds - 1);
    std::printf("%-60s %6ld %12.4f %12.4f %+8.1f%s\n", step.id.c_str(), long(step.layout.chips),
                step.seconds, step.seconds * (1 + error), 100 * error,
                isCalibrated ? "" : "  not calibrated");
  }
  std::printf("%-12s %28s %28s\n", "source", "at most 8 chips: n mean worst", "more: n mean worst");
  for (const char *source : {"mpt", "simumax", "titan", "seqsel", "megatron", "megascale", "llama",
                             "bridge", "pax", "maxtext", "palm"}) {
    const Summary &few = small[source], &many = large[source];
    std::printf("%-12s %12d %6.2f %6.1f %14d %6.2f %6.1f   not calibrated %d, not predicted %d",
                source, few.count, few.mean(), few.worst, many.count, many.mean(), many.worst,
                few.uncalibrated + many.uncalibrated, few.missing + many.missing);
    if (few.rival > 0)
      std::printf(", the source's own simulator %.2f", few.rival / few.count);
    if (ratios.count(source))
      std::printf("; %d ratios off by %.1f points, at most %.1f", ratios[source].count,
                  ratios[source].mean(), ratios[source].worst);
    std::printf("\n");
  }
  const double sequenceParallel = (small["seqsel"].sum + large["seqsel"].sum) / 8;
  std::printf("sequence-parallel points %.2f %% (Calculon 3.65), B200 points %.2f %% (SimuMax "
              "5.62), %d others %.2f %%\n",
              sequenceParallel, small["simumax"].mean(), others.count, others.mean());
  EXPECT_LT(sequenceParallel, 3.65);
  EXPECT_LT(small["simumax"].mean(), 5.62);
  EXPECT_LT(others.mean(), 10);
  // Each source has the limit that it attains; titan, bridge, pax and maxtext miss the 10 % that
  // others reach.
  EXPECT_LT(small["mpt"].mean(), 5);
  EXPECT_LT(large["mpt"].mean(), 8);
  EXPECT_LT(large["megatron"].mean(), 7);
  EXPECT_LT(large["megascale"].mean(), 7);
  EXPECT_LT(large["llama"].mean(), 9);
  EXPECT_LT(large["titan"].mean(), 15);
  EXPECT_LT(large["bridge"].mean(), 17);
  EXPECT_LT(large["pax"].mean(), 15);
  EXPECT_LT(large["maxtext"].mean(), 20);
}

} // namespace
} // namespace tilewright::predict
