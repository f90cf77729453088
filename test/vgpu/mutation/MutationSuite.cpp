// Deletes and weakens what synchronises, one instruction at a time, in kernels that
// are right, and counts what the checks say.
//
//   MutationSuite [--kernel NAME] [--every N] [--seeds N] [--verbose] [--list]
#include "Kernels.h"
#include "Mutate.h"
#include "Run.h"

#include "tilewright/support/Concat.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>

using namespace tilewright;
using namespace tilewright::vgpu::mutation;

static std::string readFile(const std::string &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

int main(int count, char **arguments) {
  std::string only;
  size_t every = 1;
  uint32_t seeds = 3;
  bool isVerbose = false;
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
  }
  const std::string directory = std::string(TILEWRIGHT_SOURCE_DIR) + "/test/vgpu/mutation/kernels/";
  std::map<std::string, std::map<Outcome, size_t>> byClass;
  size_t kernelCount = 0, mutantCount = 0, foundCount = 0, failures = 0, index = 0;
  for (const Kernel &kernel : kernels()) {
    if (!only.empty() && kernel.name != only)
      continue;
    ++kernelCount;
    Result<std::string> text = isolate(readFile(directory + kernel.file), kernel.name);
    if (!text.isOk()) {
      std::cerr << kernel.name << ": " << std::move(text).takeStatus().toString() << "\n";
      return 1;
    }
    const Ran original = runIsolated(kernel, *text, seeds + 5, true);
    if (original.outcome != Outcome::clean) {
      std::cout << "FALSE POSITIVE " << kernel.name << " " << nameOf(original.outcome) << " "
                << original.order << "\n"
                << original.text << "\n";
      ++failures;
    }
    Result<std::vector<Mutant>> mutants = mutate(*text, kernel.name, kernel.block);
    if (!mutants.isOk()) {
      std::cerr << kernel.name << ": " << std::move(mutants).takeStatus().toString() << "\n";
      return 1;
    }
    for (const Mutant &mutant : *mutants) {
      if (index++ % every != 0)
        continue;
      ++mutantCount;
      const Ran ran = runIsolated(kernel, mutant.text, seeds, true);
      ++byClass[mutant.mutation][ran.outcome];
      if (ran.outcome != Outcome::clean)
        ++foundCount;
      if (ran.outcome == Outcome::clean || isVerbose)
        std::cout << kernel.name << " line " << mutant.line << ": " << mutant.mutation << ": "
                  << mutant.before << " -> " << mutant.now << ": " << nameOf(ran.outcome) << " "
                  << ran.order << "\n";
      if (isVerbose)
        std::cout << ran.text << "\n";
    }
  }
  std::cout << "\n";
  for (const auto &[mutation, outcomes] : byClass) {
    std::printf("%-40s", mutation.c_str());
    for (const auto &[outcome, number] : outcomes)
      std::printf(" %s %zu", nameOf(outcome), number);
    std::printf("\n");
  }
  std::printf("%zu kernels, %zu mutants, %zu found, %zu originals with findings\n", kernelCount,
              mutantCount, foundCount, failures);
  return failures != 0;
}
