// A module on a chip: its variables have memory, and its kernels can be launched.
#ifndef TILEWRIGHT_VGPU_MACHINE_LOADEDMODULE_H
#define TILEWRIGHT_VGPU_MACHINE_LOADEDMODULE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"
#include "tilewright/vgpu/machine/Decode.h"
#include "tilewright/vgpu/machine/Program.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::machine {

/// A module whose variables lie in memory of the host.
///
///   TILEWRIGHT_ASSIGN(auto module, LoadedModule::create(text, "sm_80"));
///   TILEWRIGHT_ASSIGN(const Program *kernel, module->kernel("vector_add", {}));
///
/// Kernels are decoded when they are first asked for, except that creation
/// decodes all of them once, so that what cannot run is refused at load.
/// Thread-safe. Programs live as long as the module.
class LoadedModule {
public:
  ///  - what ptx::parse() reports;
  ///  - vgpuChip: the chip is not known, or the module needs another one;
  ///  - what decode() reports for any of the kernels.
  static Result<std::unique_ptr<LoadedModule>> create(std::string_view text, std::string_view chip);

  ///  - vgpuSymbol: there is no kernel of that name.
  Result<const Program *> kernel(std::string_view name, const DecodeOptions &options);

  /// Memory of a variable of the module, by name.
  ///  - vgpuSymbol: there is none of that name in global or constant memory.
  Result<std::span<std::byte>> variable(std::string_view name);

  /// Memory of all variables, one range for each.
  std::vector<std::span<std::byte>> variables();

  const ptx::Module &source() const { return module; }
  const Chip &chip() const { return *onChip; }

private:
  LoadedModule() = default;
  Status layoutVariables();

  ptx::Module module;
  const Chip *onChip = nullptr;
  std::unique_ptr<std::byte[]> memory;
  std::vector<uint64_t> addresses; // by variable; 0 if it is not of the module

  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Program>> programs; // guarded by mutex
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_LOADEDMODULE_H
