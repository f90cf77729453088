// Fusions for tests: random ones, and the comparison of a module with itself after tiling.
#ifndef TILEWRIGHT_TRANSFORM_TILE_TESTPROGRAMS_H
#define TILEWRIGHT_TRANSFORM_TILE_TESTPROGRAMS_H

#include <cstdint>
#include <string>

namespace tilewright::tile {

/// A module whose @main is one fusion of about `ops` random ops. A pure function of the seed.
std::string randomFusion(uint64_t seed, int ops);

/// Evaluates @main of the module on inputs that follow from `seed`, tiles its fusions, and
/// evaluates it again. Gives what differs, or "". With `edges` the inputs are numbers at
/// which something special happens, and a program without a kernel differs too. `kernels` gets the
/// number of kernels.
std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges = false,
                             int *kernels = nullptr);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_TESTPROGRAMS_H
