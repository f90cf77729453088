// Random programs of several ranks, evaluated on all ranks before and after the stage.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/interpret/Checks.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/communicate/Passes.h"
#include "tilewright/transform/communicate/testing/EveryRank.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::communicate {
namespace {

using interpret::RuntimeValues;

constexpr int ranks = 4;

/// Writes programs on vectors of 8 integers, whose sums are exact in every order.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string program() {
    values = {"%a", "%b", "%c"};
    const std::string body = block("  ", 4 + draw(14), /*depth=*/0);
    std::string results = pick(), types = "tensor<8xi32>";
    for (unsigned i = 0; i < 3; ++i) {
      results += ", " + pick();
      types += ", tensor<8xi32>";
    }
    return concat("module attributes {mhlo.num_partitions = ", ranks,
                  " : i32} {\nfunc.func @main(%a: tensor<8xi32>, %b: tensor<8xi32>, %c: "
                  "tensor<8xi32>, %w: tensor<6x2xi32>) -> (",
                  types, ") {\n", body, "  return ", results, " : ", types, "\n}\n}\n");
  }

private:
  unsigned draw(unsigned below) { return static_cast<unsigned>(random() % below); }
  std::string pick() { return values[draw(static_cast<unsigned>(values.size()))]; }
  std::string fresh() { return concat("%v", next++); }
  std::string groups() {
    switch (draw(3)) {
    case 0:
      return "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>";
    case 1:
      return "replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>";
    default:
      return "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>";
    }
  }
  std::string channel() {
    return concat("channel_handle = #stablehlo.channel_handle<handle = ", ++channels,
                  ", type = 1>, use_global_device_ids");
  }
  static std::string reducer(const std::string &op) {
    return concat("({\n^bb0(%lhs: tensor<i32>, %rhs: tensor<i32>):\n  %both = stablehlo.", op,
                  " %lhs, %rhs : tensor<i32>\n  stablehlo.return %both : tensor<i32>\n})");
  }

  std::string reduce(const std::string &result, const std::string &value) {
    const std::string op = draw(3) == 0 ? "maximum" : "add";
    return concat(result, " = \"stablehlo.all_reduce\"(", value, ") <{", groups(), ", ", channel(),
                  "}> ", reducer(op), " : (tensor<8xi32>) -> tensor<8xi32>\n");
  }
  /// Scatters the sum among four ranks, and gathers it again, or takes a part of it.
  std::string scatter(const std::string &result, const std::string &value) {
    const std::string part = fresh(),
                      all = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>";
    return concat(part, " = \"stablehlo.reduce_scatter\"(", value, ") <{", all,
                  ", scatter_dimension = 0 : i64, ", channel(), "}> ", reducer("add"),
                  " : (tensor<8xi32>) -> tensor<2xi32>\n", result, " = \"stablehlo.all_gather\"(",
                  part, ") <{all_gather_dim = 0 : i64, ", all, ", ", channel(),
                  "}> : (tensor<2xi32>) -> tensor<8xi32>\n");
  }
  std::string permute(const std::string &result, const std::string &value) {
    return concat(result, " = \"stablehlo.collective_permute\"(", value,
                  ") <{source_target_pairs = dense<[[0, 1], [1, 3], [2, 0]]> : tensor<3x2xi64>, "
                  "channel_handle = #stablehlo.channel_handle<handle = ",
                  ++channels, ", type = 1>}> : (tensor<8xi32>) -> tensor<8xi32>\n");
  }
  std::string arithmetic(const std::string &result) {
    static constexpr const char *ops[] = {"add", "subtract", "maximum", "minimum", "multiply"};
    const std::string left = pick(), right = pick();
    return concat(result, " = stablehlo.", ops[draw(5)], " ", left, ", ", right,
                  " : tensor<8xi32>\n");
  }

  /// The row of an iteration: min(5, i), 5 - i, or (i + rank) % 6.
  static std::string position(const std::string &at, const std::string &i, unsigned order) {
    if (order < 2)
      return concat(at, " = stablehlo.", order == 0 ? "minimum " : "subtract ", at, "five, ", i,
                    " : tensor<i32>\n");
    return concat(at, "id = stablehlo.partition_id : tensor<ui32>\n", at,
                  "rank = stablehlo.convert ", at, "id : (tensor<ui32>) -> tensor<i32>\n", at,
                  "next = stablehlo.add ", i, ", ", at, "rank : tensor<i32>\n", at,
                  "six = stablehlo.constant dense<6> : tensor<i32>\n", at,
                  " = stablehlo.remainder ", at, "next, ", at, "six : tensor<i32>\n");
  }

  /// A loop that gathers a row of %w, accumulates sums and stores others.
  std::string loop(const std::string &result, unsigned depth) {
    const std::vector<std::string> outer = values;
    const std::string i = fresh(), state = fresh(), sum = fresh(), stack = fresh(), all = fresh();
    const std::string zero = fresh(), empty = fresh(), more = fresh(), last = fresh(), j = fresh();
    const std::string at = fresh(), row = fresh(), flat = fresh(), gathered = fresh();
    const std::string reduced = fresh(), total = fresh(), small = fresh(), line = fresh(),
                      kept = fresh(), col = fresh(), head = fresh();
    values.push_back(state);
    values.push_back(gathered);
    const std::string inner = block("    ", 1 + draw(4), depth + 1);
    const std::string carried = pick(), summed = pick(), stored = pick();
    values = outer;
    const std::string init = pick(), start = pick();
    // Rows are stored forwards, backwards, or by each rank in an order of its own.
    const unsigned order = draw(3);
    const std::string types = "tensor<i32>, tensor<8xi32>, tensor<8xi32>, tensor<6x8xi32>";
    std::string text = concat(
        zero, " = stablehlo.constant dense<0> : tensor<i32>\n", empty,
        " = stablehlo.constant dense<0> : tensor<6x8xi32>\n", all, ":4 = stablehlo.while(", i,
        " = ", zero, ", ", state, " = ", init, ", ", sum, " = ", start, ", ", stack, " = ", empty,
        ") : ", types, " attributes {exec.trip_count = 6 : i64}\ncond {\n", last,
        " = stablehlo.constant dense<6> : tensor<i32>\n", more, " = stablehlo.compare LT, ", i,
        ", ", last, " : (tensor<i32>, tensor<i32>) -> tensor<i1>\nstablehlo.return ", more,
        " : tensor<i1>\n} do {\n");
    text += concat(at, "one = stablehlo.constant dense<1> : tensor<i32>\n", j, " = stablehlo.add ",
                   i, ", ", at, "one : tensor<i32>\n", at,
                   "five = stablehlo.constant dense<5> : tensor<i32>\n", position(at, i, order),
                   col, " = stablehlo.constant dense<0> : tensor<i32>\n", row,
                   " = stablehlo.dynamic_slice %w, ", at, ", ", col,
                   ", sizes = [1, 2] : (tensor<6x2xi32>, tensor<i32>, tensor<i32>) -> "
                   "tensor<1x2xi32>\n",
                   flat, " = stablehlo.reshape ", row, " : (tensor<1x2xi32>) -> tensor<2xi32>\n",
                   gathered, " = \"stablehlo.all_gather\"(", flat,
                   ") <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : "
                   "tensor<1x4xi64>, ",
                   channel(), "}> : (tensor<2xi32>) -> tensor<8xi32>\n", inner);
    text += concat(reduce(reduced, summed), total, " = stablehlo.add ", sum, ", ", reduced,
                   " : tensor<8xi32>\n", reduce(small, stored), line, " = stablehlo.reshape ",
                   small, " : (tensor<8xi32>) -> tensor<1x8xi32>\n", kept,
                   " = stablehlo.dynamic_update_slice ", stack, ", ", line, ", ", at, ", ", col,
                   " : (tensor<6x8xi32>, tensor<1x8xi32>, tensor<i32>, tensor<i32>) -> "
                   "tensor<6x8xi32>\nstablehlo.return ",
                   j, ", ", carried, ", ", total, ", ", kept, " : ", types, "\n}\n");
    // All of the stack matters, and so does the order of its rows.
    text += concat(head, "z = stablehlo.constant dense<0> : tensor<i32>\n", head,
                   "n = stablehlo.iota dim = 0 : tensor<6x8xi32>\n", head,
                   "m = stablehlo.multiply ", all, "#3, ", head, "n : tensor<6x8xi32>\n", head,
                   " = stablehlo.reduce(", head, "m init: ", head,
                   "z) applies stablehlo.add across dimensions = [0] : (tensor<6x8xi32>, "
                   "tensor<i32>) -> tensor<8xi32>\n",
                   result, "s = stablehlo.subtract ", head, ", ", all, "#1 : tensor<8xi32>\n",
                   result, " = stablehlo.add ", result, "s, ", all, "#2 : tensor<8xi32>\n");
    return text;
  }

  std::string block(const std::string &indent, unsigned count, unsigned depth) {
    std::string text;
    for (unsigned n = 0; n < count; ++n) {
      const std::string result = fresh(), value = pick();
      switch (draw(depth < 1 ? 9 : 7)) {
      case 0:
      case 1:
      case 2:
        text += indent + reduce(result, value);
        break;
      case 3:
        text += indent + scatter(result, value);
        break;
      case 4:
        text += indent + permute(result, value);
        break;
      case 7:
        text += indent + loop(result, depth);
        break;
      default:
        text += indent + arithmetic(result);
      }
      values.push_back(result);
    }
    return text;
  }

  std::mt19937 random;
  std::vector<std::string> values;
  unsigned next = 0, channels = 0;
};

