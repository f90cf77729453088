// Cluster: the machines of a prediction, as a small text file describes them.
#ifndef TILEWRIGHT_PREDICT_CLUSTER_H
#define TILEWRIGHT_PREDICT_CLUSTER_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::predict {

/// One level of the network: domains of `ranks` ranks each, joined by links of these rates.
struct FabricLevel {
  std::string name;
  int64_t ranks = 1;
  /// Whether the measured tables of the chip give the times inside one domain; only for the
  /// innermost level.
  bool isMeasured = false;
  double latency = 0;   // seconds for one hop between two domains of the level below
  double bandwidth = 0; // bytes per second that one rank sends at this level
  bool operator==(const FabricLevel &) const = default;
};

/// A chip, its memory and the network around it. docs/reference/cluster-files.md has the text form.
struct Cluster {
  std::string name; // of the file
  std::string chip; // "h100"
  /// The chips whose measurements give the rates of matrix products by shape and the times of
  /// collectives inside the innermost level; the chip itself unless the file says otherwise.
  std::string products, collectives;
  int64_t ranks = 1;                  // one per chip
  std::map<std::string, double> peak; // FLOP/s of dense products by type: bf16, f16, f8, f32
  /// For each type: the factor by which the measured rates of `products` are multiplied, which is
  /// the ratio of the peaks of both chips.
  std::map<std::string, double> productScale;
  double memoryBytes = 0, memoryBandwidth = 0;
  double launch = 0; // seconds between the end of a kernel and the begin of the next
  /// The levels, innermost first. The last one joins all ranks.
  std::vector<FabricLevel> levels;
  double jitter = 0;     // standard deviation of a kernel's time, relative
  double contention = 0; // share of the chip that a collective in progress takes from kernels
  double detect = 0;     // seconds until all ranks know that a rank is dead
  double restart = 0;    // seconds until the job continues from its last checkpoint
};

/// Reads the text form. Messages name the line and both values.
///  - clusterMalformed (E0030)
Result<Cluster> parseCluster(std::string_view text, std::string_view name);

/// The text of a cluster that is part of the program, such as "h100"; empty if there is none.
std::string_view shippedCluster(std::string_view name);
std::vector<std::string> shippedClusters();

/// The cluster with this many ranks.
///  - clusterMalformed (E0030): the last level does not join that many.
Result<Cluster> withRanks(Cluster cluster, int64_t ranks);

/// Finds a cluster and its number of ranks: "h100x64" names a cluster that is part of the program;
/// any other text is the name of a file.
///  - clusterMalformed (E0030)
Result<Cluster> findCluster(const std::string &text);

/// Whether a program for `ranks` ranks runs on the cluster, one rank on each chip.
///  - clusterMismatch (E0031)
Status checkFits(const Cluster &cluster, int64_t ranks);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_CLUSTER_H
