// Runs one collective kernel on virtual GPUs, or a product fused with one:
//
//   CollectiveRunner KIND FORM ELEMENT COUNT RANKS POINTS
//   CollectiveRunner all_gather_product ROWS DEPTH COLUMNS RANKS POINTS
//
// The variables TILEWRIGHT_VGPU_… say what is checked and counted.
#include "test/nvptx/collectives/Team.h"

#include <cstdlib>
#include <iostream>

using namespace tilewright;
using namespace tilewright::nvptx;

int main(int count, char **arguments) {
  if (count != 7) {
    std::cerr << "usage: CollectiveRunner KIND FORM ELEMENT COUNT RANKS POINTS\n";
    return 2;
  }
  if (arguments[1] == std::string_view("all_gather_product")) {
    const tile::FusedProduct product{.ranks = std::atoll(arguments[5]),
                                     .points = std::atoll(arguments[6]),
                                     .rows = std::atoll(arguments[2]),
                                     .depth = std::atoll(arguments[3]),
                                     .columns = std::atoll(arguments[4])};
    Result<GpuCode> code = compileFused(product, /*isGather=*/true);
    Result<std::unique_ptr<Team>> team = Team::make(product.ranks);
    if (!code.isOk() || !team.isOk()) {
      std::cerr << "cannot compile or run the kernel\n";
      return 1;
    }
    const std::string wrong = (*team)->runFused(product, /*isGather=*/true, *code, 1);
    std::cerr << wrong;
    std::cout << code->ptx;
    return wrong.empty() ? 0 : 1;
  }
  numerics::CollectiveKernel wanted;
  const auto kind = numerics::collectiveNamed(arguments[1]);
  const auto element = numerics::elementTypeNamed(arguments[3]);
  bool isForm = false;
  for (size_t i = 0; i < numerics::collectiveFormCount; ++i)
    if (numerics::nameOf(static_cast<numerics::CollectiveForm>(i)) == arguments[2]) {
      wanted.form = static_cast<numerics::CollectiveForm>(i);
      isForm = true;
    }
  if (!kind || !element || !isForm) {
    std::cerr << "unknown kind, form or element type\n";
    return 2;
  }
  wanted.kind = *kind;
  wanted.element = *element;
  wanted.count = std::atoll(arguments[4]);
  wanted.ranks = std::atoll(arguments[5]);
  wanted.points = std::atoll(arguments[6]);
  Result<GpuCode> code = compileCollective(wanted);
  if (!code.isOk()) {
    std::cerr << std::move(code).takeStatus().toString() << "\n";
    return 1;
  }
  Result<std::unique_ptr<Team>> team = Team::make(wanted.ranks);
  if (!team.isOk()) {
    std::cerr << std::move(team).takeStatus().toString() << "\n";
    return 1;
  }
  const std::string wrong = (*team)->run(wanted, *code);
  std::cerr << wrong;
  std::cout << code->ptx;
  return wrong.empty() ? 0 : 1;
}
