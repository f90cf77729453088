// Changes executables field by field, and what fuzzers of the loader start from.
#ifndef TEST_FUZZ_EXECUTABLEMUTATOR_H
#define TEST_FUZZ_EXECUTABLEMUTATOR_H

#include "test/fuzz/ArtifactMutator.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright::fuzz {

/// Executables that can be read, one of which can be loaded: with every kind of
/// step, with `object` (of SeedObject.c), and without object code, which can be run.
std::vector<std::vector<std::byte>> executableSeeds(std::span<const std::byte> object);

/// Reads an executable, changes one to four fields (numbers to those at which
/// readers break, choices, strings, lists, words of the object code) and writes
/// it with a fingerprint that fits. What cannot be read comes back with changed
/// bytes and a fingerprint that fits.
std::vector<std::byte> mutateExecutable(std::span<const std::byte> bytes, Random &random);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_EXECUTABLEMUTATOR_H
