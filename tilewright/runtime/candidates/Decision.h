// Decision: which implementation of a computation is used, and the measurements behind it.
#ifndef TILEWRIGHT_RUNTIME_CANDIDATES_DECISION_H
#define TILEWRIGHT_RUNTIME_CANDIDATES_DECISION_H

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// An implementation of a computation.
struct Candidate {
  /// Names the implementation with its version and parameters: "onednn 3.2.0".
  std::string name;
  /// Identifies the order of additions. Candidates with the same order compute the same bits.
  std::string order = {};
  double seconds = 0; // the best run, or 0 if it was not measured
};

struct Decision {
  std::string problem;                    // a key with everything that the choice may depend on
  std::vector<Candidate> candidates = {}; // the preferred one first
  /// Why implementations that exist are not among the candidates: "onednn: not installed".
  std::vector<std::string> absent = {};
  size_t chosen = 0;

  bool isMeasured() const { return !candidates.empty() && candidates.front().seconds > 0; }
};

/// The candidate to use according to the measured times: the fastest, if it is faster than the
/// preferred one by more than the noise of measurements; with `sameBits`, only among those that add
/// in the same order as the preferred one.
size_t fastest(const std::vector<Candidate> &candidates, bool sameBits);

/// One paragraph: the problem, the time of each candidate with the chosen one marked, how much
/// slower the others were, and which are absent.
std::string toString(const Decision &decision);

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_CANDIDATES_DECISION_H
