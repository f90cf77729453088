#include "tilewright/runtime/cpu/Machine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::runtime::cpu;
using testing::HasSubstr;

static bool has(std::string_view name) {
  for (const MachineFeature &feature : machineFeatures())
    if (feature.name == name)
      return feature.isThere;
  return false;
}

TEST(Machine, AgreesWithTheCompilersView) {
  EXPECT_TRUE(has("sse2"));
  __builtin_cpu_init();
  EXPECT_EQ(has("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(has("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(has("avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(has("avx512vl"), bool(__builtin_cpu_supports("avx512vl")));
  EXPECT_EQ(has("avx512vnni"), bool(__builtin_cpu_supports("avx512vnni")));
  EXPECT_EQ(has("avx512bf16"), bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_EQ(has("bmi2"), bool(__builtin_cpu_supports("bmi2")));
}

TEST(Machine, RunsWhatItHas) {
  artifact::Target target{"x86_64-unknown-linux-gnu", "x86-64", {"sse2", "+cx16", "-avx512f"}};
  EXPECT_TRUE(checkMachine(target).isOk());
}

TEST(Machine, NamesWhatItLacks) {
  artifact::Target target{"x86_64-unknown-linux-gnu", "x86-64-v4", {"sse2"}};
  std::string missing;
  for (const MachineFeature &feature : machineFeatures())
    if (!feature.isThere) {
      missing = feature.name;
      break;
    }
  if (missing.empty())
    GTEST_SKIP() << "this machine has everything";
  target.features.push_back("+" + missing);
  Status status = checkMachine(target);
  EXPECT_EQ(status.error(), Error::machineFeature);
  EXPECT_THAT(status.message(), HasSubstr("this machine lacks " + missing));
}

TEST(Machine, UnknownFeaturesAndMachinesAreRefused) {
  artifact::Target target{"x86_64-unknown-linux-gnu", "x86-64-v9", {"avx2048"}};
  EXPECT_THAT(checkMachine(target).message(), HasSubstr("'avx2048', which this runtime"));
  target.triple = "aarch64-linux-gnu";
  EXPECT_EQ(checkMachine(target).error(), Error::machineFeature);
}
