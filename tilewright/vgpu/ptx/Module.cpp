#include "tilewright/vgpu/ptx/Module.h"

namespace tilewright::vgpu::ptx {

uint64_t Variable::size() const {
  uint64_t total = elementSize();
  for (uint64_t dimension : dimensions)
    total *= dimension;
  return total;
}

const Function *Module::findDefinition(std::string_view name) const {
  StringId id = strings.find(name);
  if (id == noString)
    return nullptr;
  for (const Function &function : functions)
    if (function.defined && function.name == id)
      return &function;
  return nullptr;
}

std::string Module::registerName(const Function &function, uint32_t reg) const {
  const RegisterGroup &group = function.groups[function.registers[reg].group];
  std::string name(strings[group.name]);
  if (group.parametrised)
    name += std::to_string(reg - group.first);
  return name;
}

} // namespace tilewright::vgpu::ptx
