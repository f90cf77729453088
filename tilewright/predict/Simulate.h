// Simulate: runs a program on classes of ranks and reports where the time goes.
#ifndef TILEWRIGHT_PREDICT_SIMULATE_H
#define TILEWRIGHT_PREDICT_SIMULATE_H

#include "tilewright/predict/Program.h"
#include "tilewright/support/Status.h"

#include <cstdint>
#include <vector>

namespace tilewright::predict {

struct SimulateOptions {
  double jitter = 0;     // relative standard deviation of a kernel's time
  double contention = 0; // share of the chip that exchanges in progress take from kernels
  size_t maxSpans = 0;   // how much of the timeline to record
};

/// A rectangle of the timeline.
struct Span {
  enum class What : uint8_t { compute, exchange, wait };
  What what;
  uint32_t rankClass;
  uint32_t index; // name of the kernel, or the exchange
  uint32_t lane;  // of an exchange
  double begin, end;
};

/// Where the time of one class goes, in seconds.
struct ClassTimes {
  double end = 0;      // when its last step ends
  double compute = 0;  // kernels, slowed by contention
  double exposed = 0;  // waiting for exchanges, with nothing to compute
  double exchange = 0; // exchanges in progress, summed over lanes
};

struct Outcome {
  double seconds = 0; // when the last rank ends
  std::vector<ClassTimes> classes;
  std::vector<Span> spans;
  int64_t events = 0; // steps that were simulated
};

/// Simulates the program. Each class has two kinds of clocks: one for its compute queue, and one
/// for each of its lanes. An exchange begins when its members of all classes have issued it and
/// their lanes are free. A loop is simulated until two successive iterations take the same time;
/// the remaining ones are multiplied.
///  - clusterMismatch (E0031): classes wait for each other in a cycle, so the program cannot end.
Result<Outcome> simulate(const Program &program, const SimulateOptions &options);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_SIMULATE_H
