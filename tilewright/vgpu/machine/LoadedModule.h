// A module loaded on a chip: its variables have memory, and its kernels can be launched.
#ifndef TILEWRIGHT_VGPU_MACHINE_LOADEDMODULE_H
#define TILEWRIGHT_VGPU_MACHINE_LOADEDMODULE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"
#include "tilewright/vgpu/machine/Program.h"
#include "tilewright/vgpu/machine/decode/Decode.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::machine {

/// A module whose variables are in host memory.
///
///   TILEWRIGHT_ASSIGN(auto module, LoadedModule::create(text, "sm_80"));
///   TILEWRIGHT_ASSIGN(const Program *kernel, module->kernel("vector_add", {}));
///
/// A kernel is decoded when it is first used with given options. In addition, create() decodes all
/// kernels once, so that loading rejects kernels that cannot run. Thread-safe. Programs live as
/// long as the module.
class LoadedModule {
public:
  /// Parses and loads a module.
  ///  - errors of ptx::parse();
  ///  - vgpuChip: the chip is unknown, or the module requires another one;
  ///  - errors of decode() for any of the kernels.
  static Result<std::unique_ptr<LoadedModule>> create(std::string_view text, std::string_view chip);

  /// The decoded kernel.
  ///  - vgpuSymbol: the module has no kernel with this name.
  Result<const Program *> kernel(std::string_view name, const DecodeOptions &options);

  /// The memory of the variable with this name.
  ///  - vgpuSymbol: the module has no such variable in global or constant memory.
  Result<std::span<std::byte>> variable(std::string_view name);

  /// The memory of all variables, one range for each.
  std::vector<std::span<std::byte>> variables();

  const ptx::Module &source() const { return module; }
  const Chip &chip() const { return *onChip; }

private:
  LoadedModule() = default;
  Status layoutVariables();

  ptx::Module module;
  const Chip *onChip = nullptr;
  std::unique_ptr<std::byte[]> memory;
  std::vector<uint64_t> addresses; // by variable; 0 if it is not a variable of the module

  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Program>> programs; // guarded by mutex
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_LOADEDMODULE_H
