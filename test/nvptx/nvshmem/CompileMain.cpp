// Compiles a kernel whose ranks communicate through NVSHMEM, and prints its PTX:
//
//   ShmemCompiler LIBRARY FILE.mlir
//   ShmemCompiler LIBRARY all_gather_product | product_reduce_scatter RANKS POINTS ROWS DEPTH
//   COLUMNS
//
// The first line is a comment with the symbol, the blocks, the threads and the bytes of shared
// memory of a launch.
#include "test/nvptx/collectives/Team.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace tilewright;
using namespace tilewright::nvptx;

int main(int count, char **arguments) {
  if (count != 3 && count != 8) {
    std::cerr << "usage: ShmemCompiler LIBRARY FILE.mlir\n"
                 "       ShmemCompiler LIBRARY KIND RANKS POINTS ROWS DEPTH COLUMNS\n";
    return 2;
  }
  CodegenOptions options;
  options.deviceLibrary = arguments[1];
  const std::string what = arguments[2];
  auto number = [&](int at) { return static_cast<int64_t>(std::atoll(arguments[at])); };
  auto compile = [&] {
    if (count == 3) {
      std::stringstream text;
      text << std::ifstream(what).rdbuf();
      return compileText(text.str(), options);
    }
    const tile::FusedProduct wanted{.ranks = number(3),
                                    .points = number(4),
                                    .rows = number(5),
                                    .depth = number(6),
                                    .columns = number(7),
                                    .isOnHeap = true};
    return compileFused(wanted, what == "all_gather_product", options);
  };
  Result<GpuCode> code = compile();
  if (!code.isOk()) {
    std::cerr << std::move(code).takeStatus().toString() << "\n";
    return 1;
  }
  const KernelInfo &kernel = code->kernels.front();
  std::cout << "// " << kernel.symbol << " " << kernel.grid[0] << " " << kernel.threads << " "
            << kernel.sharedBytes << "\n"
            << code->ptx;
  return 0;
}
