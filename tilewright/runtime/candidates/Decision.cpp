#include "tilewright/runtime/candidates/Decision.h"

#include "tilewright/support/Concat.h"

#include <cstdio>

namespace tilewright::runtime {

/// A candidate must be this much faster than the preferred one. Two measurements of one kernel on a
/// busy machine differ by about as much, and equal kernels should not change places between runs.
static constexpr double advantage = 0.97;

size_t fastest(const std::vector<Candidate> &candidates, bool sameBits) {
  size_t best = 0;
  for (size_t i = 1; i < candidates.size(); ++i) {
    const Candidate &candidate = candidates[i];
    if (sameBits && candidate.order != candidates.front().order)
      continue;
    const double limit = candidates[best].seconds * (best == 0 ? advantage : 1);
    if (candidate.seconds > 0 && candidate.seconds < limit)
      best = i;
  }
  return best;
}

std::string toString(const Decision &decision) {
  std::string text = concat(decision.problem, decision.isMeasured() ? "\n" : " (not measured)\n");
  const double best =
      decision.candidates.empty() ? 0 : decision.candidates[decision.chosen].seconds;
  for (size_t i = 0; i < decision.candidates.size(); ++i) {
    const Candidate &candidate = decision.candidates[i];
    const bool isChosen = i == decision.chosen;
    char time[64] = "";
    if (candidate.seconds > 0)
      std::snprintf(time, sizeof(time), " %.4g ms", candidate.seconds * 1e3);
    std::string reason;
    if (!isChosen && candidate.seconds > 0 && best > 0) {
      char ratio[64];
      std::snprintf(ratio, sizeof(ratio), ", %.2f x the time", candidate.seconds / best);
      reason = ratio;
    }
    if (!isChosen && candidate.seconds > 0 && candidate.seconds < best)
      reason += candidate.order == decision.candidates.front().order
                    ? ": too small a difference to leave the preferred one"
                    : ": adds in another order, which runtime.deterministic excludes";
    text += concat(isChosen ? "  * " : "    ", candidate.name, static_cast<const char *>(time),
                   reason, "\n");
  }
  for (const std::string &reason : decision.absent)
    text += concat("    ", reason, "\n");
  return text;
}

} // namespace tilewright::runtime
