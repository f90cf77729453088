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
void Candidates::measure(Decision &decision, const std::function<void(size_t)> &run) {
  constexpr int leastRounds = 2, maxRounds = 20;
  constexpr double farBehind = 3;
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < decision.candidates.size(); ++i)
    run(i); // warm-up: caches, pages and code are cold
  double best = 0, spent = 0;
  for (int round = 0;
       round < maxRounds && (round < leastRounds || spent < current.secondsPerProblem); ++round)
    for (size_t i = 0; i < decision.candidates.size(); ++i) {
      double &seconds = decision.candidates[i].seconds;
      if (round > 0 && seconds > farBehind * best)
        continue;
      const double taken = std::max(timeOf(run, i), 1e-9);
      spent += taken;
      seconds = round == 0 ? taken : std::min(seconds, taken);
      best = best == 0 ? seconds : std::min(best, seconds);
    }
  spentSeconds += std::chrono::duration<double>(Clock::now() - start).count();
}

/// The measurements of the problem, made by this process or read from the file. They count only if
/// they contain a time for every current candidate: a library that was installed later must be
/// tried.
std::optional<Decision> Candidates::findKnown(const Decision &asked) const {
  auto here = decided.find(asked.problem);
  std::optional<Decision> known;
  if (here != decided.end())
    known = here->second;
  else if (current.file)
    known = current.file->find(asked.problem);
  if (!known)
    return std::nullopt;
  Decision decision = asked;
  for (Candidate &candidate : decision.candidates) {
    auto measured = std::ranges::find(known->candidates, candidate.name, &Candidate::name);
    if (measured == known->candidates.end() || measured->order != candidate.order)
      return std::nullopt;
    candidate.seconds = measured->seconds;
  }
  if (!decision.isMeasured() && here == decided.end())
    return std::nullopt;
  return decision;
}

size_t Candidates::choose(Decision asked, const std::function<void(size_t)> &run) {
  // Hold the lock while measuring: concurrent measurements would disturb each other.
  std::lock_guard lock(mutex);
  if (asked.candidates.size() < 2)
    return 0;
  std::optional<Decision> known = findKnown(asked);
  Decision decision = known ? *std::move(known) : std::move(asked);
  const bool isOverBudget = spentSeconds >= current.secondsInAll;
  if (!decision.isMeasured() && current.measure && !isOverBudget) {
    measure(decision, run);
    decision.chosen = fastest(decision.candidates, current.sameBits);
    if (current.onMeasured)
      current.onMeasured(decision);
    Status added = current.file ? current.file->add(decision) : Status();
    if (!added.isOk() && current.onRemark)
      current.onRemark(added.toString());
  } else if (!decision.isMeasured() && current.measure && current.onRemark) {
    current.onRemark(concat(decision.problem, ": not measured, because ", current.secondsInAll,
                            " s were spent on other problems; its first candidate is used"));
  }
  const size_t chosen = decision.chosen = fastest(decision.candidates, current.sameBits);
  std::string problem = decision.problem;
  decided.insert_or_assign(std::move(problem), std::move(decision));
  return chosen;
}

bool Candidates::canChoose() const {
  std::lock_guard lock(mutex);
  return current.measure || current.file || !decided.empty();
}

Candidates::Settings Candidates::settingsOf(const RuntimeOptions &options) {
  Settings settings{.measure = options.tune, .sameBits = options.deterministic};
  auto print = [](const std::string &text) {
    std::fprintf(stderr, "tilewright: tuning: %s\n", text.c_str());
  };
  if (!options.tuningFile.empty()) {
    // A slower program is better than one that does not start.
    Result<std::shared_ptr<TuningFile>> file = TuningFile::open(options.tuningFile);
    if (file.isOk())
      settings.file = *std::move(file);
    else
      print(std::move(file).takeStatus().toString());
  }
  settings.onMeasured = [print](const Decision &decision) { print(toString(decision)); };
  settings.onRemark = print;
  return settings;
}

void Candidates::set(const Settings &settings) {
  std::lock_guard lock(mutex);
  current = settings;
}

Candidates::Settings Candidates::settings() const {
  std::lock_guard lock(mutex);
  return current;
}

std::map<std::string, std::string> Candidates::freeze() {
  std::lock_guard lock(mutex);
  if (current.file)
    for (Decision &decision : current.file->decisions())
      decided.try_emplace(decision.problem, decision);
  current.file = nullptr;
  current.measure = false;
  std::map<std::string, std::string> chosen;
  for (const auto &[problem, decision] : decided)
    if (decision.isMeasured())
      chosen[problem] = decision.candidates[fastest(decision.candidates, current.sameBits)].name;
  return chosen;
}

std::vector<Decision> Candidates::decisions() const {
  std::lock_guard lock(mutex);
  std::vector<Decision> all;
  for (const auto &[problem, decision] : decided)
    all.push_back(decision);
  return all;
}

Candidates &Candidates::ofProcess() {
  static Candidates candidates;
  return candidates;
}

} // namespace tilewright::runtime
