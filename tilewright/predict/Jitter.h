// Jitter: how long groups of ranks wait for their slowest member, by order statistics.
#ifndef TILEWRIGHT_PREDICT_JITTER_H
#define TILEWRIGHT_PREDICT_JITTER_H

#include "tilewright/numerics/Mesh.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tilewright::predict {

/// Mean and variance of the maximum of `count` independent standard normal variables.
struct Maximum {
  double mean, variance;
};
Maximum maximumOf(int64_t count);

/// How the clocks of ranks scatter around their mean: a sum of independent normal terms, each of
/// which is the same for all ranks that differ only along its axes. The time of a kernel is a term
/// without axes: every rank draws its own. An exchange along axes takes the maximum over groups and
/// so turns what differed inside groups into a term that is the same inside groups.
class Scatter {
public:
  /// Adds a kernel's variance.
  void add(double variance);
  /// Synchronises members that differ along `axes`. `sizes` are the sizes of the mesh's axes;
  /// `ranks` is the size of a group if there are no axes. Returns by how much the last member
  /// arrives later than the mean.
  double meet(numerics::AxisSet axes, std::span<const int64_t> sizes, int64_t ranks);
  /// The expected delay of the last rank.
  double last(std::span<const int64_t> sizes, int64_t ranks) const;

  /// Adds `count` times what was added since `before`; for loops in a steady state.
  void repeat(const Scatter &before, int64_t count);
  bool isSimilar(const Scatter &other) const;
  double variance() const;

private:
  struct Term {
    numerics::AxisSet sameAlong;
    double variance;
  };
  void addTerm(numerics::AxisSet sameAlong, double variance);
  std::vector<Term> terms; // at most one for each set of axes
};

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_JITTER_H
