// The arguments that the drivers of fuzz targets share.
#ifndef TEST_FUZZ_DRIVERARGUMENTS_H
#define TEST_FUZZ_DRIVERARGUMENTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::fuzz {

struct DriverArguments {
  uint64_t runs;                 // --runs=N
  uint64_t seed = 1;             // --seed=S
  std::string save;              // --save=FILE: each input is written there before it is tried
  std::string write;             // --write=FOLDER: inputs are written there and not tried
  std::vector<std::string> rest; // files and folders
};

DriverArguments parseDriverArguments(int argc, char **argv, uint64_t defaultRuns);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_DRIVERARGUMENTS_H
