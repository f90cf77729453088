// Random products beside collectives, evaluated on all ranks before and after they are divided.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/interpret/Checks.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/communicate/Passes.h"
#include "tilewright/transform/communicate/testing/EveryRank.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <tuple>

namespace tilewright::communicate {
namespace {

using interpret::RuntimeValues;

constexpr int ranks = 4;

std::string typeOf(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += concat(size, "x");
  return text + "i32>";
}

/// One product of integers, whose sums are exact in every order, beside one or two collectives.
class Product {
public:
  explicit Product(unsigned seed) : random(seed) {
    isOfPartitions = draw(3) != 0;
    static const std::vector<std::pair<int64_t, const char *>> choices = {
        {2, "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"},
        {2, "dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>"},
        {2, "dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>"},
        {4, "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"},
        {4, "dense<[[2, 0, 3, 1]]> : tensor<1x4xi64>"},
    };
    std::tie(members, groups) = choices[draw(choices.size())];
    // Dimensions of the operands: batches, free ones, sums, in any order.
    const bool hasBatch = draw(2) == 0;
    const unsigned lhsFree = draw(3), rhsFree = draw(3), sums = 1 + draw(2);
    int64_t next = 0;
    auto dim = [&] { return std::pair<int64_t, int64_t>(next++, members * (1 + draw(2))); };
    std::vector<std::pair<int64_t, int64_t>> batch, left, right, summed;
    if (hasBatch)
      batch.push_back(dim());
    for (unsigned i = 0; i < lhsFree; ++i)
      left.push_back(dim());
    for (unsigned i = 0; i < rhsFree; ++i)
      right.push_back(dim());
    for (unsigned i = 0; i < sums; ++i)
      summed.push_back(dim());
    lhs = shuffled({batch, left, summed});
    rhs = shuffled({batch, right, summed});
    auto listed = [](const Operand &operand, const std::vector<std::pair<int64_t, int64_t>> &dims) {
      std::string text;
      for (auto [name, size] : dims)
        for (size_t at = 0; at < operand.names.size(); ++at)
          if (operand.names[at] == name)
            text += concat(text.empty() ? "" : ", ", at);
      return concat("[", text, "]");
    };
    numbers = concat(
        hasBatch ? concat("batching_dims = ", listed(lhs, batch), " x ", listed(rhs, batch), ", ")
                 : std::string(),
        "contracting_dims = ", listed(lhs, summed), " x ", listed(rhs, summed));
    for (auto [name, size] : batch)
      result.push_back(size);
    // Free dimensions keep the order of their operand.
    for (const Operand *operand : {&lhs, &rhs})
      for (size_t at = 0; at < operand->names.size(); ++at)
        for (const auto *dims : {operand == &lhs ? &left : &right})
          for (auto [name, size] : *dims)
            if (operand->names[at] == name)
              result.push_back(size);
  }

  /// The product of a gathered operand.
  std::string gathered() {
    const bool isLhs = draw(2) == 0;
    const std::vector<int64_t> whole = isLhs ? lhs.sizes : rhs.sizes;
    const size_t dim = draw(whole.size());
    std::vector<int64_t> own = whole;
    own[dim] /= members;
    const std::string gather =
        concat("  %g = \"stablehlo.all_gather\"(%", isLhs ? "a" : "b", ") <{all_gather_dim = ", dim,
               " : i64, ", attributes(), "}> : (", typeOf(own), ") -> ", typeOf(whole), "\n");
    return program(isLhs ? own : lhs.sizes, isLhs ? rhs.sizes : own,
                   gather + dot("%y", isLhs ? "%g" : "%a", isLhs ? "%b" : "%g"), "%y", result);
  }

  /// A product that is summed over the ranks, and scattered if it has dimensions.
  std::string summed() {
    const bool isScattered = !result.empty() && draw(2) == 0;
    std::vector<int64_t> shape = result;
    std::string text = dot("%y", "%a", "%b"), value = "%y";
    if (draw(2) == 0 && !shape.empty()) {
      std::vector<int64_t> order(shape.size()), moved;
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      std::string list;
      for (int64_t dim : order) {
        moved.push_back(shape[static_cast<size_t>(dim)]);
        list += concat(list.empty() ? "" : ", ", dim);
      }
      text += concat("  %t = stablehlo.transpose %y, dims = [", list, "] : (", typeOf(shape),
                     ") -> ", typeOf(moved), "\n");
      shape = moved;
      value = "%t";
    }
    if (draw(2) == 0) {
      text += concat("  %two = stablehlo.constant dense<2> : ", typeOf(shape),
                     "\n  %m = stablehlo.multiply ", value, ", %two : ", typeOf(shape), "\n");
      value = "%m";
    }
    const std::string combiner = draw(4) == 0 ? "maximum" : "add";
    std::vector<int64_t> part = shape;
    std::string scatter;
    if (isScattered) {
      const size_t dim = draw(shape.size());
      part[dim] /= members;
      scatter = concat("scatter_dimension = ", dim, " : i64, ");
    }
    text += concat("  %r = \"stablehlo.", isScattered ? "reduce_scatter" : "all_reduce", "\"(",
                   value, ") <{", scatter, attributes(),
                   "}> ({\n^bb0(%p: tensor<i32>, %q: tensor<i32>):\n  %z = stablehlo.", combiner,
                   " %p, %q : tensor<i32>\n  stablehlo.return %z : tensor<i32>\n}) : (",
                   typeOf(shape), ") -> ", typeOf(part), "\n");
    return program(lhs.sizes, rhs.sizes, text, "%r", part);
  }

