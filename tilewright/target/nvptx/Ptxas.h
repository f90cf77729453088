// The assembler of the CUDA toolkit, if there is one: PTX to machine code, and what a kernel needs.
#ifndef TILEWRIGHT_TARGET_NVPTX_PTXAS_H
#define TILEWRIGHT_TARGET_NVPTX_PTXAS_H

#include "tilewright/support/Status.h"
#include "tilewright/target/nvptx/Chip.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright::nvptx {

/// What ptxas says of one kernel.
struct KernelBudget {
  std::string symbol;
  int64_t registers = 0; // of a thread
  int64_t spillStoreBytes = 0, spillLoadBytes = 0, stackBytes = 0;
  int64_t sharedBytes = 0; // static; dynamic shared memory is the launch's
  int64_t barriers = 0;
};

struct Assembled {
  std::vector<std::byte> binary; // a cubin
  std::vector<KernelBudget> kernels;
  std::string log; // all that ptxas wrote
};

/// A ptxas that was found and asked for its version.
class Ptxas {
public:
  /// The one at `path` if that is not empty; else the first of PATH, /usr/local/cuda/bin, and the
  /// wheels of the active Python environment (nvidia-cuda-nvcc, triton).
  ///  - ptxasMissing: there is none.
  static Result<Ptxas> find(std::string_view path = {});

  const std::string &path() const { return where; }
  /// "13.0.88".
  const std::string &version() const { return name; }
  /// Whether it fuses a multiplication and an addition of pairs of f32 that were written apart,
  /// whatever the options: 12.9 and 13.0 do, 13.4 does not.
  bool contractsPairs() const { return number >= 1209 && number < 1304; }

  /// Assembles PTX for a chip. Where `cacheDirectory` is not empty, the result is looked for there
  /// first, by the hash of all that it depends on, and kept there.
  ///  - ptxasVersion: it is too old for the PTX version that the chip needs.
  ///  - ptxasRefused: it does not take the code; the message has its own.
  Result<Assembled> assemble(std::string_view ptx, const Chip &chip,
                             std::string_view cacheDirectory = {}) const;

private:
  std::string where, name;
  int64_t number = 0; // 1300 for 13.0
};

/// Reads what `ptxas -v` writes.
std::vector<KernelBudget> parseBudgets(std::string_view log);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_PTXAS_H