class Communicate : public ::testing::Test {
protected:
  Communicate() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<stablehlo::StablehloDialect, mlir::func::FuncDialect, exec::ExecDialect,
                        mlir::quant::QuantDialect>();
  }

  std::vector<RuntimeValues> evaluate(mlir::ModuleOp module, unsigned seed) {
    return evaluateOnEveryRank(module, {1, ranks}, seed, [](mlir::Type type, std::mt19937 &random) {
      return smallIntegers(type, random, 3);
    });
  }

  mlir::MLIRContext context;
};

size_t countCollectives(mlir::ModuleOp module) {
  size_t count = 0;
  module.walk([&](mlir::Operation *op) { count += op->hasAttr("replica_groups"); });
  return count;
}

TEST_F(Communicate, RandomProgramsKeepTheirMeaningOnEveryRank) {
  size_t before = 0, after = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const std::string text = Generator(seed).program();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    const std::vector<RuntimeValues> expected = evaluate(*module, seed);
    before += countCollectives(*module);
    CommunicateOptions options;
    options.combineBytes = seed % 4 == 0 ? -1 : seed % 4 * 40;
    mlir::PassManager passes(&context);
    buildCommunicatePipeline(passes, options);
    ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << "seed " << seed << "\n" << text;
    after += countCollectives(*module);
    const std::vector<RuntimeValues> actual = evaluate(*module, seed);
    ASSERT_EQ(actual.size(), expected.size()) << "seed " << seed << "\n" << text;
    for (size_t rank = 0; rank < expected.size(); ++rank)
      for (size_t i = 0; i < expected[rank].size(); ++i)
        ASSERT_TRUE(
            interpret::expectClose(actual[rank][i].tensor(), expected[rank][i].tensor(), 0).isOk())
            << "result " << i << " of rank " << rank << ", seed " << seed << "\n"
            << text;
  }
  EXPECT_LT(after, before);
}

} // namespace
} // namespace tilewright::communicate
