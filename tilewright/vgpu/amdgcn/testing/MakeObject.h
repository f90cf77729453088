// Code objects and bundles made by hand, for tests.
#ifndef TILEWRIGHT_VGPU_AMDGCN_TESTING_MAKEOBJECT_H
#define TILEWRIGHT_VGPU_AMDGCN_TESTING_MAKEOBJECT_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::vgpu::amdgcn::testing {

struct ObjectParts {
  uint32_t machine = 0x4c; // gfx942
  std::vector<uint32_t> code = {0xBF810000};
  std::string kernel = "add";
  std::string metadata = "\x80"; // MessagePack; an empty map
  int64_t entryOffset = 0x100;
};

/// A linked code object with one kernel: its descriptor at address 0x1000, its code at 0x1100.
std::string makeObject(const ObjectParts &parts = {});

/// A bundle with an entry for each (target, bytes).
std::string makeBundle(std::span<const std::pair<std::string, std::string>> entries);

/// The place of an argument in a kernel's 24 bytes of arguments.
struct ArgumentPlace {
  uint64_t offset, size;
};

/// The metadata that a compiler writes for `kernel`, with an explicit argument, x, and a hidden
/// one.
std::string makeMetadata(std::string_view kernel, ArgumentPlace x = {0, 8},
                         ArgumentPlace hidden = {8, 4});

} // namespace tilewright::vgpu::amdgcn::testing

#endif // TILEWRIGHT_VGPU_AMDGCN_TESTING_MAKEOBJECT_H
