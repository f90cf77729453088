// The assembler of the CUDA toolkit, if installed: PTX to machine code and resource usage.
#ifndef TILEWRIGHT_TARGET_NVPTX_PTXAS_H
#define TILEWRIGHT_TARGET_NVPTX_PTXAS_H

#include "tilewright/support/Status.h"
#include "tilewright/support/store/FileCache.h"
#include "tilewright/target/Target.h"
#include "tilewright/target/nvptx/Chip.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright::nvptx {

using target::KernelBudget;

struct Assembled {
  std::vector<std::byte> binary; // a cubin
  std::vector<KernelBudget> kernels;
  std::string log; // the complete output of ptxas
};

/// An installed ptxas of known version.
class Ptxas {
public:
  /// The ptxas at `path`, or, if `path` is empty, the first one in PATH, /usr/local/cuda/bin and
  /// the wheels of the active Python environment (nvidia-cuda-nvcc, triton).
  ///   - ptxasMissing: ptxas was not found.
  static Result<Ptxas> find(std::string_view path = {});

  const std::string &path() const { return where; }
  /// "13.0.88".
  const std::string &version() const { return name; }
  /// Whether this version contracts a separate multiplication and addition of f32 pairs regardless
  /// of options: 12.9 and 13.0 do, 13.4 does not.
  bool contractsPairs() const { return number >= 1209 && number < 1304; }

  /// Assembles PTX for a chip, or loads an earlier result from `cache`, whose key is a hash of the
  /// PTX, the chip and the version of ptxas.
  ///   - ptxasVersion: ptxas is too old for the PTX version that the chip needs.
  ///   - ptxasRefused: ptxas rejects the code; the message contains its output.
  Result<Assembled> assemble(std::string_view ptx, const Chip &chip,
                             const FileCache *cache = nullptr) const;

private:
  std::string where, name;
  int64_t number = 0; // 1300 for 13.0
};

/// Parses the output of `ptxas -v`.
std::vector<KernelBudget> parseBudgets(std::string_view log);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_PTXAS_H
