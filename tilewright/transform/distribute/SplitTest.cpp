// Programs evaluated as a whole, then divided among four devices and evaluated on each of them.
#include "tilewright/transform/distribute/Split.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/Checks.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/distribute/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::distribute;
using interpret::RuntimeValue;
using interpret::RuntimeValues;
using interpret::Tensor;
using numerics::ElementType;
using numerics::Scalar;

namespace {

constexpr int64_t devices = 4;

class Split : public testing::Test {
protected:
  Split() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, sdy::SdyDialect>();
  }

  static Scalar numberOf(ElementType type, int64_t number) {
    if (numerics::isComplex(type))
      return Scalar::ofComplex({static_cast<double>(number), static_cast<double>(-2 * number)});
    if (numerics::isReal(type))
      return Scalar::ofReal(static_cast<double>(number));
    if (type == ElementType::pred)
      return Scalar::ofUnsigned(static_cast<uint64_t>(number & 1));
    return Scalar::ofSigned(number);
  }

  static Tensor allocate(mlir::Type type) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    interpret::Context limits;
    return *Tensor::allocate(*interpret::elementTypeOf(tensor.getElementType()),
                             *interpret::staticShapeOf(tensor), limits);
  }

  /// The shard of a device. Of the terms of an unreduced tensor, the first one is all of it.
  static Tensor shardOf(const Tensor &whole, mlir::Type shardType, const Sharding &sharding,
                        int64_t device) {
    Tensor shard = allocate(shardType);
    auto local = mlir::cast<mlir::RankedTensorType>(shardType).getShape();
    for (int64_t i = 0; i < shard.elementCount(); ++i) {
      int64_t position = 0, rest = i, stride = 1;
      for (size_t dim = local.size(); dim-- > 0; rest /= local[dim]) {
        const int64_t shards = sharding.count(dim);
        const int64_t at =
            shards > 1 ? sharding.mesh->along(sharding.along(dim), device) * local[dim] : 0;
        position += (at + rest % local[dim]) * stride;
        stride *= local[dim] * shards;
      }
      const bool isNothing =
          !sharding.unreduced.empty() && sharding.mesh->along(sharding.unreduced, device) != 0;
      shard.set(i, isNothing ? numberOf(whole.type(), 0) : whole.at(position));
    }
    return shard;
  }

  /// Evaluates @main as a whole, and divided. Parameters are 1, 2, 3, and so on, modulo `modulus`.
  /// All results must be declared replicated.
  void check(const std::string &main, int64_t modulus = 128) {
    const std::string text = concat("module attributes {mhlo.num_partitions = ", devices,
                                    " : i32} {\nsdy.mesh @mesh = <[\"x\"=4]>\n", main, "\n}\n");
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
    ShardBuilder shards(*module, devices);
    RuntimeValues wholes;
    std::vector<RuntimeValues> inputs(devices);
    for (unsigned number = 0; number < function.getNumArguments(); ++number) {
      const mlir::Type type = function.getArgumentTypes()[number];
      Tensor whole = allocate(type);
      for (int64_t i = 0; i < whole.elementCount(); ++i)
        whole.set(i, numberOf(whole.type(), (i + 1) % modulus));
      Sharding sharding;
      if (auto attr = function.getArgAttrOfType<sdy::TensorShardingAttr>(number, "sdy.sharding"))
        sharding = *shards.shardingOf(attr, std::nullopt);
      const mlir::Type shardType =
          sharding.isReplicated() ? type : *shards.shardType(type, sharding);
      for (int64_t device = 0; device < devices; ++device)
        inputs[static_cast<size_t>(device)].push_back(
            RuntimeValue(shardOf(whole, shardType, sharding, device)));
      wholes.push_back(RuntimeValue(std::move(whole)));
    }
    auto expected = interpret::evaluateRanks(*module, "main", {1, 1}, {wholes}, {});
    ASSERT_TRUE(expected.isOk()) << std::move(expected).takeStatus().toString();

    const Status status = split(*module, devices);
    ASSERT_TRUE(status.isOk()) << status.toString();
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    std::string divided;
    llvm::raw_string_ostream(divided) << *module;
    auto actual = interpret::evaluateRanks(*module, "main", {1, devices}, inputs, {});
    ASSERT_TRUE(actual.isOk()) << std::move(actual).takeStatus().toString() << divided;
    for (size_t device = 0; device < inputs.size(); ++device)
      for (size_t i = 0; i < expected->front().size(); ++i) {
        const Status same =
            interpret::expectEqual((*actual)[device][i].tensor(), expected->front()[i].tensor());
        ASSERT_TRUE(same.isOk()) << same.toString() << "\nresult " << i << " of device " << device
                                 << "\n"
                                 << divided;
      }
  }

  mlir::MLIRContext context;
};

