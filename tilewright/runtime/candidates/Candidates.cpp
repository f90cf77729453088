#include "tilewright/runtime/candidates/Candidates.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace tilewright::runtime {

using Clock = std::chrono::steady_clock;

static double timeOf(const std::function<void(size_t)> &run, size_t candidate) {
  const Clock::time_point start = Clock::now();
  run(candidate);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The best of several runs each. Candidates take turns, so that a slow moment of the
/// machine is shared; one that is far behind is not run again.
static Decision measure(std::string_view problem, std::span<const std::string> names,
                        const std::function<void(size_t)> &run, double budget) {
  constexpr int leastRounds = 2, mostRounds = 20;
  constexpr double farBehind = 3;
  Decision decision{.problem = std::string(problem), .candidates = {}, .isMeasured = true};
  for (const std::string &name : names) {
    decision.candidates.push_back({name, 0});
    run(decision.candidates.size() - 1); // caches, pages and code are cold the first time
  }
  double best = 0, spent = 0;
  for (int round = 0; round < mostRounds && (round < leastRounds || spent < budget); ++round)
    for (size_t i = 0; i < names.size(); ++i) {
      double &seconds = decision.candidates[i].seconds;
      if (round > 0 && seconds > farBehind * best)
        continue;
      const double taken = timeOf(run, i);
      spent += taken;
      seconds = round == 0 ? taken : std::min(seconds, taken);
      best = best == 0 ? seconds : std::min(best, seconds);
    }
  for (size_t i = 1; i < names.size(); ++i)
    if (decision.candidates[i].seconds < decision.candidates[decision.chosen].seconds)
      decision.chosen = i;
  return decision;
}

size_t Candidates::choose(std::string_view problem, std::span<const std::string> names,
                          const std::function<void(size_t)> &run) {
  // Held while measuring: two measurements at once would disturb each other.
  std::lock_guard lock(mutex);
  if (auto known = decided.find(problem); known != decided.end()) {
    // A decision of another day counts if its winner is among those of today.
    const std::string &winner = known->second.candidates[known->second.chosen].name;
    if (auto name = std::find(names.begin(), names.end(), winner); name != names.end())
      return static_cast<size_t>(name - names.begin());
  }
  Decision decision{.problem = std::string(problem), .candidates = {}};
  if (current.measure && names.size() > 1) {
    decision = measure(problem, names, run, current.secondsPerProblem);
    if (current.onMeasured)
      current.onMeasured(decision);
  } else {
    for (const std::string &name : names)
      decision.candidates.push_back({name, 0});
  }
  const size_t chosen = decision.chosen;
  decided.insert_or_assign(std::string(problem), std::move(decision));
  return chosen;
}

Candidates::Settings Candidates::measuringAloud() {
  return {.measure = true, .onMeasured = [](const Decision &decision) {
            std::fprintf(stderr, "runtime.tune: %s", toString(decision).c_str());
          }};
}

void Candidates::set(const Settings &settings) {
  std::lock_guard lock(mutex);
  current = settings;
}

Candidates::Settings Candidates::settings() const {
  std::lock_guard lock(mutex);
  return current;
}

void Candidates::add(Decision decision) {
  if (decision.chosen >= decision.candidates.size())
    return;
  std::lock_guard lock(mutex);
  std::string problem = decision.problem;
  decided.insert_or_assign(std::move(problem), std::move(decision));
}

std::optional<Decision> Candidates::find(std::string_view problem) const {
  std::lock_guard lock(mutex);
  auto known = decided.find(problem);
  return known == decided.end() ? std::nullopt : std::optional(known->second);
}

std::vector<Decision> Candidates::decisions() const {
  std::lock_guard lock(mutex);
  std::vector<Decision> all;
  for (const auto &[problem, decision] : decided)
    all.push_back(decision);
  return all;
}

std::string Candidates::toString(const Decision &decision) {
  std::string text = concat(decision.problem, decision.isMeasured ? "\n" : " (not measured)\n");
  for (size_t i = 0; i < decision.candidates.size(); ++i) {
    const Decision::Candidate &candidate = decision.candidates[i];
    char time[32] = "";
    if (decision.isMeasured)
      std::snprintf(time, sizeof(time), " %.3f ms", candidate.seconds * 1e3);
    text += concat(i == decision.chosen ? "  * " : "    ", candidate.name,
                   static_cast<const char *>(time), "\n");
  }
  return text;
}

std::string Candidates::toString() const {
  std::string text;
  for (const Decision &decision : decisions())
    text += toString(decision);
  return text;
}

Candidates &Candidates::ofProcess() {
  static Candidates candidates;
  return candidates;
}

} // namespace tilewright::runtime
