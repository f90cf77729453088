// Runs the fuzz target of the loader of GPU modules without libFuzzer, in every build and
// the same each time:
//
//   BinaryDriver [--runs=N] [--seed=S] [--save=FILE] FOLDER…
//
// --save writes each input before it is tried, so that the one that kills the process is
// known.

#include "test/fuzz/BinaryTarget.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

using namespace tilewright::fuzz;

int main(int argc, char **argv) {
  uint64_t runs = 2000, seed = 1;
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
        if (entry.path().extension() == ".ptx" || entry.path().extension() == ".fatbin")
          files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path &path : files) {
    // Large kernels take long to decode, and add nothing that small ones have not.
    constexpr uintmax_t most = 40000;
    if (std::filesystem::file_size(path) > most)
      continue;
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    checkBinary(corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no files to start from\n");
    return 2;
  }
  Random random(seed);
  uint64_t loaded = 0;
  std::string input;
  for (uint64_t run = 0; run < runs; ++run) {
    if (run % 4 == 0 || input.empty())
      input = corpus[random.below(corpus.size())];
    std::string changed = mutateBinary(input, random);
    if (!save.empty())
      std::ofstream(save, std::ios::binary) << changed;
    if (checkBinary(changed)) {
      ++loaded;
      input = std::move(changed);
    }
  }
  std::printf("%llu runs, %llu loaded\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(loaded));
  return 0;
}
