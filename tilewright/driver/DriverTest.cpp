// What compile() makes of a program, and its errors.
#include "tilewright/driver/Compile.h"
#include "tilewright/driver/Emit.h"
#include "tilewright/driver/Pipelines.h"
#include "tilewright/import/ArtifactFile.h"
#include "tilewright/import/Export.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <thread>

using namespace tilewright;
using namespace tilewright::driver;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

namespace {

class Driver : public testing::Test {
protected:
  Driver() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module;
  }
  Result<artifact::Executable> compileText(llvm::StringRef text) {
    auto module = parse(text);
    return compile(*module, request);
  }
  /// The error of emitting a module that was scheduled by hand.
  Status emitFailure(llvm::StringRef text) {
    auto module = parse(text);
    llvm::StringMap<target::KernelLaunch> none;
    return emitExecutable(*module, none).takeStatus();
  }

  mlir::MLIRContext context;
  CompileRequest request;
};

TEST_F(Driver, AnExecutableHasTheSignatureOfTheProgram) {
  CompileReport report;
  request.report = &report;
  Result<artifact::Executable> made = compileText(R"(
    func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %y : tensor<4xf32>
      %1 = stablehlo.exponential %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    })");
  ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
  EXPECT_EQ(made->parameters.size(), 2u);
  EXPECT_EQ(made->parameters[0].donation, artifact::Donation::may);
  EXPECT_EQ(made->results[0].aliasOf, 0u);
  EXPECT_EQ(made->kernels.size(), 1u);
  EXPECT_EQ(made->blocks[0].steps.size(), 1u);
  EXPECT_EQ(report.stages.back().name, "code");
}

/// docs/architecture.md draws the stages in order; progress counts them.
TEST_F(Driver, TheStagesAreThoseOfTheMap) {
  std::ifstream page(TILEWRIGHT_SOURCE_DIR "/docs/architecture.md");
  std::vector<std::string> drawn;
  bool isBetween = false;
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, std::regex("    ([a-z]+)  +[^ ].*")))
      continue;
    if (match[1] == "artifact")
      break;
    if (isBetween)
      drawn.push_back(match[1]);
    isBetween |= match[1] == "import";
  }
  CompileReport report;
  request.report = &report;
  std::vector<double> fractions;
  request.progress = [&](const char *, double done) { fractions.push_back(done); };
  ASSERT_TRUE(
      compileText(
          "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
          .isOk());
  std::vector<std::string> ran;
  for (const StageReport &stage : report.stages)
    ran.push_back(stage.name);
  EXPECT_EQ(ran, drawn);
  for (size_t i = 0; i < fractions.size(); ++i)
    EXPECT_EQ(fractions[i], double(i) / double(ran.size()));
}

/// The pass pipeline in the reproducer at the end of a dump.
std::string pipelineOf(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  std::smatch match;
  return std::regex_search(all, match, std::regex("pipeline: \"([^\"]*)\"")) ? match[1].str()
                                                                             : std::string();
}

/// A dump has the passes that run next, so its text is the list of the compiler.
TEST_F(Driver, ThePassesOfAStageAreThoseOfTheRegisteredPipeline) {
  registerPipelines();
  request.partitions = 2;
  request.mesh = {{"data", 2}};
  for (const std::string target : {"x86-64-v3", "vgpu:sm_90a"}) {
    request.options.compile.target = target;
    const std::string folder = testing::TempDir() + "pipelines-" + target;
    request.options.compile.dumpDir = folder;
    Result<artifact::Executable> made = compileText(R"(
      module attributes {mhlo.num_partitions = 2 : i32} {
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.exponential %x : tensor<4xf32>
          return %0 : tensor<4xf32>
        }
      })");
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    const std::pair<const char *, std::string> stages[] = {
        {"00-input", "distribute{mesh=data=2 partitions=2 replicas=1}"},
        {"01-distribute", "simplify"},
        {"02-simplify", "communicate"},
        {"03-communicate", "fuse{target=" + target + "}"},
        {"04-fuse", "tile"},
        {"05-tile", "lower{target=" + target + "}"},
        {"06-lower", "schedule"}};
    for (const auto &[dump, registered] : stages) {
      mlir::PassManager passes(&context, mlir::ModuleOp::getOperationName());
      ASSERT_TRUE(mlir::succeeded(mlir::parsePassPipeline(registered, passes))) << registered;
      std::string text;
      llvm::raw_string_ostream out(text);
      passes.printAsTextualPipeline(out);
      EXPECT_EQ(pipelineOf(folder + "/" + dump + ".mlir"), text) << registered;
    }
  }
}