  bool isOfPartitions;

private:
  struct Operand {
    std::vector<int64_t> names, sizes;
  };
  using Dims = std::vector<std::pair<int64_t, int64_t>>;

  unsigned draw(size_t below) { return static_cast<unsigned>(random() % below); }

  Operand shuffled(const std::vector<Dims> &parts) {
    Dims all;
    for (const Dims &part : parts)
      all.insert(all.end(), part.begin(), part.end());
    std::shuffle(all.begin(), all.end(), random);
    Operand operand;
    for (auto [name, size] : all) {
      operand.names.push_back(name);
      operand.sizes.push_back(size);
    }
    return operand;
  }
  std::string attributes() const {
    return concat("replica_groups = ", groups,
                  isOfPartitions ? ", channel_handle = #stablehlo.channel_handle<handle = 1, type "
                                   "= 1>, use_global_device_ids"
                                 : "");
  }
  std::string dot(const std::string &into, const std::string &a, const std::string &b) const {
    return concat("  ", into, " = stablehlo.dot_general ", a, ", ", b, ", ", numbers, " : (",
                  typeOf(lhs.sizes), ", ", typeOf(rhs.sizes), ") -> ", typeOf(result), "\n");
  }
  std::string program(const std::vector<int64_t> &a, const std::vector<int64_t> &b,
                      const std::string &body, const std::string &value,
                      const std::vector<int64_t> &shape) const {
    return concat("module attributes {mhlo.num_", isOfPartitions ? "partitions" : "replicas", " = ",
                  ranks, " : i32} {\nfunc.func @main(%a: ", typeOf(a), ", %b: ", typeOf(b), ") -> ",
                  typeOf(shape), " {\n", body, "  return ", value, " : ", typeOf(shape),
                  "\n}\n}\n");
  }

  std::mt19937 random;
  int64_t members = 0;
  std::string groups, numbers;
  Operand lhs, rhs;
  std::vector<int64_t> result;
};

class Window : public ::testing::Test {
protected:
  Window() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<stablehlo::StablehloDialect, mlir::func::FuncDialect, exec::ExecDialect,
                        mlir::quant::QuantDialect>();
  }

  std::vector<RuntimeValues> evaluate(mlir::ModuleOp module, bool isOfPartitions) {
    const interpret::RankGrid grid =
        isOfPartitions ? interpret::RankGrid{1, ranks} : interpret::RankGrid{ranks, 1};
    return evaluateOnEveryRank(module, grid, 7, [](mlir::Type type, std::mt19937 &random) {
      return smallIntegers(type, random, 4);
    });
  }

  /// Returns the number of windows.
  size_t expectSame(const std::string &text, bool isOfPartitions) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return 0;
    const std::vector<RuntimeValues> expected = evaluate(*module, isOfPartitions);
    mlir::PassManager passes(&context);
    passes.addNestedPass<mlir::func::FuncOp>(createWindowProductsPass({.always = true}));
    EXPECT_TRUE(mlir::succeeded(passes.run(*module))) << text;
    size_t products = 0;
    module->walk([&](stablehlo::DotGeneralOp) { ++products; });
    const std::vector<RuntimeValues> actual = evaluate(*module, isOfPartitions);
    EXPECT_EQ(actual.size(), expected.size()) << text;
    for (size_t rank = 0; rank < std::min(actual.size(), expected.size()); ++rank)
      EXPECT_TRUE(
          interpret::expectClose(actual[rank][0].tensor(), expected[rank][0].tensor(), 0).isOk())
          << "rank " << rank << "\n"
          << text;
    return products > 1;
  }

  mlir::MLIRContext context;
};

TEST_F(Window, RandomGatheredProductsKeepTheirValues) {
  size_t windows = 0;
  for (unsigned seed = 0; seed < 120 && !HasFailure(); ++seed) {
    Product product(seed);
    windows += expectSame(product.gathered(), product.isOfPartitions);
  }
  EXPECT_EQ(windows, 120u);
}

TEST_F(Window, RandomSummedProductsKeepTheirValues) {
  size_t windows = 0;
  for (unsigned seed = 0; seed < 120 && !HasFailure(); ++seed) {
    Product product(seed);
    windows += expectSame(product.summed(), product.isOfPartitions);
  }
  // A product without dimensions has no parts.
  EXPECT_GE(windows, 100u);
}

} // namespace
} // namespace tilewright::communicate
