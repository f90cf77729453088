#include "test/fuzz/DriverArguments.h"

namespace tilewright::fuzz {

DriverArguments parseDriverArguments(int argc, char **argv, uint64_t defaultRuns) {
  DriverArguments parsed{.runs = defaultRuns};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--runs="))
      parsed.runs = std::stoull(argument.substr(7));
    else if (argument.starts_with("--seed="))
      parsed.seed = std::stoull(argument.substr(7));
    else if (argument.starts_with("--save="))
      parsed.save = argument.substr(7);
    else if (argument.starts_with("--write="))
      parsed.write = argument.substr(8);
    else
      parsed.rest.push_back(argument);
  }
  return parsed;
}

} // namespace tilewright::fuzz
