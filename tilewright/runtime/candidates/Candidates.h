// Candidates: measures alternative implementations of a computation and chooses the fastest
// (autotuning).
#ifndef TILEWRIGHT_RUNTIME_CANDIDATES_CANDIDATES_H
#define TILEWRIGHT_RUNTIME_CANDIDATES_CANDIDATES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime {

/// The decision for a problem, and the measurements behind it.
struct Decision {
  struct Candidate {
    std::string name;
    double seconds = 0; // the best run, or 0 if it was not measured
  };
  std::string problem; // a key with everything that the choice may depend on
  std::vector<Candidate> candidates;
  size_t chosen = 0;
  bool isMeasured = false;
};

/// The autotuning record: libraries compete with our kernels on every target, and the record shows
/// which candidates were tried, how long each took and which won. The class knows nothing about the
/// computations that it times.
///
///   size_t choice = candidates.choose("dot bf16 512x512x512 on avx512+amx, 2 threads",
///                                     names, [&](size_t candidate) { run(candidate); });
///
/// Thread-safe. Each problem is measured once; a caller that asks for it during the measurement
/// waits.
class Candidates {
public:
  struct Settings {
    /// Measure a problem when it first occurs. If off, the first candidate is chosen, so that the
    /// results do not depend on the load of the machine.
    bool measure = false;
    /// The time budget for measuring one problem. A candidate runs at least twice even if that
    /// exceeds the budget.
    double secondsPerProblem = 0.05;
    /// Called with each measured decision, with the lock held.
    std::function<void(const Decision &)> onMeasured;
  };
  /// The settings of `runtime.tune`: measure each decision and print it to stderr.
  static Settings measuringAloud();

  /// The index of the candidate to use for `problem`. `run(i)` computes the problem once with
  /// candidate i, to completion. `names` lists the candidates in order of preference.
  size_t choose(std::string_view problem, std::span<const std::string> names,
                const std::function<void(size_t)> &run);

  void set(const Settings &settings);
  Settings settings() const;

  /// Adds a known decision, so that the problem is not measured again.
  void add(Decision decision);
  std::optional<Decision> find(std::string_view problem) const;
  std::vector<Decision> decisions() const;
  /// One paragraph for each problem, with the choice marked and all times.
  std::string toString() const;
  static std::string toString(const Decision &decision);

  /// The instance that all kernels of this process share.
  static Candidates &ofProcess();

private:
  mutable std::mutex mutex;
  Settings current;                                     // guarded by mutex
  std::map<std::string, Decision, std::less<>> decided; // guarded by mutex
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_CANDIDATES_CANDIDATES_H
