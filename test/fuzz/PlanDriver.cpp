// Runs the fuzz target of communication plans without libFuzzer: PlanDriver [RUNS [SEED [FOLDER]]].
// With a folder it only writes seeds there.
#include "test/fuzz/PlanTarget.h"

#include <cstdio>
#include <fstream>
#include <string>

using namespace tilewright::fuzz;

int main(int argc, char **argv) {
  const uint64_t runs = argc > 1 ? std::stoull(argv[1]) : 20000,
                 seed = argc > 2 ? std::stoull(argv[2]) : 1;
  if (argc > 3) {
    for (uint64_t i = 0; i < runs; ++i)
      std::ofstream(std::string(argv[3]) + "/plan" + std::to_string(i), std::ios::binary)
          << seedPlan(seed + i);
    return 0;
  }
  Random random(seed);
  uint64_t read = 0;
  std::string input;
  for (uint64_t run = 0; run < runs; ++run) {
    // Inputs that can still be read are mutated further, a few generations deep.
    if (run % 6 == 0 || input.empty()) {
      input = seedPlan(seed * 1'000'000 + run);
      if (!checkPlanBytes(input))
        return 1;
    }
    std::string changed = mutatePlan(input, random);
    if (checkPlanBytes(changed)) {
      ++read;
      input = std::move(changed);
    }
  }
  std::printf("%llu runs, %llu could be read\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(read));
  return 0;
}