TEST_F(Split, NarrowIntegerSumsWrapBeforeAWideProduct) {
  check(R"(
func.func public @main(%x: tensor<8x64xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<64x1xi8>)
    -> (tensor<1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i8>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x64xi8>, tensor<i8>) -> tensor<64xi8>
  %y = stablehlo.dot_general %s, %w, contracting_dims = [0] x [0] : (tensor<64xi8>, tensor<64x1xi8>) -> tensor<1xi32>
  return %y : tensor<1xi32>
})");
}

TEST_F(Split, NarrowIntegerSumsWrapBeforeAWideSum) {
  check(R"(
func.func public @main(%x: tensor<8x64xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  %z = stablehlo.constant dense<0> : tensor<i8>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x64xi8>, tensor<i8>) -> tensor<64xi8>
  %y = "stablehlo.reduce"(%s, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<64xi8>, tensor<i8>) -> tensor<i32>
  return %y : tensor<i32>
})");
}

TEST_F(Split, ModularSumsOfOneWidthAgree) {
  check(R"(
func.func public @main(%x: tensor<8x64xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<64x1xi8>)
    -> (tensor<1xi8> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i8>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x64xi8>, tensor<i8>) -> tensor<64xi8>
  %y = stablehlo.dot_general %s, %w, contracting_dims = [0] x [0] : (tensor<64xi8>, tensor<64x1xi8>) -> tensor<1xi8>
  return %y : tensor<1xi8>
})");
}

TEST_F(Split, PositionsOfEveryTypeAreRoundedOnce) {
  for (const char *type :
       {"bf16", "f16", "f32", "f8E5M2", "complex<f32>", "i8", "ui8", "i32", "ui64"})
    check(concat(R"(
func.func public @main(%x: tensor<1040x)",
                 type, R"(> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<1040x)",
                 type, R"(> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %i = stablehlo.iota dim = 0 : tensor<1040x)",
                 type, R"(>
  %y = stablehlo.subtract %i, %x : tensor<1040x)",
                 type, R"(>
  return %y : tensor<1040x)",
                 type, R"(>
})"),
          /*modulus=*/2);
}

TEST_F(Split, TermsOfAnyTypeAreAdded) {
  for (const char *type : {"f32", "i8", "complex<f32>", "i1"})
    check(concat(R"(
func.func public @main(%x: tensor<8x)",
                 type, R"(> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
    -> (tensor<8x)",
                 type, R"(> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %t = stablehlo.reshape %x : (tensor<8x)",
                 type, ">) -> tensor<2x4x", type, R"(>
  %y = stablehlo.reshape %t : (tensor<2x4x)",
                 type, ">) -> tensor<8x", type, R"(>
  return %y : tensor<8x)",
                 type, R"(>
})"));
}

TEST_F(Split, PaddingLongerThanManyShardsKeepsItsRows) {
  for (const char *padding :
       {"low = [1000], high = [0], interior = [0]", "low = [0], high = [1000], interior = [0]",
        "low = [333], high = [667], interior = [0]"})
    check(concat(R"(
func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %z: tensor<f32>,
                       %w: tensor<1008xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<1008xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %p = stablehlo.pad %x, %z, )",
                 padding, R"( : (tensor<8xf32>, tensor<f32>) -> tensor<1008xf32>
  %y = stablehlo.add %p, %w : tensor<1008xf32>
  return %y : tensor<1008xf32>
})"));
}

} // namespace
