// Code that the fuzzers of PTX and of GPU modules share.
#ifndef TEST_FUZZ_MUTATIONLOOP_H
#define TEST_FUZZ_MUTATIONLOOP_H

#include "test/fuzz/ArtifactMutator.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::fuzz {

struct MutationTarget {
  bool (*check)(std::string_view input); // aborts on a bug; whether it was accepted
  std::string (*mutate)(std::string_view input, Random &random);
  bool acceptsCorpus = false;       // every file of the corpus must be accepted as it is
  uintmax_t maxBytes = UINTMAX_MAX; // larger files are skipped
};

/// Runs a target without libFuzzer, in every build and with a fixed seed:
///
///   PtxDriver [--runs=N] [--seed=S] [--save=FILE] FOLDER…
///
/// --save writes each input before it is tried, so that the input that crashes the process is
/// known. Returns the exit code for main().
int runMutations(int argc, char **argv, const MutationTarget &target);

/// For LLVMFuzzerCustomMutator: mutates `data` in place, truncated to `maxSize`.
size_t mutateInPlace(const MutationTarget &target, uint8_t *data, size_t size, size_t maxSize,
                     unsigned seed);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_MUTATIONLOOP_H
