// Every reduction of every type, and movements along every dimension, evaluated on all ranks before
// and after communicate-device-forms; and whether the result has only forms that NCCL knows.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/interpret/Checks.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/communicate/Collective.h"
#include "tilewright/transform/communicate/Passes.h"
#include "tilewright/transform/communicate/testing/EveryRank.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::communicate {
namespace {

using interpret::RuntimeValues;
using numerics::ElementType;

const char *const all = "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>";
const char *const pairs = "dense<[[3, 1], [0, 2]]> : tensor<2x2xi64>";

class DeviceForms : public ::testing::Test {
protected:
  DeviceForms() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<stablehlo::StablehloDialect, mlir::func::FuncDialect,
                        mlir::quant::QuantDialect>();
  }

  /// Random bits: all values of small types, NaNs, infinities and both zeros of large ones.
  static interpret::Tensor randomTensor(mlir::Type type, std::mt19937 &random) {
    interpret::Context limits;
    auto tensorType = mlir::cast<mlir::RankedTensorType>(type);
    const ElementType element = *interpret::elementTypeOf(tensorType.getElementType());
    interpret::Tensor tensor =
        *interpret::Tensor::allocate(element, *interpret::staticShapeOf(tensorType), limits);
    const unsigned width = std::min(numerics::bitWidth(element), 8U);
    for (int64_t i = 0; i < tensor.byteCount(); ++i)
      tensor.mutableData()[i] = static_cast<std::byte>(random() & ((1U << width) - 1));
    static constexpr double edges[] = {std::numeric_limits<double>::quiet_NaN(),
                                       std::numeric_limits<double>::infinity(),
                                       -std::numeric_limits<double>::infinity(),
                                       0.0,
                                       -0.0,
                                       1.5};
    if (numerics::isReal(element))
      for (int64_t i = 0; i < tensor.elementCount(); ++i)
        if (random() % 2)
          tensor.set(i, numerics::Scalar::ofReal(edges[random() % std::size(edges)]));
    return tensor;
  }

  std::vector<RuntimeValues> evaluate(mlir::ModuleOp module, unsigned seed) {
    return evaluateOnEveryRank(module, grid, seed, randomTensor);
  }

  static bool isNative(mlir::Type element, bool isSum) {
    if (auto integer = mlir::dyn_cast<mlir::IntegerType>(element))
      return llvm::is_contained({8U, 32U, 64U}, integer.getWidth());
    return isSum && (element.isF16() || element.isBF16() || element.isF32() || element.isF64());
  }

  /// The rule of collective/nccl's engine.
  static void expectKnown(mlir::ModuleOp module, const std::string &text) {
    module.walk([&](mlir::Operation *op) {
      auto type = [&] { return mlir::cast<mlir::RankedTensorType>(op->getOperand(0).getType()); };
      auto outermost = [&](uint64_t dimension) {
        return llvm::all_of(type().getShape().take_front(dimension),
                            [](int64_t size) { return size == 1; });
      };
      if (mlir::isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op)) {
        mlir::Operation *combiner = combinerOf(op->getRegion(0));
        ASSERT_TRUE(combiner) << text;
        const bool isSum = mlir::isa<stablehlo::AddOp, stablehlo::MultiplyOp>(combiner);
        EXPECT_TRUE(isSum || (mlir::isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(combiner)))
            << text;
        EXPECT_TRUE(isNative(type().getElementType(), isSum)) << text;
      }
      if (auto gather = mlir::dyn_cast<stablehlo::AllGatherOp>(op))
        EXPECT_TRUE(outermost(gather.getAllGatherDim())) << text;
      if (auto scatter = mlir::dyn_cast<stablehlo::ReduceScatterOp>(op))
        EXPECT_TRUE(outermost(scatter.getScatterDimension())) << text;
      if (auto exchange = mlir::dyn_cast<stablehlo::AllToAllOp>(op)) {
        EXPECT_TRUE(outermost(exchange.getSplitDimension())) << text;
        EXPECT_EQ(exchange.getSplitDimension(), exchange.getConcatDimension()) << text;
      }
    });
  }

  /// Evaluates a function @main, rewrites it, evaluates it again. Returns how many collectives were
  /// written in another form.
  void check(const std::string &main) {
    const std::string text =
        concat("module attributes {mhlo.num_partitions = ", grid.partitions,
               " : i32, mhlo.num_replicas = ", grid.replicas, " : i32} {\n", main, "}\n");
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    const std::vector<RuntimeValues> expected = evaluate(*module, seed);
    mlir::PassManager passes(&context);
    DeviceFormsPassOptions options;
    options.always = true;
    passes.nest<mlir::func::FuncOp>().addPass(createDeviceFormsPass(options));
    ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << text;
    expectKnown(*module, text);
    const std::vector<RuntimeValues> actual = evaluate(*module, seed++);
    ASSERT_EQ(actual.size(), expected.size()) << text;
    for (size_t rank = 0; rank < expected.size(); ++rank)
      for (size_t i = 0; i < expected[rank].size(); ++i) {
        const Status status =
            interpret::expectEqual(actual[rank][i].tensor(), expected[rank][i].tensor());
        ASSERT_TRUE(status.isOk())
            << status.toString() << "\nresult " << i << " of rank " << rank << "\n"
            << text;
      }
  }

  static std::string reduction(const char *name, const std::string &operation,
                               const std::string &element, const std::string &in,
                               const std::string &out, const char *groups,
                               const std::string &attributes = "") {
    return concat("func.func @main(%a: tensor<", in, ">) -> tensor<", out,
                  "> {\n  %r = \"stablehlo.", name, "\"(%a) <{replica_groups = ", groups,
                  attributes,
                  ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
                  "use_global_device_ids}> ({\n  ^bb0(%x: tensor<",
                  element, ">, %y: tensor<", element, ">):\n", operation,
                  "    stablehlo.return %s : tensor<", element, ">\n  }) : (tensor<", in,
                  ">) -> tensor<", out, ">\n  return %r : tensor<", out, ">\n}\n");
  }

  static std::string single(const char *op, const std::string &element) {
    return concat("    %s = stablehlo.", op, " %x, %y : tensor<", element, ">\n");
  }

  mlir::MLIRContext context;
  interpret::RankGrid grid = {1, 4};
  unsigned seed = 1;
};

