// Isolate: runs many numbered jobs in a few child processes. A job that crashes or hangs is
// reported like any other result.
#ifndef TOOLS_TILEWRIGHT_REDUCE_ISOLATE_H
#define TOOLS_TILEWRIGHT_REDUCE_ISOLATE_H

#include <cstdint>
#include <functional>
#include <string>

namespace tilewright::tools {

struct Outcome {
  enum class Kind { ended, died, hung };
  uint64_t job = 0;
  Kind kind = Kind::ended;
  std::string text;   // the text that the job returned, or how it died
  double seconds = 0; // of CPU time
};

struct IsolateSettings {
  uint64_t first = 0, count = 0;
  int processes = 2;
  /// Limit on the CPU seconds of one job. The limit is not on elapsed time, so that a job that
  /// waits for a busy CPU does not count as hung.
  double maxSeconds = 10;
  /// Limit of a child's address space; 0 for no limit.
  uint64_t maxBytes = 0;
};

/// Runs `work` on each job number and calls `report` in the order in which jobs end. Each child
/// calls `start` before its first job and keeps the result alive. The caller must be
/// single-threaded, because it forks.
void runIsolated(const IsolateSettings &settings,
                 const std::function<std::function<std::string(uint64_t)>()> &start,
                 const std::function<void(const Outcome &)> &report);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_REDUCE_ISOLATE_H
