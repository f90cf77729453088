// What the fuzzers of PTX and of GPU modules have in common.
#ifndef TEST_FUZZ_MUTATIONLOOP_H
#define TEST_FUZZ_MUTATIONLOOP_H

#include "test/fuzz/ArtifactMutator.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::fuzz {

struct MutationTarget {
  bool (*check)(std::string_view input); // aborts if a promise is broken; whether it was accepted
  std::string (*mutate)(std::string_view input, Random &random);
  bool acceptsCorpus = false;        // every file of the corpus must be accepted as it is
  uintmax_t mostBytes = UINTMAX_MAX; // larger files are left out
};

/// Runs a target without libFuzzer, in every build and with a fixed seed:
///
///   PtxDriver [--runs=N] [--seed=S] [--save=FILE] FOLDER…
///
/// --save writes each input before it is tried, so that the one that kills the process
/// is known. Gives what main() returns.
int runMutations(int argc, char **argv, const MutationTarget &target);

/// For LLVMFuzzerCustomMutator: our change of `data`, cut to `maxSize`.
size_t mutateInPlace(const MutationTarget &target, uint8_t *data, size_t size, size_t maxSize,
                     unsigned seed);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_MUTATIONLOOP_H