TEST_F(DeviceForms, ReducesEveryTypeByEveryOperation) {
  int count = 0;
  for (size_t i = 0; i < numerics::elementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (type == ElementType::tf32) // not a type of StableHLO
      continue;
    const bool isInteger = numerics::isInteger(type) || type == ElementType::pred;
    const std::string element(numerics::spelling(type));
    for (const char *op : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
      const bool isBitwise = std::string_view("and or xor").find(op) != std::string_view::npos;
      if ((isBitwise && !isInteger) ||
          (numerics::isComplex(type) && std::string_view(op).starts_with("m") &&
           std::string_view(op) != "multiply"))
        continue;
      for (const char *groups : {all, pairs}) {
        SCOPED_TRACE(concat(op, " of ", element));
        check(reduction("all_reduce", single(op, element), element, concat("5x3x", element),
                        concat("5x3x", element), groups));
        const int64_t part = groups == all ? 2 : 4;
        check(reduction("reduce_scatter", single(op, element), element, concat("3x8x", element),
                        concat("3x", part, "x", element), groups, ", scatter_dimension = 1 : i64"));
        count += 2;
        if (HasFatalFailure())
          return;
      }
    }
  }
  EXPECT_GT(count, 400);
}

TEST_F(DeviceForms, ConvertsTheOperandsOfAReductionInAWiderTypeFirst) {
  for (const auto &[narrow, wide] : {std::pair("i8", "i32"), std::pair("i16", "i32"),
                                     std::pair("i4", "i16"), std::pair("bf16", "f32")})
    for (const char *op : {"add", "maximum"}) {
      SCOPED_TRACE(concat(op, " of ", narrow, " in ", wide));
      check(reduction("all_reduce", single(op, wide), wide, concat("5x3x", narrow),
                      concat("5x3x", wide), all));
      check(reduction("reduce_scatter", single(op, wide), wide, concat("3x8x", narrow),
                      concat("3x2x", wide), all, ", scatter_dimension = 1 : i64"));
    }
}

TEST_F(DeviceForms, CombinesFunctionsInTheOrderOfTheGroup) {
  const std::string function =
      "    %c = stablehlo.constant dense<10.0> : tensor<f32>\n"
      "    %t = stablehlo.multiply %x, %c : tensor<f32>\n"
      "    %p = stablehlo.compare LT, %y, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    %z = stablehlo.select %p, %y, %c : tensor<i1>, tensor<f32>\n"
      "    %s = stablehlo.add %t, %z : tensor<f32>\n";
  for (const char *groups : {all, pairs}) {
    check(reduction("all_reduce", function, "f32", "7xf32", "7xf32", groups));
    check(reduction("reduce_scatter", function, "f32", "8x2xf32",
                    groups == all ? "2x2xf32" : "4x2xf32", groups,
                    ", scatter_dimension = 0 : i64"));
  }
  // A function that returns one of its arguments, and one that returns a constant.
  check(reduction("all_reduce", "    %s = stablehlo.subtract %y, %x : tensor<f32>\n", "f32", "f32",
                  "f32", all));
  check(reduction("all_reduce", "    %s = stablehlo.constant dense<2.0> : tensor<f32>\n", "f32",
                  "3xf32", "3xf32", all));
}

