// Random programs in StableHLO: options, and a function that makes one.
#ifndef TEST_RANDOM_PROGRAM_H
#define TEST_RANDOM_PROGRAM_H

#include "tilewright/interpret/RuntimeValue.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <string>

namespace tilewright::random {

/// The features that a program has more of than others. Each flavour was added after a bug that
/// random programs without it had never triggered.
enum class Flavour : uint8_t {
  general,
  constants,     // no inputs: everything may be folded
  constantLoops, // loops over constants, short enough to be written out
  nanTies,       // few different numbers, NaN among them: argmax, sort, maximum
  emptyShapes,   // dimensions of 0 and 1
  outOfBounds,   // indices far outside
  subByte,       // types below a byte, and bitcasts between them and others
  extremes,      // 64 bits, ends of the range, shifts over the width, subnormal numbers
  complexes,
  donation, // inputs are given away: returned as they are, swapped, reshaped, carried through loops
  controlFlow,
  products, // of mixed types, convolutions, linear algebra
};
inline constexpr int flavourCount = 12;
const char *nameOf(Flavour flavour);

struct Wishes {
  /// Approximate number of ops.
  int ops = 12;
  /// Only what jaxlib defines as we do: README.md lists what is left out.
  bool forJaxlib = false;
  /// Most tensors have elements of 2, 4 or 6 bits, which are packed in memory.
  bool narrow = false;
};

struct RandomProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  interpret::RuntimeValues inputs;
  Flavour flavour = Flavour::general;
};

/// Program number `seed`: a verified module with @main and inputs for it. A pure function of its
/// arguments. The context has the dialects of driver::registerCompilerDialects loaded.
RandomProgram randomProgram(mlir::MLIRContext &context, uint64_t seed, const Wishes &wishes = {});

/// Adds up how often each op occurs.
void countOps(mlir::ModuleOp module, std::map<std::string, int64_t> &counts);

} // namespace tilewright::random

#endif // TEST_RANDOM_PROGRAM_H
