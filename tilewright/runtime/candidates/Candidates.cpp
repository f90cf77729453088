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

/// Keeps the best of several runs of each candidate. Runs the candidates alternately, so that a
/// temporary slowdown of the machine affects all of them; stops running one that is far behind.
static Decision measure(std::string_view problem, std::span<const std::string> names,
                        const std::function<void(size_t)> &run, double budget) {
  constexpr int leastRounds = 2, maxRounds = 20;
  constexpr double farBehind = 3;
  Decision decision{.problem = std::string(problem), .candidates = {}, .isMeasured = true};
  for (const std::string &name : names) {
    decision.candidates.push_back({name, 0});
    run(decision.candidates.size() - 1); // warm-up: caches, pages and code are cold
  }
  double best = 0, spent = 0;
  for (int round = 0; round < maxRounds && (round < leastRounds || spent < budget); ++round)
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
  // Hold the lock while measuring: concurrent measurements would disturb each other.
  std::lock_guard lock(mutex);
  if (auto known = decided.find(problem); known != decided.end()) {
    // A stored decision is valid if its winner is among the current candidates.
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
