// The compile cache: hits, misses and accidents.
#include "tilewright/driver/CompileCache.h"

#include "tilewright/artifact/Writer.h"
#include "tilewright/import/Export.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/AllTargets.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

using namespace tilewright;
using namespace tilewright::driver;
using testing::HasSubstr;

namespace {

namespace fs = std::filesystem;

class CompileCacheTest : public testing::Test {
protected:
  CompileCacheTest() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    std::string pattern = (fs::temp_directory_path() / "compile-cache-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    request.options.compile.cacheDir = folder;
  }
  ~CompileCacheTest() override { fs::remove_all(folder); }

  /// A program whose constant is `number`, as an artifact.
  std::string program(int number = 1) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        concat("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
               "  %c = stablehlo.constant dense<",
               number,
               ".0> : tensor<4xf32>\n"
               "  %0 = stablehlo.add %x, %c : tensor<4xf32>\n"
               "  return %0 : tensor<4xf32>\n}"),
        &context);
    EXPECT_TRUE(module);
    return *exportArtifact(*module);
  }
  /// The bytes of the executable of a program.
  std::vector<std::byte> compiled(const std::string &artifact) {
    Result<artifact::Executable> made = compile(ArtifactFile(std::string_view(artifact)), request);
    EXPECT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    return artifact::writeExecutable(*made);
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> paths;
    for (const auto &entry : fs::directory_iterator(folder))
      paths.push_back(entry.path());
    return paths;
  }
  /// Whether the next compilation of this program would load it.
  bool isKnown(const std::string &artifact) {
    target::registerAllTargets();
    auto target = target::createTarget(request.options);
    auto cache = CompileCache::open(std::as_bytes(std::span(artifact)), request, **target);
    return cache && cache->load();
  }

  mlir::MLIRContext context;
  fs::path folder;
  CompileRequest request;
};

TEST_F(CompileCacheTest, TheSecondCompilationIsALoad) {
  const std::string artifact = program();
  EXPECT_FALSE(isKnown(artifact));
  const std::vector<std::byte> first = compiled(artifact);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_TRUE(isKnown(artifact));
  EXPECT_EQ(compiled(artifact), first);
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(CompileCacheTest, WhatChangesTheCodeHasAnotherEntry) {
  const std::string artifact = program(1);
  compiled(artifact);
  EXPECT_FALSE(isKnown(program(2)));
  const auto expectOther = [&](const char *what, auto change) {
    const CompileRequest before = request;
    change();
    EXPECT_FALSE(isKnown(artifact)) << what;
    request = before;
    EXPECT_TRUE(isKnown(artifact)) << what;
  };
  expectOther("verification", [&] { request.options.compile.verify = false; });
  expectOther("option", [&] { request.options.fuse.maxOps = 7; });
  expectOther("target", [&] { request.options.compile.target = "x86-64-v2"; });
  expectOther("threads", [&] { request.options.runtime.threads = 77; });
  expectOther("GPU", [&] { request.options.compile.target = "vgpu:sm_90a"; });
  expectOther("name", [&] { request.name = "another"; });
  expectOther("replicas", [&] { request.replicas = 2; });
  expectOther("partitions", [&] { request.partitions = 2; });
  expectOther("mesh", [&] { request.mesh = {{"x", 1}}; });
  expectOther("memory of a device", [&] { request.deviceMemory = 1 << 30; });
  // The contents of a cluster's file count, not only its name.
  const std::string cluster = folder / "pod.cluster";
  const auto write = [&](const char *bandwidth) {
    std::ofstream(cluster) << "chip cpu\npeak f32 100GFLOP/s\nmemory 64GB 10GB/s\n"
                              "level host 8 latency 2us bandwidth "
                           << bandwidth << "\n";
  };
  write("1GB/s");
  expectOther("cluster", [&] { request.options.communicate.cluster = cluster; });
  request.options.communicate.cluster = cluster;
  compiled(artifact);
  EXPECT_TRUE(isKnown(artifact));
  write("2GB/s");
  EXPECT_FALSE(isKnown(artifact));
  request.options.communicate.cluster.clear();
  std::string perDevice;
  expectOther("the program of one device", [&] { request.perDevice = &perDevice; });
}

TEST_F(CompileCacheTest, WhatDoesNotChangeTheCodeFindsTheEntry) {
  const std::string artifact = program();
  compiled(artifact);
  request.options.compile.maxSeconds = 100;
  request.options.runtime.tune = true;
  request.options.runtime.memoryLimit = 1 << 30;
  EXPECT_TRUE(isKnown(artifact));
}

TEST_F(CompileCacheTest, ARequestForMoreThanAnExecutableIsCompiled) {
  const std::string artifact = program();
  compiled(artifact);
  CompileReport report;
  request.report = &report;
  EXPECT_FALSE(isKnown(artifact));
  compiled(artifact);
  EXPECT_EQ(report.stages.size(), 8u);
  request.report = nullptr;
  request.options.compile.dumpDir = folder / "dump";
  EXPECT_FALSE(isKnown(artifact));
}

TEST_F(CompileCacheTest, ADamagedEntryIsCompiledAgain) {
  const std::string artifact = program();
  const std::vector<std::byte> first = compiled(artifact);
  const fs::path path = entries().front();
  std::ifstream file(path, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  // Every bit of some bytes from everywhere, and every length from some.
  for (size_t i = 0; i < whole.size(); i += 1 + whole.size() / 37) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_EQ(compiled(artifact), first) << "byte " << i;
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    EXPECT_EQ(compiled(artifact), first) << "cut off after " << i;
    EXPECT_TRUE(isKnown(artifact));
  }
}

TEST_F(CompileCacheTest, AFailureIsNotStored) {
  request.options.import.maxOps = 1;
  const std::string artifact = program();
  for (int i = 0; i < 2; ++i) {
    Status status = compile(ArtifactFile(std::string_view(artifact)), request).takeStatus();
    EXPECT_EQ(status.error(), Error::limitOps);
  }
  EXPECT_TRUE(entries().empty());
  request.options.compile.target = "x86-64-v9";
  EXPECT_EQ(compile(ArtifactFile(std::string_view(artifact)), request).takeStatus().error(),
            Error::compileTarget);
}

TEST_F(CompileCacheTest, ACacheThatCannotBeWrittenIsToldAndTheProgramCompiled) {
  const std::string artifact = program();
  request.options.compile.cacheDir = "/dev/null/cache";
  std::vector<std::string> told;
  request.warn = [&](const Status &status) { told.push_back(status.toString()); };
  EXPECT_FALSE(compiled(artifact).empty());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("E2108"));
  EXPECT_THAT(told[0], HasSubstr("/dev/null/cache"));
  EXPECT_THAT(told[0], HasSubstr("compile.cache-dir"));
}

} // namespace
