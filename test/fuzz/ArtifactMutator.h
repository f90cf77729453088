// Mutates artifacts by structure: changes strings, entries, property lists and operations, and
// adjusts sizes, offsets and sections.
#ifndef TEST_FUZZ_ARTIFACTMUTATOR_H
#define TEST_FUZZ_ARTIFACTMUTATOR_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::fuzz {

/// A small generator whose sequence is the same on every machine (SplitMix64).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// A number below `limit`, which must not be 0.
  uint64_t below(uint64_t limit) { return next() % limit; }
  bool oneIn(uint64_t chance) { return below(chance) == 0; }

private:
  uint64_t state;
};

/// Splits an artifact, changes one to four places and assembles it again. Bytes that cannot be
/// split come back with flipped bits.
std::string mutateStructure(std::string_view artifact, Random &random);

/// Flips bits, changes, inserts, removes and copies bytes.
std::string mutateBits(std::string_view artifact, Random &random);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_ARTIFACTMUTATOR_H
