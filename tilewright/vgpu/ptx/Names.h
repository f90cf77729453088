// Name lookup at one position in the text; the innermost scope wins.
#ifndef TILEWRIGHT_VGPU_PTX_NAMES_H
#define TILEWRIGHT_VGPU_PTX_NAMES_H

#include "tilewright/vgpu/ptx/Module.h"

#include <vector>

namespace tilewright::vgpu::ptx {

enum class BindingKind : uint8_t {
  none,
  reg,
  group,
  symbol,
  label,
  branchTargets,
  callTargets,
  prototype
};

struct Binding {
  BindingKind kind = BindingKind::none;
  uint32_t index = noIndex;
  uint32_t depth = 0; // of the scope; 0 is the module
};

/// Names by number, in nested scopes. Leaving a scope removes its names and restores the names that
/// they hid.
class Names {
public:
  void enter() { marks.push_back(bindings.size()); }
  void leave() {
    for (size_t mark = marks.back(); bindings.size() > mark; bindings.pop_back())
      top[bindings.back().name] = bindings.back().hidden;
    marks.pop_back();
  }

  /// Returns false if the innermost scope already has the name.
  bool add(StringId name, BindingKind kind, uint32_t index) {
    if (name >= top.size())
      top.resize(name + name / 2 + 64, noIndex);
    uint32_t depth = static_cast<uint32_t>(marks.size());
    if (top[name] != noIndex && bindings[top[name]].binding.depth == depth)
      return false;
    bindings.push_back({{kind, index, depth}, name, top[name]});
    top[name] = static_cast<uint32_t>(bindings.size() - 1);
    return true;
  }

  /// Adds a name to the module while exactly one inner scope is open. Returns false if that scope
  /// has the name.
  bool addOuter(StringId name, BindingKind kind, uint32_t index) {
    if (find(name).kind != BindingKind::none)
      return false;
    if (name >= top.size())
      top.resize(name + name / 2 + 64, noIndex);
    // Insert before the mark of the open scope, so that leaving the scope keeps the name.
    size_t place = marks.back()++;
    bindings.insert(bindings.begin() + static_cast<ptrdiff_t>(place),
                    {{kind, index, 0}, name, noIndex});
    for (size_t i = place; i < bindings.size(); ++i)
      top[bindings[i].name] = static_cast<uint32_t>(i);
    return true;
  }

  Binding find(StringId name) const {
    if (name >= top.size() || top[name] == noIndex)
      return {};
    return bindings[top[name]].binding;
  }

  /// The innermost binding that `accept` accepts; rejected bindings do not hide outer ones.
  template <typename Accept> Binding find(StringId name, Accept accept) const {
    if (name < top.size())
      for (uint32_t at = top[name]; at != noIndex; at = bindings[at].hidden)
        if (accept(bindings[at].binding))
          return bindings[at].binding;
    return {};
  }

  uint32_t depth() const { return static_cast<uint32_t>(marks.size()); }

private:
  struct ScopedBinding {
    Binding binding;
    StringId name;
    uint32_t hidden;
  };
  std::vector<ScopedBinding> bindings;
  std::vector<size_t> marks;
  std::vector<uint32_t> top; // by name: the innermost binding
};

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_NAMES_H