/// The facts about ranks that the driver records reach the stage that needs them.
TEST_F(Driver, CollectivesAreRewrittenByWhatIsKnownAboutRanks) {
  request.partitions = 2;
  request.mesh = {{"data", 2}};
  request.options.compile.target = "x86-64-v3";
  const std::string folder = testing::TempDir() + "collectives";
  request.options.compile.dumpDir = folder;
  // A sum of a parameter, and the part of it that a rank keeps.
  auto communicated = [&](const std::string &sharding, const std::string &last) {
    Result<artifact::Executable> made = compileText(R"(
      module attributes {mhlo.num_partitions = 2 : i32} {
        sdy.mesh @mesh = <["data"=2]>
        func.func @main(%x: tensor<4xf32>)" + sharding +
                                                    R"() -> tensor<4xf32> {
          %sum = "stablehlo.all_reduce"(%x) <{use_global_device_ids,
            channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
            replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
          ^bb0(%p: tensor<f32>, %q: tensor<f32>):
            %s = stablehlo.add %p, %q : tensor<f32>
            stablehlo.return %s : tensor<f32>
          }) : (tensor<4xf32>) -> tensor<4xf32>
          )" + last + R"(
          return %r : tensor<4xf32>
        }
      })");
    EXPECT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    std::ifstream file(folder + "/03-communicate.mlir");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const std::string all = "%r = stablehlo.negate %sum : tensor<4xf32>";
  // A caller can pass each rank its own value, unless the program says that it is replicated.
  EXPECT_THAT(communicated("", all), HasSubstr("all_reduce"));
  EXPECT_THAT(communicated(" {sdy.sharding = #sdy.sharding<@mesh, [{}]>}", all),
              Not(HasSubstr("all_reduce")));
  // Ranks hold different terms of a sum that is not taken yet.
  EXPECT_THAT(
      communicated(" {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={\"data\"}>}", all),
      HasSubstr("all_reduce"));
  auto part = [](const std::string &index) {
    return R"(
          %me = stablehlo.partition_id : tensor<ui32>
          %size = stablehlo.constant dense<2> : tensor<ui32>
          %one = stablehlo.constant dense<1> : tensor<ui32>
          %other = stablehlo.subtract %one, %me : tensor<ui32>
          %start = stablehlo.multiply )" +
           index + R"(, %size : tensor<ui32>
          %own = stablehlo.dynamic_slice %sum, %start, sizes = [2] : (tensor<4xf32>, tensor<ui32>) -> tensor<2xf32>
          %r = stablehlo.concatenate %own, %own, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>)";
  };
  EXPECT_THAT(communicated("", part("%me")),
              AllOf(HasSubstr("reduce_scatter"), Not(HasSubstr("all_reduce"))));
  EXPECT_THAT(communicated("", part("%other")),
              AllOf(Not(HasSubstr("reduce_scatter")), HasSubstr("all_reduce")));
}

/// The last pass of each stage is its verifier.
TEST_F(Driver, EveryStageEndsWithItsVerifier) {
  registerPipelines();
  for (const std::string stage :
       {"import", "distribute", "simplify", "communicate", "fuse", "tile", "lower", "schedule"}) {
    mlir::PassManager passes(&context, mlir::ModuleOp::getOperationName());
    ASSERT_TRUE(mlir::succeeded(mlir::parsePassPipeline(stage, passes))) << stage;
    std::string text;
    llvm::raw_string_ostream out(text);
    passes.printAsTextualPipeline(out);
    const size_t verifier = text.rfind(stage + "-verify");
    ASSERT_NE(verifier, std::string::npos) << text;
    EXPECT_EQ(text.find(',', verifier), std::string::npos) << text;
  }
}

TEST_F(Driver, AnUnknownChipIsAnsweredWithTheKnownOnes) {
  request.options.compile.target = "x86-64-v9";
  Status status = compileText("func.func @main() { return }").takeStatus();
  EXPECT_EQ(status.error(), Error::compileTarget);
  EXPECT_THAT(status.message(), HasSubstr("x86-64-v4"));
}

