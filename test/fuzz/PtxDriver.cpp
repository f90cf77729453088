// Runs the fuzz target of the PTX reader without libFuzzer, in every build and
// the same each time:
//
//   PtxDriver [--runs=N] [--seed=S] [--save=FILE] FOLDER…
//
// --save writes each input before it is tried, so that the one that kills the
// process is known.

#include "test/fuzz/PtxTarget.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

using namespace tilewright::fuzz;

int main(int argc, char **argv) {
  uint64_t runs = 20000, seed = 1;
  std::string save;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--runs="))
      runs = std::stoull(argument.substr(7));
    else if (argument.starts_with("--seed="))
      seed = std::stoull(argument.substr(7));
    else if (argument.starts_with("--save="))
      save = argument.substr(7);
    else
      for (const auto &entry : std::filesystem::directory_iterator(argument))
        files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path &path : files) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!checkPtx(corpus.back())) {
      std::fprintf(stderr, "%s cannot be read as it is\n", path.c_str());
      return 1;
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no files to start from\n");
    return 2;
  }
  Random random(seed);
  uint64_t readable = 0;
  std::string input;
  for (uint64_t run = 0; run < runs; ++run) {
    // What can still be read is changed further, a few generations deep.
    if (run % 4 == 0 || input.empty())
      input = corpus[random.below(corpus.size())];
    std::string changed = mutatePtx(input, random);
    if (!save.empty())
      std::ofstream(save, std::ios::binary) << changed;
    if (checkPtx(changed)) {
      ++readable;
      input = std::move(changed);
    }
  }
  std::printf("%llu runs, %llu readable\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(readable));
  return 0;
}
