// Fusions for tests: random ones, and the comparison of a module with itself after tiling.
#ifndef TILEWRIGHT_TRANSFORM_TILE_TESTING_PROGRAMS_H
#define TILEWRIGHT_TRANSFORM_TILE_TESTING_PROGRAMS_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/interpret/bounds/Bounds.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright::tile {

/// Statistics of this process's comparisons, so that a test can detect that it accepts everything.
struct ComparisonCounts {
  /// Result elements by how much their bounds say.
  interpret::Compared compared;
  int64_t launches = 0;
  /// Ops that the reference interpreter ran instead of a kernel, by name.
  std::map<std::string, int> evaluatedOps;
  /// If set, called with the bounds and the actual results of each program.
  std::function<void(const std::vector<interpret::Bounded> &bounds,
                     const interpret::RuntimeValues &actual)>
      look;
};
ComparisonCounts &comparisonCounts();

/// A module whose @main is one fusion of about `ops` random ops. A pure function of the seed.
std::string randomFusion(uint64_t seed, int ops);

/// Like randomFusion(), but only data movement, with a few elementwise ops in between: slices of
/// slices, padding of what is reversed, gathers of every form. Some tensors are empty.
std::string randomMovement(uint64_t seed, int ops);
/// A module whose @main is a fusion of one convolution, sometimes with an op before or after it.
std::string randomConvolution(uint64_t seed);
/// A module whose @main is a convolution of a dilated input, not in a fusion.
std::string randomDilatedConvolution(uint64_t seed);

/// Evaluates @main of the module on inputs that are generated from `seed`, tiles its fusions, and
/// runs the result: in the reference interpreter, or compiled. Returns the difference, or "". With
/// `edges` the inputs are edge values, and a program without a kernel counts as a difference.
/// `kernels` receives the number of kernels.
std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges = false,
                             int *kernels = nullptr);

/// The numbers of elements on which elementwise ops are tested: 961, where kernels mask the last
/// tile, and 1024, where they do not, if compiled code differs: LLVM folds only unmasked code into
/// PTX's clamping shifts.
std::vector<int> elementwiseSizes();

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_TESTING_PROGRAMS_H
