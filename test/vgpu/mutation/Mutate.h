// Mutants of a kernel: one synchronising instruction is deleted or weakened.
#ifndef TEST_VGPU_MUTATION_MUTATE_H
#define TEST_VGPU_MUTATION_MUTATE_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::mutation {

struct Mutant {
  std::string mutation;    // "delete bar.sync": the class that results are counted by
  uint32_t line = 0;       // in the printed text
  std::string before, now; // the instruction; `now` is empty if it is deleted
  std::string text;        // the whole module
};

/// Prints one kernel of a module alone, one instruction on each line.
Result<std::string> isolate(std::string_view moduleText, std::string_view kernel);
/// All mutants of the kernel in `text`, which isolate() made, that still parse. `threads` is the
/// size of a block.
Result<std::vector<Mutant>> mutate(const std::string &text, std::string_view kernel,
                                   uint32_t threads);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_MUTATE_H
