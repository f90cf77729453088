// Runs the fuzz target of the PTX reader without libFuzzer.
#include "test/fuzz/MutationLoop.h"
#include "test/fuzz/PtxTarget.h"

using namespace tilewright::fuzz;

int main(int argc, char **argv) {
  return runMutations(argc, argv, {.check = checkPtx, .mutate = mutatePtx, .acceptsCorpus = true});
}
