// tilewright-vgpu: `tilewright vgpu` as a separate program, for builds without LLVM.
#include "tilewright/vgpu/run/Run.h"

#include <vector>

int main(int argc, char **argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  return tilewright::vgpu::run::runCommand(arguments);
}