TEST_F(Driver, AStageThatFailsIsNamedWithTheOpAndAReplay) {
  Status status = compileText(R"(
    func.func @main(%t: !stablehlo.token) -> tensor<2xf32> {
      %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
      return %0#0 : tensor<2xf32>
    })")
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::cpuLowerOp);
  EXPECT_THAT(status.message(), HasSubstr("stablehlo.infeed"));
  EXPECT_THAT(status.message(), HasSubstr("replay"));
}

/// With a limit that was reached before, no stage begins.
TEST_F(Driver, AFailureThatHasItsOwnPageKeepsItsNumber) {
  request.options.simplify.maxOps = 1;
  const Status status = compileText(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      %1 = stablehlo.sine %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    })")
                            .takeStatus();
  EXPECT_EQ(status.error(), Error::simplifyTooLarge);
  EXPECT_EQ(status.code(), Code::resourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("raise simplify.max-ops"));
  EXPECT_THAT(status.message(), Not(HasSubstr(idOf(Error::simplifyTooLarge))));
}

TEST_F(Driver, AWorkLimitEndsTheCompilation) {
  auto limit = std::make_shared<WorkLimit>(WorkLimit::Amounts{.seconds = 0.001});
  while (!limit->isReached())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const char *text = R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.exponential %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    })";
  {
    WorkLimit::Scope scope(limit);
    Status status = compileText(text).takeStatus();
    EXPECT_EQ(status.error(), Error::compileDeadline);
    EXPECT_EQ(status.code(), Code::deadlineExceeded);
    EXPECT_THAT(status.message(), HasSubstr("in stage 'distribute', at its beginning"));
  }
  EXPECT_TRUE(compileText(text).isOk()) << "the context forgets the limit";
}

/// The verifier of the imported program, for example, cannot be interrupted.
TEST_F(Driver, ADeadlineAtAnyMomentNamesAStageAndAPlace) {
  std::string text = "func.func @main(%x0: tensor<4xf32>) -> tensor<4xf32> {\n";
  constexpr int length = 100;
  for (int i = 0; i < length; ++i)
    text += concat("%x", i + 1, " = stablehlo.sine %x", i, " : tensor<4xf32>\n");
  text += concat("return %x", length, " : tensor<4xf32> }");
  Result<std::string> artifact = exportArtifact(*parse(text));
  ASSERT_TRUE(artifact.isOk());

  int stopped = 0;
  for (double seconds = 1e-5; seconds < 100; seconds *= 1.5) {
    WorkLimit::Scope scope(std::make_shared<WorkLimit>(WorkLimit::Amounts{.seconds = seconds}));
    Status status = compile(ArtifactFile(*artifact), request).takeStatus();
    if (status.isOk())
      break;
    ++stopped;
    EXPECT_EQ(status.error(), Error::compileDeadline) << status.toString();
    EXPECT_THAT(status.message(), ContainsRegex("in stage '[a-z]+', at .+; raise"));
  }
  EXPECT_GT(stopped, 3);
}

TEST_F(Driver, LimitsOfTheOptionsAreSetAndForgotten) {
  request.options.compile.maxSeconds = 1000;
  request.options.compile.maxMemory = int64_t(1) << 40;
  EXPECT_TRUE(compileText("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {"
                          "%0 = stablehlo.sine %x : tensor<4xf32> return %0 : tensor<4xf32> }")
                  .isOk());
  EXPECT_EQ(WorkLimit::current(), nullptr);
}

TEST_F(Driver, AClusterThatIsUnknownOrTooSmallIsRefused) {
  const char *text =
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }";
  request.partitions = 64;
  request.options.communicate.cluster = "h100x64";
  EXPECT_TRUE(compileText(text).isOk());
  request.options.communicate.cluster = "h100x32";
  Status status = compileText(text).takeStatus();
  EXPECT_EQ(status.error(), Error::clusterMismatch);
  EXPECT_THAT(status.message(), HasSubstr("for 64 ranks"));
  EXPECT_THAT(status.message(), HasSubstr("has 32"));
  request.options.communicate.cluster = "/nowhere/pod.cluster";
  status = compileText(text).takeStatus();
  EXPECT_EQ(status.error(), Error::clusterMalformed);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/pod.cluster"));
  request.options.communicate.cluster = "/"; // reading a folder once ended the process
  status = compileText(text).takeStatus();
  EXPECT_EQ(status.error(), Error::clusterMalformed);
  EXPECT_THAT(status.message(), HasSubstr("cannot read the cluster file '/'"));
}

