// Runs the fuzz target of the executable loader without libFuzzer, deterministically and in every
// build:
//
//   LoadDriver [--runs=N] [--seed=S] [--save=FILE] [--write=FOLDER] OBJECT...
//
// Makes its own seeds, some of them with objects: SeedObject.c and SeedCaller.c, compiled. --save
// writes each input before it is tried, so that the input that crashes the process is known;
// --write only writes the seeds, for libFuzzer.

#include "test/fuzz/DriverArguments.h"
#include "test/fuzz/ExecutableMutator.h"
#include "test/fuzz/LoadTarget.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

using namespace tilewright::fuzz;

static void writeFile(const std::string &path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

static std::vector<std::byte> contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

int main(int argc, char **argv) {
  const auto [runs, seed, save, write, rest] = parseDriverArguments(argc, argv, 100000);
  std::vector<std::vector<std::byte>> objects;
  for (const std::string &file : rest)
    objects.push_back(contentOf(file));
  std::vector<std::vector<std::byte>> corpus = executableSeeds(objects);
  const size_t seeds = corpus.size();
  int reached = 0;
  for (size_t i = 0; i < seeds; ++i) {
    if (!write.empty())
      writeFile(write + "/seed-" + std::to_string(i) + ".twx", corpus[i]);
    const int far = checkExecutableBytes(corpus[i]);
    reached |= 1 << far;
  }
  if (reached != 0b1110) {
    std::fprintf(stderr, "the seeds are not read, loaded and run as they should: %d\n", reached);
    return 2;
  }
  if (!write.empty())
    return 0;

  Random random(seed);
  uint64_t counts[4] = {};
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t run = 0; run < runs; ++run) {
    const std::vector<std::byte> &from = corpus[random.below(corpus.size())];
    std::vector<std::byte> input = mutateExecutable(from, random);
    if (!save.empty())
      writeFile(save, input);
    const int far = checkExecutableBytes(input);
    ++counts[far];
    // Inputs that can still be read join the corpus and are mutated further, a few generations
    // deep.
    if (far == 0 || input.size() > 16384 || !random.oneIn(far > 1 ? 4 : 16))
      continue;
    if (corpus.size() < 16 * seeds)
      corpus.push_back(std::move(input));
    else
      corpus[seeds + random.below(corpus.size() - seeds)] = std::move(input);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu runs with seed %llu: %llu refused, %llu read, %llu loaded, %llu ran, %.1f s\n",
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(counts[0]),
              static_cast<unsigned long long>(counts[1]),
              static_cast<unsigned long long>(counts[2]),
              static_cast<unsigned long long>(counts[3]), seconds);
  return 0;
}
