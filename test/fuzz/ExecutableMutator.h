// Mutates executables field by field, and makes the seeds for fuzzers of the loader.
#ifndef TEST_FUZZ_EXECUTABLEMUTATOR_H
#define TEST_FUZZ_EXECUTABLEMUTATOR_H

#include "test/fuzz/ArtifactMutator.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright::fuzz {

/// Three valid executables: one with every kind of step, one that can be loaded, with `object` (of
/// SeedObject.c), and one without object code, which can be run.
std::vector<std::vector<std::byte>> executableSeeds(std::span<const std::byte> object);

/// Reads an executable, changes one to four fields (numbers to values that often break readers,
/// enums, strings, lists, words of the object code) and writes it with a matching fingerprint.
/// Bytes that cannot be read come back with changed bytes and a matching fingerprint.
std::vector<std::byte> mutateExecutable(std::span<const std::byte> bytes, Random &random);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_EXECUTABLEMUTATOR_H
