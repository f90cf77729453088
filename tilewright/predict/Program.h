// Program: what ranks execute, as input of the simulator: kernels with their times, exchanges,
// loops.
#ifndef TILEWRIGHT_PREDICT_PROGRAM_H
#define TILEWRIGHT_PREDICT_PROGRAM_H

#include "tilewright/numerics/Mesh.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::predict {

/// Ranks that execute the same steps with the same costs. The simulator keeps one clock for each
/// class, so its time does not depend on the number of ranks.
struct RankClass {
  std::string name; // "all ranks", "stage 3"
  int64_t ranks = 1;
};

/// A call site of a collective.
struct Exchange {
  std::string name;
  double seconds = 0; // once all members have reached it
  uint32_t lane = 0;  // exchanges of a lane run one after the other
  /// The outermost level of the fabric that it uses. Exchanges in different lanes that use the same
  /// level at the same time share its bandwidth.
  uint32_t level = 0;
  std::vector<uint32_t> classes; // whose members meet in it
  /// The ranks that wait for each other: those that differ along `axes`, or if it has none, groups
  /// of `ranks` ranks.
  numerics::AxisSet axes = 0;
  int64_t ranks = 1;
};

/// One step of a rank.
struct Op {
  enum class Kind : uint8_t {
    compute, // a kernel of `seconds`; `index` is its name
    start,   // issues exchange `index`
    done,    // waits for the oldest unfinished exchange `index`
  };
  Kind kind = Kind::compute;
  uint32_t index = 0;
  double seconds = 0;
};

/// A sequence of steps for each class, or a loop.
struct Node {
  std::vector<std::vector<Op>> ops; // by class; empty for a loop
  int64_t iterations = 1;           // of a loop
  std::vector<Node> body;           // of a loop. An exchange that starts in it ends in it
};

struct Program {
  std::vector<RankClass> classes;
  std::vector<int64_t> axes; // sizes of the mesh axes
  std::vector<Exchange> exchanges;
  std::vector<std::string> names; // of kernels
  std::vector<Node> nodes;
};

/// The program with one more class: one rank of class `slow`, whose kernels take `factor` times as
/// long.
Program withSlowRank(const Program &program, uint32_t slow, double factor);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_PROGRAM_H
