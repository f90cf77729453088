// Runs the fuzz target without libFuzzer, deterministically and in every build:
//
//   ReadDriver [--runs=N] [--seed=S] [--save=FILE | --write=FOLDER] FOLDER-OR-FILE…
//
// Half of the inputs are mutated bit by bit, half by structure. --save writes each input before it
// is tried, so that the input that crashes the process is known; --write writes all inputs and
// tries none.

#include "test/fuzz/ArtifactMutator.h"
#include "test/fuzz/DriverArguments.h"
#include "test/fuzz/ReadTarget.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

using namespace tilewright::fuzz;

static std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

static std::string contentOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

int main(int argc, char **argv) {
  const auto [runs, seed, save, write, rest] = parseDriverArguments(argc, argv, 100000);
  std::vector<std::filesystem::path> files;
  for (const std::string &argument : rest)
    if (std::filesystem::is_directory(argument))
      for (const auto &entry : std::filesystem::directory_iterator(argument)) {
        if (entry.is_regular_file())
          files.push_back(entry.path());
      }
    else
      files.push_back(argument);
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path &file : files)
    corpus.push_back(contentOf(file));
  if (corpus.empty()) {
    std::fprintf(stderr, "no files to start from\n");
    return 2;
  }
  for (const std::string &artifact : corpus)
    checkArtifact(bytesOf(artifact));

  Random random(seed);
  uint64_t readable = 0;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t run = 0; run < runs; ++run) {
    const size_t place = random.below(corpus.size());
    std::string input =
        run % 2 ? mutateStructure(corpus[place], random) : mutateBits(corpus[place], random);
    if (!write.empty()) {
      std::ofstream(write + "/" + std::to_string(run) + ".mlirbc", std::ios::binary) << input;
      continue;
    }
    if (!save.empty())
      std::ofstream(save, std::ios::binary) << input;
    if (!checkArtifact(bytesOf(input)))
      continue;
    ++readable;
    // Inputs that can still be read join the corpus and are mutated further, a few generations
    // deep.
    if (corpus.size() < 4 * files.size() && random.oneIn(16))
      corpus.push_back(std::move(input));
    else if (corpus.size() > files.size() && random.oneIn(16))
      corpus[files.size() + random.below(corpus.size() - files.size())] = std::move(input);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu runs from %zu files with seed %llu: %llu readable, %.1f s\n",
              static_cast<unsigned long long>(runs), files.size(),
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(readable),
              seconds);
  return 0;
}
