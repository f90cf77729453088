// Runs the fuzz target of the GPU module loader without libFuzzer.
#include "test/fuzz/BinaryTarget.h"
#include "test/fuzz/MutationLoop.h"

using namespace tilewright::fuzz;

int main(int argc, char **argv) {
  // Large kernels take long to decode and cover nothing that small ones do not.
  constexpr uintmax_t most = 40000;
  return runMutations(argc, argv, {.check = checkBinary, .mutate = mutateBinary, .maxBytes = most});
}
