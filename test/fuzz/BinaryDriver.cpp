// The fuzz target of the loader of GPU modules without libFuzzer.
#include "test/fuzz/BinaryTarget.h"
#include "test/fuzz/MutationLoop.h"

using namespace tilewright::fuzz;

int main(int argc, char **argv) {
  // Large kernels take long to decode, and add nothing that small ones have not.
  constexpr uintmax_t most = 40000;
  return runMutations(argc, argv,
                      {.check = checkBinary, .mutate = mutateBinary, .mostBytes = most});
}
