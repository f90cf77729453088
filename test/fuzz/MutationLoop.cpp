#include "test/fuzz/MutationLoop.h"

#include "test/fuzz/DriverArguments.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace tilewright::fuzz {

/// Other files of a corpus are its description.
static bool isSeed(std::string_view extension) {
  for (std::string_view known : {".ptx", ".fatbin", ".hsaco", ".co"})
    if (extension == known)
      return true;
  return false;
}

int runMutations(int argc, char **argv, const MutationTarget &target) {
  const auto [runs, seed, save, write, rest] = parseDriverArguments(argc, argv, 2000);
  if (!write.empty()) {
    std::fprintf(stderr, "this driver has no --write\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const std::string &folder : rest)
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (isSeed(entry.path().extension().string()))
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path &path : files) {
    if (std::filesystem::file_size(path) > target.maxBytes)
      continue;
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!target.check(corpus.back()) && target.acceptsCorpus) {
      std::fprintf(stderr, "%s cannot be read as it is\n", path.c_str());
      return 1;
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no files to start from\n");
    return 2;
  }
  Random random(seed);
  uint64_t accepted = 0;
  std::string input;
  for (uint64_t run = 0; run < runs; ++run) {
    // Inputs that are still accepted join the corpus and are mutated further, a few generations
    // deep.
    if (run % 4 == 0 || input.empty())
      input = corpus[random.below(corpus.size())];
    std::string changed = target.mutate(input, random);
    if (!save.empty())
      std::ofstream(save, std::ios::binary) << changed;
    if (target.check(changed)) {
      ++accepted;
      input = std::move(changed);
    }
  }
  std::printf("%llu runs, %llu accepted\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(accepted));
  return 0;
}

size_t mutateInPlace(const MutationTarget &target, uint8_t *data, size_t size, size_t maxSize,
                     unsigned seed) {
  Random random(seed);
  std::string changed = target.mutate({reinterpret_cast<const char *>(data), size}, random);
  const size_t changedSize = std::min(changed.size(), maxSize);
  std::memcpy(data, changed.data(), changedSize);
  return changedSize;
}

} // namespace tilewright::fuzz
