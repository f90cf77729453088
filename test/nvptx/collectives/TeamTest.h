// TeamTest: a test of kernels that several virtual GPUs run together, with checks on.
#ifndef TEST_NVPTX_COLLECTIVES_TEAMTEST_H
#define TEST_NVPTX_COLLECTIVES_TEAMTEST_H

#include "test/nvptx/collectives/Team.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tilewright::nvptx {

/// Fails the test if the checks reported something in it. Removes the report, so that the next test
/// begins without one.
inline void expectNoReport() {
  const char *report = std::getenv("TILEWRIGHT_VGPU_REPORT");
  if (!report || !std::filesystem::exists(report))
    return;
  std::stringstream text;
  text << std::ifstream(report).rdbuf();
  std::filesystem::remove(report);
  ADD_FAILURE() << text.str().substr(0, 4000);
}

/// The number of ranks is a parameter of each test.
class TeamTest : public ::testing::TestWithParam<int64_t> {
protected:
  static Team &team() {
    static std::map<int64_t, std::unique_ptr<Team>> teams;
    std::unique_ptr<Team> &team = teams[GetParam()];
    if (!team) {
      Result<std::unique_ptr<Team>> made = Team::make(GetParam());
      if (!made.isOk()) {
        ADD_FAILURE() << std::move(made).takeStatus().toString();
        std::exit(1);
      }
      team = *std::move(made);
    }
    return *team;
  }
  void TearDown() override { expectNoReport(); }
};

} // namespace tilewright::nvptx

#endif // TEST_NVPTX_COLLECTIVES_TEAMTEST_H
