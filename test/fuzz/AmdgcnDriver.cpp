// Runs the fuzz target of AMD's code objects without libFuzzer.
#include "test/fuzz/AmdgcnTarget.h"
#include "test/fuzz/MutationLoop.h"

using namespace tilewright::fuzz;

int main(int argc, char **argv) {
  return runMutations(argc, argv,
                      {.check = checkAmdgcn, .mutate = mutateAmdgcn, .acceptsCorpus = true});
}
