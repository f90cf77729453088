#include "tilewright/vgpu/machine/LoadedModule.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/memory/Memory.h"
#include "tilewright/vgpu/ptx/Parser.h"

#include <algorithm>
#include <cstring>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

static bool hasHostMemory(const ptx::Variable &variable) {
  return variable.space == Modifier::global || variable.space == Modifier::constant;
}

static Status checkTarget(const ptx::Target &target, const Chip &chip) {
  if (runsOn(chip, target.architecture, target.suffix))
    return Status();
  return Status(Error::vgpuChip, concat("the module is for sm_", target.architecture,
                                        target.suffix ? std::string(1, target.suffix) : "",
                                        " and cannot run on ", chip.name));
}

Result<std::unique_ptr<LoadedModule>> LoadedModule::create(std::string_view text,
                                                           std::string_view chip) {
  std::unique_ptr<LoadedModule> loaded(new LoadedModule());
  loaded->onChip = findChip(chip);
  if (!loaded->onChip) {
    std::vector<std::string_view> names;
    for (const Chip &one : chips())
      names.push_back(one.name);
    return Status(Error::vgpuChip,
                  concat("unknown chip '", chip, "'; the chips are ", listed(names)));
  }
  TILEWRIGHT_ASSIGN(loaded->module, ptx::parse(text));
  TILEWRIGHT_TRY(checkTarget(loaded->module.target, *loaded->onChip));
  // Like ptxas, count the variables that a kernel declares, even if it does not use them.
  for (const ptx::Variable &variable : loaded->module.variables)
    if (variable.space == ptx::Modifier::shared &&
        variable.size() > loaded->onChip->sharedPerBlockOptin)
      return Status(Error::ptxVariable,
                    concat("shared variable '", loaded->module.name(variable.name), "' has ",
                           variable.size(), " bytes, but a block on ", chip, " has at most ",
                           loaded->onChip->sharedPerBlockOptin));
  TILEWRIGHT_TRY(loaded->layoutVariables());
  for (const ptx::Function &function : loaded->module.functions)
    if (function.entry && function.defined) {
      auto program = loaded->kernel(loaded->module.name(function.name), {});
      if (!program.isOk())
        return std::move(program).takeStatus();
    }
  return loaded;
}

Status LoadedModule::layoutVariables() {
  addresses.assign(module.variables.size(), 0);
  uint64_t total = 0;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable &variable = module.variables[i];
    if (!hasHostMemory(variable))
      continue;
    const uint64_t alignment = std::max<uint64_t>(variable.alignment, 16);
    total = (total + alignment - 1) / alignment * alignment;
    addresses[i] = total;
    // The limit is far below overflow, but high enough for any table of a kernel.
    constexpr uint64_t most = uint64_t(1) << 30;
    if (variable.size() > most || total + variable.size() > most)
      return Status(Error::ptxLimit,
                    concat("variable '", module.name(variable.name), "' has ", variable.size(),
                           " bytes, but all variables of a module together can have at most ", most,
                           "; allocate memory and pass its address"));
    total += variable.size();
  }
  constexpr uint64_t lineBytes = 256;
  // Kernels may keep addresses of constants in 32 bits, so the upper halves of all of them must be
  // equal. If the memory crosses a 4 GiB boundary, allocate a second time while keeping the first
  // block: two live blocks cannot cross the same boundary.
  uint64_t base = 0;
  std::unique_ptr<std::byte[]> across;
  for (int tries = 0; tries < 2; ++tries) {
    across = std::move(memory);
    memory = std::make_unique<std::byte[]>(total + lineBytes);
    base = (reinterpret_cast<uint64_t>(memory.get()) + lineBytes - 1) / lineBytes * lineBytes;
    if (base >> 32 == (base + total) >> 32)
      break;
  }
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (hasHostMemory(module.variables[i]))
      addresses[i] += base;
  // Give a declaration the address of the variable's definition.
  for (const ptx::Symbol &symbol : module.symbols) {
    if (symbol.kind != ptx::SymbolKind::variable || symbol.index == ptx::noIndex)
      continue;
    for (size_t i = 0; i < module.variables.size(); ++i)
      if (module.variables[i].symbol != ptx::noIndex &&
          &module.symbols[module.variables[i].symbol] == &symbol)
        addresses[i] = addresses[symbol.index];
  }
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable &variable = module.variables[i];
    if (!hasHostMemory(variable) || !variable.initialised)
      continue;
    auto *bytes = reinterpret_cast<std::byte *>(addresses[i]);
    std::memcpy(bytes, variable.bytes.data(),
                std::min<uint64_t>(variable.bytes.size(), variable.size()));
    for (const ptx::Relocation &relocation : variable.relocations) {
      const uint32_t number = module.resolveAlias(relocation.symbol);
      const ptx::Symbol &symbol = module.symbols[number];
      uint64_t value = 0;
      if (symbol.kind == ptx::SymbolKind::function)
        value = functionWindow | number;
      else if (hasHostMemory(module.variables[symbol.index]))
        value = addresses[symbol.index];
      else
        return Status(Error::vgpuSymbol,
                      concat("variable '", module.name(variable.name),
                             "' is initialised with the address of '", module.name(symbol.name),
                             "', which is not in global memory"));
      value += static_cast<uint64_t>(relocation.addend);
      if (relocation.mask) {
        // mask(): select one byte of the address and shift it down.
        value &= relocation.mask;
        value >>= static_cast<unsigned>(__builtin_ctzll(relocation.mask));
      }
      std::memcpy(bytes + relocation.offset, &value, relocation.width);
    }
  }
  return Status();
}

Result<const Program *> LoadedModule::kernel(std::string_view name, const DecodeOptions &options) {
  std::lock_guard lock(mutex);
  std::string key =
      concat(name, options.observed ? " observed " : " ", options.deferred ? "deferred " : "",
             options.counted ? "counted " : "", options.preempted ? "preempted " : "",
             options.handlers.value_or(handlersForHost()));
  if (auto it = programs.find(key); it != programs.end())
    return static_cast<const Program *>(it->second.get());
  const ptx::Function *function = module.findDefinition(name);
  if (!function || !function->entry) {
    std::vector<std::string_view> names;
    for (const ptx::Function &one : module.functions)
      if (one.entry && one.defined)
        names.push_back(module.name(one.name));
    return Status(Error::vgpuSymbol,
                  concat("the module has no kernel '", name, "'; it has ", listed(names)));
  }
  DecodeOptions onThisChip = options;
  onThisChip.sharedLimit = onChip->sharedPerBlockOptin;
  TILEWRIGHT_ASSIGN(std::unique_ptr<Program> program,
                    decode(module, *function, addresses, onThisChip));
  return static_cast<const Program *>(
      programs.emplace(std::move(key), std::move(program)).first->second.get());
}

Result<std::span<std::byte>> LoadedModule::variable(std::string_view name) {
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable &one = module.variables[i];
    if (one.function == ptx::noIndex && hasHostMemory(one) && module.name(one.name) == name)
      return std::span(reinterpret_cast<std::byte *>(addresses[i]), one.size());
  }
  return Status(Error::vgpuSymbol,
                concat("the module has no variable '", name, "' in global or constant memory"));
}

std::vector<std::span<std::byte>> LoadedModule::variables() {
  std::vector<std::span<std::byte>> all;
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (addresses[i])
      all.emplace_back(reinterpret_cast<std::byte *>(addresses[i]), module.variables[i].size());
  return all;
}

} // namespace tilewright::vgpu::machine
