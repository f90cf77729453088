// Candidates: several ways to compute one thing, of which a measurement picks one.
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

/// What was decided for a problem, and why.
struct Decision {
  struct Candidate {
    std::string name;
    double seconds = 0; // the best run, or 0 if it was not measured
  };
  std::string problem; // everything that the choice may depend on, spelled out
  std::vector<Candidate> candidates;
  size_t chosen = 0;
  bool isMeasured = false;
};

/// The book of decisions: libraries compete with code of ours on every target, and what was
/// tried, how long it took and what won can be read. It knows nothing of what it times.
///
///   size_t choice = book.choose("dot bf16 512x512x512 on avx512+amx, 2 threads",
///                               names, [&](size_t candidate) { run(candidate); });
///
/// Thread-safe. A problem is decided once; whoever asks while it is being measured waits.
class Candidates {
public:
  struct Settings {
    /// Measure a problem when it is met for the first time. Off, the first candidate is taken: the
    /// bits of results then do not depend on how busy the machine was.
    bool measure = false;
    /// Time for measuring one problem. A candidate runs at least twice whatever this says.
    double secondsPerProblem = 0.05;
    /// Told of each decision that was measured, while it is made.
    std::function<void(const Decision &)> onMeasured;
  };
  /// What `runtime.tune` asks for: each decision is measured, and written to stderr.
  static Settings measuringAloud();

  /// The number of the candidate to use for `problem`. `run` computes it once with the candidate
  /// of a number, to completion; candidates are listed in the order of preference.
  size_t choose(std::string_view problem, std::span<const std::string> names,
                const std::function<void(size_t)> &run);

  void set(const Settings &settings);
  Settings settings() const;

  /// What is known from before, so that it is not measured again.
  void add(Decision decision);
  std::optional<Decision> find(std::string_view problem) const;
  std::vector<Decision> decisions() const;
  /// One paragraph for each problem, the choice marked, times of all.
  std::string toString() const;
  static std::string toString(const Decision &decision);

  /// The one that all kernels of this process share.
  static Candidates &ofProcess();

private:
  mutable std::mutex mutex;
  Settings current;                                     // guarded by mutex
  std::map<std::string, Decision, std::less<>> decided; // guarded by mutex
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_CANDIDATES_CANDIDATES_H
