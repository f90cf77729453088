// Candidates: measures alternative implementations of a computation and chooses the fastest
// (autotuning).
#ifndef TILEWRIGHT_RUNTIME_CANDIDATES_CANDIDATES_H
#define TILEWRIGHT_RUNTIME_CANDIDATES_CANDIDATES_H

#include "tilewright/runtime/candidates/TuningFile.h"
#include "tilewright/support/Options.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime {

/// The autotuning record: libraries compete with our kernels on every target, and the record shows
/// which candidates were tried, how long each took and which won. The class knows nothing about the
/// computations that it times.
///
///   size_t choice = candidates.choose({"dot bf16 512x512x512 on avx512+amx, 2 threads", names},
///                                     [&](size_t candidate) { run(candidate); });
///
/// Thread-safe. Each problem is measured once; a caller that asks for it during the measurement
/// waits.
class Candidates {
public:
  struct Settings {
    /// Measure a problem when it first occurs. If off, the first candidate is chosen unless `file`
    /// has measurements, so that the results do not depend on the load of the machine.
    bool measure = false;
    /// Choose only among candidates that compute the same bits as the first.
    bool sameBits = false;
    /// The time budget for measuring one problem. A candidate runs at least twice even if that
    /// exceeds the budget.
    double secondsPerProblem = 0.05;
    /// The time budget for all problems. Later ones are not measured.
    double secondsInAll = 60;
    /// Measurements that processes share; new ones are added to it. Null if they are not shared.
    std::shared_ptr<TuningFile> file = nullptr;
    /// Called with each measured decision, with the lock held.
    std::function<void(const Decision &)> onMeasured = nullptr;
    /// Called with each problem that the file cannot keep or that the budget leaves unmeasured.
    std::function<void(const std::string &)> onRemark = nullptr;
  };
  Candidates() = default;
  explicit Candidates(Settings settings) : current(std::move(settings)) {}

  /// The settings of `runtime.tune`, `runtime.tuning-file` and `runtime.deterministic`. Prints each
  /// measured decision, and a file that cannot be used, to stderr.
  static Settings settingsOf(const RuntimeOptions &options);

  /// The index of the candidate to use. `asked` contains the problem, its candidates in order of
  /// preference, and the absent ones. `run(i)` computes the problem once with candidate i, to
  /// completion.
  size_t choose(Decision asked, const std::function<void(size_t)> &run);
  /// Whether choose() may choose a candidate other than the first.
  bool canChoose() const;

  void set(const Settings &settings);
  Settings settings() const;

  /// For a job of several processes, which must choose alike: from now on nothing is measured or
  /// read. Returns the chosen candidate by problem, for the processes to compare.
  std::map<std::string, std::string> freeze();

  std::vector<Decision> decisions() const;

  /// The instance that all kernels of this process share.
  static Candidates &ofProcess();

private:
  std::optional<Decision> findKnown(const Decision &asked) const;
  void measure(Decision &decision, const std::function<void(size_t)> &run);

  mutable std::mutex mutex;
  // guarded by mutex:
  Settings current;
  double spentSeconds = 0;
  std::map<std::string, Decision, std::less<>> decided;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_CANDIDATES_CANDIDATES_H
