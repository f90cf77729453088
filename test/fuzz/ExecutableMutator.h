// Mutates executables field by field, and makes the seeds for fuzzers of the loader.
#ifndef TEST_FUZZ_EXECUTABLEMUTATOR_H
#define TEST_FUZZ_EXECUTABLEMUTATOR_H

#include "test/fuzz/ArtifactMutator.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright::fuzz {

/// Valid executables: one with every kind of step, those that can be loaded, with the first object,
/// the first two and so on, one without object code, which can be run, and one for a GPU. The
/// objects are SeedObject.c, which has all functions that the plan calls, and SeedCaller.c.
std::vector<std::vector<std::byte>>
executableSeeds(std::span<const std::vector<std::byte>> objects);

/// Reads an executable, changes one to four fields (numbers to values that often break readers,
/// enums, strings, lists, words of the object code) and writes it with a matching fingerprint.
/// Bytes that cannot be read come back with changed bytes and a matching fingerprint.
std::vector<std::byte> mutateExecutable(std::span<const std::byte> bytes, Random &random);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_EXECUTABLEMUTATOR_H
