// Report: a prediction of one step of a program, in words and as a timeline.
#ifndef TILEWRIGHT_PREDICT_REPORT_H
#define TILEWRIGHT_PREDICT_REPORT_H

#include "tilewright/predict/FromExecutable.h"
#include "tilewright/predict/Simulate.h"

#include <string>
#include <vector>

namespace tilewright::predict {

/// The bytes that one rank holds while the program runs.
struct Memory {
  int64_t parameters = 0, results = 0, temporaries = 0,
          constants = 0; // results: those in new memory
  int64_t sum() const { return parameters + results + temporaries + constants; }
};

/// One run of a program on a cluster.
struct Prediction {
  Cluster cluster;
  int64_t ranks = 1; // of the program
  Program program;
  std::vector<std::string> remarks;
  Memory memory;
  Outcome step;   // with jitter, with a timeline
  Outcome smooth; // without jitter
  double slowFactor = 1;
  double slowSeconds = 0; // a step in which one rank of `critical` takes slowFactor times as long
  uint32_t critical = 0;  // the class that computes most

  /// The share of communication that kernels hide, from 0 to 1; 1 without communication.
  double hidden() const;
};

/// - clusterMismatch (E0031), commPlanEncoding, commPlanInvalid: as for priceProgram.
Result<Prediction> predictStep(const artifact::Executable &executable, const Cluster &cluster,
                               double slowFactor);

/// The report that `tilewright predict` prints.
std::string describe(const Prediction &prediction);

/// "12.3 ms".
std::string humanSeconds(double seconds);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_REPORT_H
