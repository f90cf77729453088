// For tests: compiles the kernels of a module given as text, loads the object into the process and
// calls them.
#ifndef TILEWRIGHT_TARGET_CPU_TESTING_KERNELS_H
#define TILEWRIGHT_TARGET_CPU_TESTING_KERNELS_H

#include "tilewright/target/cpu/GenerateObject.h"

#include <memory>
#include <vector>

namespace tilewright::cpu {

/// The kernels of one module, ready to be called.
class LoadedKernels {
public:
  /// Aborts the test program with a message if the text or the code is invalid.
  static LoadedKernels compile(std::string_view text, const Chip &chip = hostChip(),
                               const CodegenOptions &options = {});
  static LoadedKernels load(ObjectCode code);
  LoadedKernels(LoadedKernels &&);
  ~LoadedKernels();

  /// Runs all points of the grid of a kernel.
  void run(std::string_view kernel, std::vector<void *> buffers);
  void runBody(std::string_view body, std::vector<const void *> args, std::vector<void *> results);
  void *symbol(std::string_view name);
  const KernelInfo &code(std::string_view kernel) const;

  ObjectCode object;

private:
  LoadedKernels();
  struct State;
  std::unique_ptr<State> state;
};

/// The names of all chips whose code this machine can run.
std::vector<std::string> runnableChips();

/// Runs generateObject on a module given as text.
Result<ObjectCode> compileText(std::string_view text, const Chip &chip,
                               const CodegenOptions &options = {});

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_TESTING_KERNELS_H
