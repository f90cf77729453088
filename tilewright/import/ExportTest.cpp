#include "tilewright/import/Export.h"

#include "tilewright/import/Import.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using bytecode::Version;
using ::testing::HasSubstr;

namespace {

class ExportTest : public ::testing::Test {
protected:
  ExportTest() { loadImportDialects(context); }

  void parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
  }
  /// The module after export and import, in generic form without locations.
  std::string roundTrip(std::optional<Version> target = std::nullopt) {
    Result<std::string> artifact = exportArtifact(*module, target);
    if (!artifact.isOk())
      return std::move(artifact).takeStatus().toString();
    auto again = importArtifact(context, ArtifactFile(*artifact), {});
    if (!again.isOk())
      return std::move(again).takeStatus().toString();
    return print(**again);
  }
  static std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module.print(out, mlir::OpPrintingFlags().printGenericOpForm());
    return text;
  }
  void expectRefusal(Version target, Error error, std::string_view words) {
    Status status = exportArtifact(*module, target).takeStatus();
    EXPECT_EQ(status.error(), error) << status.toString();
    EXPECT_THAT(status.message(), HasSubstr(words));
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

constexpr const char *exponential = R"(
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  })";

} // namespace

TEST_F(ExportTest, WhatWasWrittenIsReadBack) {
  parse(R"(
    module @program attributes {mhlo.num_partitions = 1 : i32} {
      func.func public @main(%x: tensor<2x3xf32> {jax.name = "x"}) -> (tensor<3x2xf32> {jax.name = ""}) {
        %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> {note = "kept"} : (tensor<2x3xf32>) -> tensor<3x2xf32>
        return %0 : tensor<3x2xf32>
      }
    })");
  EXPECT_EQ(roundTrip(), print(*module));
}

TEST_F(ExportTest, SdyIsBridgedByCastsThatVanishAgain) {
  parse(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%piece: tensor<4xf32>) {
        %1 = "stablehlo.negate"(%piece) : (tensor<4xf32>) -> tensor<4xf32>
        sdy.return %1 : tensor<4xf32>
      } : (tensor<8xf32>) -> tensor<8xf32>
      sdy.sharding_group %0 group_id=3 : tensor<8xf32>
      %2 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
      return %2 : tensor<8xf32>
    })");
  EXPECT_EQ(roundTrip(), print(*module));
  EXPECT_EQ(*lowestExportVersion(*module), (Version{1, 11}));
}

TEST_F(ExportTest, TheUsualVersionUnlessTheModuleNeedsMore) {
  parse(exponential);
  EXPECT_THAT(exportArtifact(*module)->substr(0, 40), HasSubstr("StableHLO_v1.13"));
  EXPECT_EQ(*lowestExportVersion(*module), bytecode::oldestVersion);

  parse(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.custom_call"(%x) <{call_target_name = "f", result_tilings = [[dense<4> : tensor<1xindex>]], operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]}> : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })");
  EXPECT_THAT(exportArtifact(*module)->substr(0, 40), HasSubstr("StableHLO_v1.18"));
}

TEST_F(ExportTest, AnOldFormIsUsedWhereItSaysAll) {
  parse(exponential);
  EXPECT_EQ(roundTrip(Version{1, 8}), print(*module));
  EXPECT_EQ(roundTrip(Version{1, 9}), print(*module));
  EXPECT_EQ(roundTrip(Version{0, 9}), print(*module));
}

TEST_F(ExportTest, ANewAttributeNeedsANewVersion) {
  parse(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.exponential"(%x) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":7:3)
      return %0 : tensor<4xf32>
    })");
  expectRefusal({1, 8}, Error::exportInexpressible,
                "operation 'stablehlo.exponential' at model.py:7:3: this form of the operation "
                "requires StableHLO 1.9, but the target version is 1.8; export for 1.9 or newer");
  EXPECT_EQ(roundTrip(Version{1, 9}), print(*module));
}

TEST_F(ExportTest, ANewTypeNeedsANewVersion) {
  parse(R"(
    func.func @main(%x: tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN> {
      return %x : tensor<4xf4E2M1FN>
    })");
  expectRefusal({1, 7}, Error::exportInexpressible, "f4E2M1FN requires StableHLO 1.8");
}

TEST_F(ExportTest, SeveralOperandsNeedTheFormThatTakesThem) {
  parse(R"(
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
    })");
  expectRefusal({1, 4}, Error::exportInexpressible, "requires StableHLO 1.5");
  EXPECT_EQ(roundTrip(Version{1, 5}), print(*module));
}

TEST_F(ExportTest, AnUnknownVersionIsRefused) {
  parse(exponential);
  expectRefusal({0, 8}, Error::exportVersion, "StableHLO 0.9 to 1.20, got 0.8");
  expectRefusal({2, 0}, Error::exportVersion, "got 2.0");
}

TEST_F(ExportTest, ATypeThatVhloLacksIsRefused) {
  parse(R"(
    func.func private @f(vector<4xf32>)
  )");
  expectRefusal({1, 20}, Error::exportUnsupported,
                "operation 'func.func' at -:2:5: the type vector<4xf32> cannot be stored in a "
                "portable artifact");
}

TEST_F(ExportTest, AnOperationOfAnotherDialectIsRefused) {
  parse(R"(
    func.func @main() {
      %0 = builtin.unrealized_conversion_cast to tensor<f32>
      return
    })");
  expectRefusal({1, 20}, Error::exportUnsupported,
                "operation 'builtin.unrealized_conversion_cast' at -:3:12: it cannot be stored");
}

TEST_F(ExportTest, ConstantsOfAllLayoutsSurvive) {
  parse(R"(
    func.func @main() {
      %0 = "stablehlo.constant"() <{value = dense<[true, false, true]> : tensor<3xi1>}> : () -> tensor<3xi1>
      %1 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
      %2 = "stablehlo.constant"() <{value = dense<true> : tensor<1000xi1>}> : () -> tensor<1000xi1>
      %3 = "stablehlo.constant"() <{value = dense<[-1, 7, 0]> : tensor<3xi4>}> : () -> tensor<3xi4>
      %4 = "stablehlo.constant"() <{value = dense<(1.0, -2.0)> : tensor<7xcomplex<f32>>}> : () -> tensor<7xcomplex<f32>>
      %5 = "stablehlo.constant"() <{value = dense<> : tensor<0x4xf64>}> : () -> tensor<0x4xf64>
      %6 = "stablehlo.constant"() <{value = dense<[1.5, -0.5]> : tensor<2xf8E4M3FN>}> : () -> tensor<2xf8E4M3FN>
      return
    })");
  EXPECT_EQ(roundTrip(), print(*module));
}
