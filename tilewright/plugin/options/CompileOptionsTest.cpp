#include "tilewright/plugin/options/CompileOptions.h"

#include "tilewright/plugin/options/ProtoWire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string override(const std::string &name, const std::string &value) {
  ProtoWriter text, entry, options;
  text.bytes(1, value);
  entry.bytes(1, name);
  entry.bytes(2, std::move(text).take());
  options.bytes(7, std::move(entry).take());
  return std::move(options).take();
}

TEST(CompileOptions, AreOneDeviceWhenNothingIsSaid) {
  Result<CompileOptions> options = CompileOptions::parse("");
  ASSERT_TRUE(options.isOk());
  EXPECT_EQ(options->replicas, 1);
  EXPECT_EQ(options->partitions, 1);
  EXPECT_FALSE(options->devices);
}

/// The message that JAX sends for four devices.
TEST(CompileOptions, NameADeviceForEachPartition) {
  std::string assignment;
  for (uint8_t byte : {0x08, 0x01, 0x10, 0x04, 0x1a, 0x03, 0x0a, 0x01, 0x00, 0x1a, 0x03, 0x0a,
                       0x01, 0x01, 0x1a, 0x03, 0x0a, 0x01, 0x02, 0x1a, 0x03, 0x0a, 0x01, 0x03})
    assignment.push_back(char(byte));
  Result<runtime::DeviceAssignment> parsed = parseDeviceAssignment(assignment);
  ASSERT_TRUE(parsed.isOk());
  EXPECT_THAT(parsed->devices, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(parsed->partitions, 4);
  EXPECT_EQ(serialize(*parsed), assignment);
}

TEST(CompileOptions, ReadNumbersOfBuildOptions) {
  ProtoWriter build, options;
  build.integer(1, -1);
  build.integer(4, 1);
  build.integer(5, 4);
  options.bytes(3, std::move(build).take());
  options.integer(5, -1);
  Result<CompileOptions> parsed = CompileOptions::parse(std::move(options).take());
  ASSERT_TRUE(parsed.isOk());
  EXPECT_EQ(parsed->partitions, 4);
}

TEST(CompileOptions, OverrideOurOptionsByName) {
  Result<CompileOptions> parsed = CompileOptions::parse(override("import.max-rank", "7"));
  ASSERT_TRUE(parsed.isOk());
  Options options;
  ASSERT_TRUE(parsed->apply(options).isOk());
  EXPECT_EQ(options.import.maxRank, 7);
}

TEST(CompileOptions, LetOptionsOfXlaPass) {
  Options options, before;
  Result<CompileOptions> parsed = CompileOptions::parse(override("xla_cpu_use_thunks", "true"));
  ASSERT_TRUE(parsed.isOk());
  EXPECT_TRUE(parsed->apply(options).isOk());
  EXPECT_EQ(options, before);
}

TEST(CompileOptions, SayOnceWhichOptionsOfXlaHaveNoEffect) {
  auto ignored = [](const char *name, const char *value) {
    return CompileOptions::parse(override(name, value))->ignored().size();
  };
  EXPECT_EQ(ignored("xla_gpu_nccl_p2p_max_nchannels", "4"), 1u);
  EXPECT_EQ(ignored("xla_gpu_deterministic_ops", "True"), 0u); // always true
  EXPECT_EQ(ignored("import.max-rank", "7"), 0u);
  auto said = [] {
    testing::internal::CaptureStderr();
    sayIgnored({"xla_test_first", "xla_test_second"});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said(), HasSubstr("without effect here: xla_test_first, xla_test_second"));
  EXPECT_EQ(said(), "");
}

TEST(CompileOptions, RefuseOptionsOfXlaThatWouldChangeResults) {
  Options options;
  auto apply = [&](const char *name, const char *value) {
    return CompileOptions::parse(override(name, value))->apply(options);
  };
  for (const char *name : {"xla_cpu_ftz", "xla_gpu_ftz"}) {
    Status status = apply(name, "True");
    EXPECT_EQ(status.error(), Error::compilerOption) << name;
    EXPECT_THAT(status.message(), HasSubstr("flush denormal numbers to zero"));
    EXPECT_TRUE(apply(name, "False").isOk());
  }
}

TEST(CompileOptions, RefuseValuesThatAnOptionOfXlaCannotTake) {
  Options options;
  auto apply = [&](const char *name, const char *value) {
    return CompileOptions::parse(override(name, value))->apply(options);
  };
  for (const char *name : {"xla_embed_ir_in_executable", "xla_backend_optimization_level",
                           "xla_gpu_auto_spmd_partitioning_memory_budget_ratio"}) {
    Status status = apply(name, "invalid_value");
    EXPECT_EQ(status.error(), Error::compilerOption) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
    EXPECT_THAT(status.message(), HasSubstr("'invalid_value' is not a valid"));
  }
  EXPECT_TRUE(apply("xla_embed_ir_in_executable", "True").isOk());
  EXPECT_TRUE(apply("xla_backend_optimization_level", "3").isOk());
  EXPECT_FALSE(apply("xla_backend_optimization_level", "3000000000").isOk());
  EXPECT_TRUE(apply("xla_gpu_auto_spmd_partitioning_memory_budget_ratio", "0.5").isOk());
  EXPECT_TRUE(apply("xla_dump_to", "invalid_value").isOk());
}

TEST(CompileOptions, RefuseOtherNames) {
  Options options;
  Status status = CompileOptions::parse(override("import.max-rnak", "7"))->apply(options);
  EXPECT_EQ(status.error(), Error::compilerOption);
  EXPECT_THAT(status.message(), HasSubstr("No such compile option: 'import.max-rnak'"));
  EXPECT_THAT(status.message(), HasSubstr("import.max-rank"));
}

TEST(CompileOptions, AreNeverReadBeyondTheirEnd) {
  std::string bytes = override("import.max-rank", "7");
  for (size_t size = 0; size < bytes.size(); ++size)
    for (int flip = 0; flip < 256; flip += 5) {
      std::string broken = bytes.substr(0, size) + char(flip);
      Result<CompileOptions> parsed = CompileOptions::parse(broken);
      if (!parsed.isOk()) {
        EXPECT_EQ(std::move(parsed).takeStatus().error(), Error::compileOptions);
      }
    }
}

TEST(CompileOptions, RefuseAnAssignmentWithHoles) {
  EXPECT_FALSE(parseDeviceAssignment("").isOk());
  EXPECT_FALSE(parseDeviceAssignment("\x08\x01\x10\x02\x1a\x03\x0a\x01\x01").isOk());
}

} // namespace
} // namespace tilewright::plugin
