// For tests: compiles sm.kernels given as text, assembles them if ptxas is installed, runs them on
// the virtual GPU with all checks on, and compares with the evaluator.
#ifndef TEST_NVPTX_GPUKERNELS_H
#define TEST_NVPTX_GPUKERNELS_H

#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/target/nvptx/Ptxas.h"

#include <functional>
#include <optional>
#include <string>

namespace tilewright::nvptx {

/// Runs generateCode on a module given as text; ends the test program if the text is not a valid
/// module.
Result<GpuCode> compileText(std::string_view text, const Chip &chip);

/// The ptxas of this machine, or null; prints once that there is none.
const Ptxas *ptxas();

struct Comparison {
  uint64_t seed = 1;
  /// Largest |result - expected| / max(1, |expected|) of floats; integers are equal.
  double tolerance = 0;
  /// Floats of the inputs are in [-range, range]; integers take all values.
  double range = 4;
  /// If not 0, floats of the inputs are multiples of it: then sums of products need no rounding,
  /// whatever their order, and a tolerance of 0 finds every missing or wrong term.
  double step = 0;
  /// If not 0, integers of the inputs are in [0, below): for indices.
  int64_t below = 0;
  /// When asynchronous copies and products complete: 0 at once, 1 as late as possible, 2 at random.
  int completion = 0;
  /// Multiprocessors that the kernel is planned for; 0 for the chip's number.
  int64_t multiprocessors = 0;
  /// If not 0, the raster of a kernel with roles, instead of the chosen one.
  int64_t raster = 0;
  /// If given, changes the LLVM IR before its passes: to test that a bug is detected.
  std::function<std::string(std::string)> change = nullptr;
};

/// Runs the first kernel of the text on random inputs. A tile.kernel must be one to which
/// `tile-pipeline` gives roles. Returns what is wrong, or "".
std::string compareWithEvaluator(std::string_view text, std::string_view chip,
                                 const Comparison &comparison = {});

} // namespace tilewright::nvptx

#endif // TEST_NVPTX_GPUKERNELS_H