TEST_F(DeviceForms, GathersAlongEveryDimension) {
  for (const char *element : {"f32", "i1", "complex<f32>", "i4"})
    for (int64_t dimension : {0, 1, 2}) {
      std::vector<int64_t> out = {2, 3, 5};
      out[static_cast<size_t>(dimension)] *= 2;
      const std::string type =
          concat("tensor<", out[0], "x", out[1], "x", out[2], "x", element, ">");
      check(concat("func.func @main(%a: tensor<2x3x5x", element, ">, %b: tensor<2x3x5x", element,
                   ">) -> (", type, ", ", type,
                   ") {\n  %r:2 = \"stablehlo.all_gather\"(%a, %b) "
                   "<{all_gather_dim = ",
                   dimension, " : i64, replica_groups = ", pairs,
                   ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
                   "use_global_device_ids}> : (tensor<2x3x5x",
                   element, ">, tensor<2x3x5x", element, ">) -> (", type, ", ", type,
                   ")\n  return %r#0, %r#1 : ", type, ", ", type, "\n}\n"));
    }
}

TEST_F(DeviceForms, ExchangesBetweenAllDimensions) {
  for (const char *element : {"f32", "i1"})
    for (int64_t split : {0, 1, 2})
      for (int64_t concatenate : {0, 1, 2}) {
        std::vector<int64_t> out = {4, 8, 12};
        out[static_cast<size_t>(split)] /= 4;
        out[static_cast<size_t>(concatenate)] *= 4;
        const std::string type =
            concat("tensor<", out[0], "x", out[1], "x", out[2], "x", element, ">");
        check(concat("func.func @main(%a: tensor<4x8x12x", element, ">) -> ", type,
                     " {\n  %r = \"stablehlo.all_to_all\"(%a) <{split_dimension = ", split,
                     " : i64, concat_dimension = ", concatenate,
                     " : i64, split_count = 4 : i64, replica_groups = ", all,
                     ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : "
                     "(tensor<4x8x12x",
                     element, ">) -> ", type, "\n  return %r : ", type, "\n}\n"));
      }
}

/// Without a channel, groups are of replicas; all_to_all has no use_global_device_ids.
TEST_F(DeviceForms, ReplicasAreGroupsToo) {
  grid = {4, 1};
  for (const char *op : {"and", "add"})
    check(
        concat("func.func @main(%a: tensor<8xi16>) -> tensor<4xi16> {\n  %r = "
               "\"stablehlo.reduce_scatter\"(%a) <{scatter_dimension = 0 : i64, replica_groups = ",
               pairs, "}> ({\n  ^bb0(%x: tensor<i16>, %y: tensor<i16>):\n", single(op, "i16"),
               "    stablehlo.return %s : tensor<i16>\n  }) : (tensor<8xi16>) -> tensor<4xi16>\n"
               "  return %r : tensor<4xi16>\n}\n"));
}

/// Several tensors stay one collective, which the engine queues as a group.
TEST_F(DeviceForms, KeepsBuckets) {
  check(
      "func.func @main(%a: tensor<3xi1>, %b: tensor<2x2xi1>) -> (tensor<3xi1>, tensor<2x2xi1>) {\n"
      "  %r:2 = \"stablehlo.all_reduce\"(%a, %b) <{replica_groups = dense<[[0, 1, 2, 3]]> : "
      "tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
      "use_global_device_ids}> ({\n  ^bb0(%x: tensor<i1>, %y: tensor<i1>):\n"
      "    %s = stablehlo.xor %x, %y : tensor<i1>\n    stablehlo.return %s : tensor<i1>\n"
      "  }) : (tensor<3xi1>, tensor<2x2xi1>) -> (tensor<3xi1>, tensor<2x2xi1>)\n"
      "  return %r#0, %r#1 : tensor<3xi1>, tensor<2x2xi1>\n}\n");
}

} // namespace
} // namespace tilewright::communicate