/// A parameter and a result, and two temporaries between the products: four tensors of 16 KiB. The
/// result of the second program is in the memory of its parameter.
TEST_F(Driver, AProgramThatNeedsMoreMemoryThanADeviceHasNamesItsLargestTensors) {
  constexpr llvm::StringLiteral text = R"(
    func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      return %2 : tensor<64x64xf32>
    })";
  request.deviceMemory = 65536;
  EXPECT_TRUE(compileText(text).isOk());
  request.deviceMemory = 65535;
  Status status = compileText(text).takeStatus();
  EXPECT_EQ(status.error(), Error::outOfMemory);
  EXPECT_EQ(status.code(), Code::resourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("needs 65536 bytes on each device"));
  EXPECT_THAT(status.message(), HasSubstr("the limit is 65535 bytes"));
  EXPECT_THAT(status.message(), HasSubstr("16384 bytes of parameter 0, 64x64xf32"));
  EXPECT_THAT(status.message(), HasSubstr("16384 bytes of the temporary of "));

  request.deviceMemory = 16384;
  EXPECT_TRUE(compileText(R"(
    func.func @main(%x: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}) -> tensor<64x64xf32> {
      %0 = stablehlo.negate %x : tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    })")
                  .isOk());
}

/// compile.log-passes is a matter of one compilation: the next one prints nothing.
TEST_F(Driver, DecisionsOfTheNamedPassesAreLogged) {
  constexpr llvm::StringLiteral text = R"(
    func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<4xf32> {
      %0 = stablehlo.exponential %x : tensor<4xf32>
      %1 = stablehlo.negate %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    })";
  request.options.compile.logPasses = "fuse,tile,schedule-claim-donations,simplfy";
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(compileText(text).isOk());
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ContainsRegex("fuse-group: 'stablehlo.negate' at .*: joins "
                                 "'stablehlo.exponential' at .*: computes the same elements\n"));
  EXPECT_THAT(log, ContainsRegex("tile-fusions: 'exec.fusion' at .*: becomes kernel '.*' with "
                                 "tiles \\[4\\] of \\[4\\]"));
  EXPECT_THAT(log, HasSubstr(": result 0 takes over the memory of parameter 0\n"));
  EXPECT_THAT(log, HasSubstr("compile.log-passes: no decision of 'simplfy' was logged\n"));

  request.options.compile.logPasses = "";
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(compileText(text).isOk());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(Driver, AModuleWithoutMainIsRefused) {
  EXPECT_EQ(emitFailure("module {}").error(), Error::planSignature);
}

TEST_F(Driver, AnOpWithoutAStepIsNamed) {
  Status status = emitFailure(R"(
    func.func @main(%x: tensor<2xf32>) attributes {
        exec.allocations = [#exec.allocation<storage = "parameter", index = 0, bytes = 8, space = 0>,
                            #exec.allocation<storage = "temporary", index = 0, bytes = 64, space = 0>],
        exec.argument_slices = [[#exec.slice<allocation = 0, offset = 0, bytes = 8>]]} {
      %0 = stablehlo.negate %x {exec.slices = [#exec.slice<allocation = 1, offset = 0, bytes = 8>]} : tensor<2xf32>
      return
    })");
  EXPECT_EQ(status.error(), Error::planOp);
  EXPECT_THAT(status.message(), HasSubstr("stablehlo.negate"));
}

TEST_F(Driver, AConfigurationThatNoHandlerCanReadIsNamed) {
  Status status = emitFailure(R"(
    func.func @main() attributes {exec.allocations = []} {
      exec.custom_call "f"() {api_version = 4 : i32, config = {handler = @f}} : () -> ()
      return
    })");
  EXPECT_EQ(status.error(), Error::planAttribute);
  EXPECT_THAT(status.message(), HasSubstr("handler"));
}

} // namespace
