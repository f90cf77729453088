// For tests: compiles sm.kernels given as text, assembles them where ptxas is there, runs them on
// the virtual GPU with all checks on, and compares with the evaluator.
#ifndef TEST_NVPTX_GPUKERNELS_H
#define TEST_NVPTX_GPUKERNELS_H

#include "tilewright/target/nvptx/Ptxas.h"
#include "tilewright/target/nvptx/Target.h"

#include <functional>
#include <optional>
#include <string>

namespace tilewright::nvptx {

/// What generateCode makes of a module given as text; ends the test program if that is no module.
Result<GpuCode> compileText(std::string_view text, const Chip &chip);

/// The ptxas of this machine, if there is one; says once that there is none.
const Ptxas *ptxas();

struct Comparison {
  uint64_t seed = 1;
  /// Largest |result - expected| / max(1, |expected|) of floats; integers are equal.
  double tolerance = 0;
  /// Floats of the inputs are in [-range, range]; integers take all values.
  double range = 4;
  /// Integers of the inputs are in [0, below), if that is not 0: for indices.
  int64_t below = 0;
  /// When copies and products are done: 0 at once, 1 as late as can be, 2 at random.
  int completion = 0;
  /// Processors that the kernel is planned for; 0 for the chip's.
  int64_t processors = 0;
  /// The raster of a kernel with roles, instead of the one that was chosen, if not 0.
  int64_t raster = 0;
  /// Changes the LLVM IR before its passes, where it is given: to see that a fault is noticed.
  std::function<std::string(std::string)> change = nullptr;
};

/// Runs the first kernel of the text on random inputs. A tile.kernel must be one that
/// `tile-pipeline` gives roles. Gives what is wrong, or "".
std::string compareWithEvaluator(std::string_view text, std::string_view chip,
                                 const Comparison &comparison = {});

} // namespace tilewright::nvptx

#endif // TEST_NVPTX_GPUKERNELS_H
