// Prices: how long kernels and collectives take, at typical rates of a target or on a cluster.
#ifndef TILEWRIGHT_TRANSFORM_PRICES_H
#define TILEWRIGHT_TRANSFORM_PRICES_H

#include "tilewright/predict/Price.h"
#include "tilewright/transform/CollectivePrice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright::transform {

/// Prices in nanoseconds. The rates of a target are good to a factor of a few; those of a cluster
/// are measured.
class Prices {
public:
  explicit Prices(exec::TargetAttr target, std::optional<predict::Cluster> cluster = {})
      : cluster(std::move(cluster)), link(Link::of(target)) {
    const auto units = static_cast<double>(std::max<int64_t>(target.getUnits(), 1));
    if (target.isGpu()) {
      // Multiply-adds per cycle of a multiprocessor, at 1.5 GHz and half of the peak.
      const double rate = target.getRates() && target.getRates().getF16() > 0
                              ? static_cast<double>(target.getRates().getF16())
                              : 256;
      flopsPerNano = units * rate * 1.5;
      bytesPerNano = units * 12;
      launch = 4e3;
      wake = 2e3;
    } else {
      flopsPerNano = units * 30;
      bytesPerNano = units * 5;
      launch = 1e3;
      wake = 10e3;
    }
    // On a GPU a separate stream executes collectives, so no thread is woken. The cluster says what
    // the ranks are: a program without a target is compiled for this host's CPU.
    if (this->cluster && this->cluster->chip != "cpu")
      wake = 0;
  }

  /// The prices of the function's target; or of a cluster that predict::findCluster() knows by
  /// name. Reports an error at the function if there is no such cluster.
  static mlir::FailureOr<Prices> of(mlir::func::FuncOp function, const std::string &cluster) {
    std::optional<predict::Cluster> known;
    if (!cluster.empty()) {
      Result<predict::Cluster> found = predict::findCluster(cluster);
      if (!found.isOk())
        return function.emitError() << std::move(found).takeStatus().message();
      known = *std::move(found);
    }
    return Prices(exec::targetOf(function), std::move(known));
  }

  bool isMeasured() const { return cluster.has_value(); }

  double kernel(const predict::Work &work) const {
    return cluster ? 1e9 * predict::secondsOf(*cluster, work)
                   : launch + std::max(work.bytes / bytesPerNano, work.flops / flopsPerNano);
  }

  /// `groups` has a row for each group of ranks, or for each pair of a permute; `bytes` is the size
  /// of one rank's operands.
  double collective(numerics::CollectiveKind kind, mlir::DenseIntElementsAttr groups,
                    double bytes) const {
    const int64_t ranks =
        std::max<int64_t>(mlir::cast<mlir::ShapedType>(groups.getType()).getDimSize(1), 1);
    if (!cluster)
      return collectiveTime(link, kind, ranks, bytes);
    const predict::GroupShape &shape =
        shapeOf(groups, kind == numerics::CollectiveKind::permute ? Widest::ofAll : Widest::first);
    return 1e9 * predict::secondsOf(*cluster, kind, predict::wholeBytes(kind, bytes, shape.ranks()),
                                    shape);
  }

  /// The nanoseconds of a collective that sends almost nothing.
  double latency(numerics::CollectiveKind kind, mlir::DenseIntElementsAttr groups) const {
    return cluster ? collective(kind, groups, 1) : link.latency;
  }

  /// The bytes of one rank's operands from which on a larger collective saves little: its latency
  /// is a twentieth of its time at a typical rate, or less on a slower cluster.
  int64_t amortizedBytes(numerics::CollectiveKind kind, mlir::DenseIntElementsAttr groups) const {
    const int64_t typical = link.amortizedBytes();
    if (!cluster)
      return typical;
    constexpr double large = 1 << 26;
    const double least = latency(kind, groups);
    const double perByte = (collective(kind, groups, large) - least) / large;
    return perByte * static_cast<double>(typical) > 19 * least
               ? static_cast<int64_t>(19 * least / perByte)
               : typical;
  }

  /// The loss of the device if a collective overlaps with other steps: another thread wakes up.
  double separation() const { return wake; }

private:
  /// All groups of a mesh have the same shape. Messages differ: some pairs of a ring are neighbours
  /// in a node, others are not.
  enum class Widest : uint8_t { first, ofAll };

  const predict::GroupShape &shapeOf(mlir::DenseIntElementsAttr groups, Widest which) const {
    auto [known, isNew] = shapes.try_emplace(groups);
    if (!isNew)
      return known->second;
    const auto type = mlir::cast<mlir::ShapedType>(groups.getType());
    const int64_t size = type.getDimSize(1);
    const int64_t rows = which == Widest::first ? 1 : type.getDimSize(0);
    auto member = groups.getValues<int64_t>().begin();
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int64_t> members;
      for (int64_t i = 0; i < size; ++i, ++member)
        if (*member >= 0) // groups of different sizes are padded with -1
          members.push_back(*member);
      predict::GroupShape shape = predict::shapeOf(*cluster, members);
      if (std::lexicographical_compare(known->second.counts.rbegin(), known->second.counts.rend(),
                                       shape.counts.rbegin(), shape.counts.rend()))
        known->second = std::move(shape);
    }
    return known->second;
  }

  std::optional<predict::Cluster> cluster;
  Link link;
  double flopsPerNano, bytesPerNano, launch, wake;
  mutable llvm::DenseMap<mlir::Attribute, predict::GroupShape> shapes;
};

} // namespace tilewright::transform

#endif // TILEWRIGHT_TRANSFORM_PRICES_H
