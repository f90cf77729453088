// Deletes or weakens the synchronising instructions of correct kernels, one at a time, and counts
// how many of these mutants the checks find.
//
//   MutationSuite [--kernel NAME] [--every N] [--seeds N] [--verbose] [--cross] [FOLDER…]
//
// Without a folder: the kernels of Kernels.cpp. With folders: the launches that were recorded there
// (Recording.h).
//
// --cross also applies the rules that show mutants benign to the mutants that were found: a rule
// that calls one of them benign is wrong.
#include "Kernels.h"
#include "Mutate.h"
#include "Run.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <utility>

using namespace tilewright;
using namespace tilewright::vgpu::mutation;

/// The orders in which rules examine a kernel: eager, latest, and two seeded ones.
static constexpr uint32_t orders = 4;

static std::string readFile(const std::string &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The recordings of all folders; a kernel of the same module only once.
static std::vector<Kernel> recordingsOf(const std::vector<std::string> &folders) {
  std::set<std::string> paths, texts;
  for (const std::string &folder : folders)
    for (const auto &file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".launch")
        paths.insert((file.path().parent_path() / file.path().stem()).string());
  std::vector<Kernel> result;
  for (const std::string &path : paths) {
    Result<Recording> recording = Recording::read(path);
    if (!recording.isOk()) {
      std::cerr << std::move(recording).takeStatus().toString() << "\n";
      std::exit(1);
    }
    if (!texts.insert(recording->kernel + "\n" + recording->text).second)
      continue;
    Kernel kernel;
    kernel.file = path;
    kernel.recording = std::make_shared<Recording>(*std::move(recording));
    kernel.name = kernel.recording->kernel;
    kernel.block =
        kernel.recording->block[0] * kernel.recording->block[1] * kernel.recording->block[2];
    result.push_back(std::move(kernel));
  }
  return result;
}

int main(int count, char **arguments) {
  std::string only;
  size_t every = 1;
  uint32_t seeds = 3;
  bool isVerbose = false, isCrossed = false;
  std::vector<std::string> folders;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word == "--kernel" && i + 1 < count)
      only = arguments[++i];
    else if (word == "--every" && i + 1 < count)
      every = std::max(1, std::atoi(arguments[++i]));
    else if (word == "--seeds" && i + 1 < count)
      seeds = static_cast<uint32_t>(std::atoi(arguments[++i]));
    else if (word == "--verbose")
      isVerbose = true;
    else if (word == "--cross")
      isCrossed = true;
    else
      folders.emplace_back(word);
  }
  const std::string directory = std::string(TILEWRIGHT_SOURCE_DIR) + "/test/vgpu/mutation/kernels/";
  struct Class {
    std::map<Outcome, size_t> outcomes;
    size_t benign = 0, missed = 0;
  };
  std::map<std::string, Class> byClass;
  std::map<std::string, size_t> byReason;
  size_t kernelCount = 0, mutantCount = 0, foundCount = 0, benignCount = 0, failures = 0, index = 0,
         contradictions = 0;
  const std::vector<Kernel> recorded = recordingsOf(folders);
  if (!folders.empty() && recorded.empty()) {
    std::cerr << "no recordings in " << folders[0] << "\n";
    return 1;
  }
  for (const Kernel &kernel : folders.empty() ? kernels() : recorded) {
    const std::string label =
        kernel.recording ? std::filesystem::path(kernel.file).filename().string() : kernel.name;
    if (!only.empty() && label != only)
      continue;
    ++kernelCount;
    Result<std::string> text = isolate(
        kernel.recording ? kernel.recording->text : readFile(directory + kernel.file), kernel.name);
    if (!text.isOk()) {
      std::cerr << kernel.name << ": " << std::move(text).takeStatus().toString() << "\n";
      return 1;
    }
    if (kernel.recording)
      if (Status status = establish(kernel, *text, seeds + 5); !status.isOk()) {
        std::cerr << status.toString() << "\n";
        return 1;
      }
    // Check strictly by PTX's specification, if the original passes that.
    if (kernel.recording) {
      const std::string checks = std::exchange(kernel.recording->checks, "all,strict");
      if (runIsolated(kernel, *text, seeds, true).outcome != Outcome::clean)
        kernel.recording->checks = checks;
    }
    const bool isStrict =
        kernel.recording && kernel.recording->checks.find("strict") != std::string::npos;
    const Ran original = runIsolated(kernel, *text, seeds + 5, true);
    if (original.outcome != Outcome::clean) {
      std::cout << "FALSE POSITIVE " << label << " " << nameOf(original.outcome) << " "
                << original.order << "\n"
                << original.text << "\n";
      ++failures;
    }
    Result<std::vector<Mutant>> mutants = mutate(*text, kernel.name, kernel.block);
    if (!mutants.isOk()) {
      std::cerr << label << ": " << std::move(mutants).takeStatus().toString() << "\n";
      return 1;
    }
    std::vector<std::vector<Logged>> logs; // of the original in four orders, computed on demand
    auto reasonOf = [&](const Mutant &mutant) {
      if (logs.empty())
        for (uint32_t order = 0; order < orders; ++order)
          logs.push_back(logOf(kernel, *text, order));
      // A rule must hold in each order: a loop that spins in one order may not spin in another. But
      // rules locate an operation by its position in the log, and only in the eager order that is
      // where it was issued.
      std::string reason = whyBenign(logs[0], logs[1], mutant);
      const bool hasOperations =
          std::any_of(logs[0].begin(), logs[0].end(), [](const Logged &e) { return e.async != 0; });
      for (uint32_t order = 2; order < orders && !reason.empty() && !hasOperations; ++order)
        if (whyBenign(logs[order], logs[1], mutant).empty())
          reason.clear();
      if (!reason.empty())
        return reason;
      if (mutant.mutation == "alias ld.param" &&
          haveSameAccesses(logs[0], logOf(kernel, mutant.text, 0)))
        return std::string("both parameters are the same buffer, or none of it is accessed");
      for (uint32_t order = 0; order < orders; ++order)
        if (reason = whyStillOrdered(logOf(kernel, mutant.text, order), mutant, isStrict);
            reason.empty())
          break;
      return reason;
    };
    for (const Mutant &mutant : *mutants) {
      if (index++ % every != 0)
        continue;
      ++mutantCount;
      const Ran ran = runIsolated(kernel, mutant.text, seeds, true);
      std::string verdict = nameOf(ran.outcome);
      if (ran.outcome != Outcome::clean) {
        ++foundCount;
        ++byClass[mutant.mutation].outcomes[ran.outcome];
        if (isCrossed && ran.outcome != Outcome::stopped) {
          if (const std::string reason = reasonOf(mutant); !reason.empty()) {
            ++contradictions;
            std::cout << label << " line " << mutant.line << ": " << mutant.mutation << ": "
                      << mutant.before << " -> " << mutant.now << ": found, though " << reason
                      << "\n"
                      << ran.text << "\n";
          }
        }
      } else {
        if (const std::string reason = reasonOf(mutant); !reason.empty()) {
          ++benignCount;
          ++byReason[reason];
          ++byClass[mutant.mutation].benign;
          verdict = "benign: " + reason;
        } else {
          ++byClass[mutant.mutation].missed;
          verdict = "MISSED";
        }
      }
      if (verdict == "MISSED" || isVerbose)
        std::cout << label << " line " << mutant.line << ": " << mutant.mutation << ": "
                  << mutant.before << " -> " << mutant.now << ": " << verdict << " " << ran.order
                  << "\n"
                  << ran.text;
    }
  }
  std::printf("%-34s %8s %8s %8s %8s %8s %8s\n", "mutation", "reported", "stopped", "wrong",
              "refused", "benign", "missed");
  for (const auto &[mutation, one] : byClass) {
    auto number = [&, &counts = one.outcomes](Outcome outcome) {
      auto found = counts.find(outcome);
      return found == counts.end() ? size_t(0) : found->second;
    };
    std::printf("%-34s %8zu %8zu %8zu %8zu %8zu %8zu\n", mutation.c_str(),
                number(Outcome::reported), number(Outcome::stopped),
                number(Outcome::wrong) + number(Outcome::crashed), number(Outcome::refused),
                one.benign, one.missed);
  }
  std::printf("\nbenign because\n");
  for (const auto &[reason, number] : byReason)
    std::printf("%5zu  %s\n", number, reason.c_str());
  const size_t harmful = mutantCount - benignCount;
  std::printf(
      "\n%zu kernels, %zu mutants: %zu found, %zu benign, %zu missed (%.1f %% of the harmful "
      "found); %zu originals with findings\n",
      kernelCount, mutantCount, foundCount, benignCount, harmful - foundCount,
      harmful ? 100.0 * double(foundCount) / double(harmful) : 100.0, failures);
  if (isCrossed)
    std::printf("%zu found mutants that a rule calls benign\n", contradictions);
  // For recordings, the caller decides how many missed mutants are acceptable.
  if (folders.empty() && (double(foundCount) < 0.98 * double(harmful) || contradictions != 0))
    ++failures;
  return failures != 0;
}
