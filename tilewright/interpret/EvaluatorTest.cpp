#include "tilewright/interpret/Evaluator.h"

#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/kernels/testing/Tensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace tilewright;
using namespace tilewright::interpret;
using testing::AllOf;
using testing::HasSubstr;

namespace {
/// Parses a module and runs @main of it.
class Evaluator : public testing::Test {
protected:
  Evaluator() {
    context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, sdy::SdyDialect,
                        exec::ExecDialect>();
  }

  mlir::ModuleOp parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
    EXPECT_TRUE(module);
    return *module;
  }
  Result<RuntimeValues> run(llvm::StringRef text, RuntimeValues inputs = {},
                            const InterpretOptions &options = {}) {
    return evaluate(parse(text), "main", std::move(inputs), options);
  }
  /// The first result as text, or the failure.
  std::string show(llvm::StringRef text, RuntimeValues inputs = {}) {
    Result<RuntimeValues> results = run(text, std::move(inputs));
    return results.isOk() ? results->front().tensor().toString()
                          : std::move(results).takeStatus().toString();
  }
  /// The first result of every rank as text, or the failure.
  std::vector<std::string> showRanks(llvm::StringRef text, RankGrid grid,
                                     const std::vector<Tensor> &inputs) {
    std::vector<RuntimeValues> byRank;
    for (const Tensor &input : inputs)
      byRank.push_back({input});
    Result<std::vector<RuntimeValues>> results =
        evaluateRanks(parse(text), "main", grid, std::move(byRank));
    if (!results.isOk())
      return {std::move(results).takeStatus().toString()};
    std::vector<std::string> shown;
    for (const RuntimeValues &values : *results)
      shown.push_back(values.front().tensor().toString());
    return shown;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

constexpr ElementType f32 = ElementType::f32;
constexpr ElementType i32 = ElementType::i32;
} // namespace

TEST_F(Evaluator, EveryOpOfTheDialectHasAHandler) {
  std::vector<std::string> missing;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "stablehlo" &&
        !name.hasTrait<mlir::OpTrait::IsTerminator>() && !isEvaluated(name.getStringRef()))
      missing.push_back(name.getStringRef().str());
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST_F(Evaluator, RunsStraightLineCode) {
  EXPECT_EQ(show(R"(
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %0 = stablehlo.add %x, %c : tensor<3xf32>
      %1 = stablehlo.multiply %0, %0 : tensor<3xf32>
      return %1 : tensor<3xf32>
    })",
                 {tensorOf(f32, {3}, {1, 1, 1})}),
            "[4, 9, 16]");
}

TEST_F(Evaluator, ConstantsOfEveryLayout) {
  EXPECT_EQ(show(R"(func.func @main() -> tensor<9xi1> {
      %c = stablehlo.constant dense<[true, false, true, true, false, false, false, false, true]> : tensor<9xi1>
      return %c : tensor<9xi1> })"),
            "[true, false, true, true, false, false, false, false, true]");
  EXPECT_EQ(show(R"(func.func @main() -> tensor<2xi1> {
      %c = stablehlo.constant dense<true> : tensor<2xi1>
      return %c : tensor<2xi1> })"),
            "[true, true]");
  EXPECT_EQ(show(R"(func.func @main() -> tensor<2xi4> {
      %c = stablehlo.constant dense<[-1, 7]> : tensor<2xi4>
      return %c : tensor<2xi4> })"),
            "[-1, 7]");
  EXPECT_EQ(show(R"(func.func @main() -> tensor<2xcomplex<f32>> {
      %c = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
      return %c : tensor<2xcomplex<f32>> })"),
            "[(1, 2), (3, 4)]");
  EXPECT_EQ(show(R"(func.func @main() -> tensor<2xf8E4M3FN> {
      %c = stablehlo.constant dense<[1.5, -448.0]> : tensor<2xf8E4M3FN>
      return %c : tensor<2xf8E4M3FN> })"),
            "[1.5, -448]");
}

TEST_F(Evaluator, WhileUpdatesInPlaceAndEnds) {
  InterpretOptions options;
  // At most two copies of the tensor: the loop must not keep old states alive.
  options.maxBytes = 9000;
  Result<RuntimeValues> results = run(R"(
    func.func @main() -> tensor<1000xi32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %limit = stablehlo.constant dense<1000> : tensor<i32>
      %start = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<i32>) -> tensor<1000xi32>
      %r:2 = "stablehlo.while"(%zero, %start) ({
      ^bb0(%i: tensor<i32>, %state: tensor<1000xi32>):
        %c = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }, {
      ^bb0(%i: tensor<i32>, %state: tensor<1000xi32>):
        %square = stablehlo.multiply %i, %i : tensor<i32>
        %update = stablehlo.reshape %square : (tensor<i32>) -> tensor<1xi32>
        %next = stablehlo.dynamic_update_slice %state, %update, %i
            : (tensor<1000xi32>, tensor<1xi32>, tensor<i32>) -> tensor<1000xi32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %next : tensor<i32>, tensor<1000xi32>
      }) : (tensor<i32>, tensor<1000xi32>) -> (tensor<i32>, tensor<1000xi32>)
      return %r#1 : tensor<1000xi32>
    })",
                                      {}, options);
  ASSERT_TRUE(results.isOk()) << std::move(results).takeStatus().toString();
  EXPECT_EQ(results->front().tensor().at(999).i, 998001);
}

TEST_F(Evaluator, IfAndCaseChooseABranch) {
  const char *text = R"(
    func.func @main(%i: tensor<i32>) -> tensor<i32> {
      %a = stablehlo.constant dense<10> : tensor<i32>
      %b = stablehlo.constant dense<20> : tensor<i32>
      %0 = "stablehlo.case"(%i) ({
        stablehlo.return %a : tensor<i32>
      }, {
        stablehlo.return %b : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %p = stablehlo.compare EQ, %0, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %1 = "stablehlo.if"(%p) ({
        stablehlo.return %i : tensor<i32>
      }, {
        %n = stablehlo.negate %0 : tensor<i32>
        stablehlo.return %n : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      return %1 : tensor<i32>
    })";
  EXPECT_EQ(show(text, {tensorOf(i32, {}, {0})}), "0");
  EXPECT_EQ(show(text, {tensorOf(i32, {}, {1})}), "-20");
  EXPECT_EQ(show(text, {tensorOf(i32, {}, {-7})}), "-20"); // out of range: the last branch
}

TEST_F(Evaluator, CallsTuplesTokensAndComposites) {
  EXPECT_EQ(show(R"(
    func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %x, %x : tensor<f32>
      return %0 : tensor<f32>
    }
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = call @twice(%x) : (tensor<f32>) -> tensor<f32>
      %t = stablehlo.tuple %0, %x : tuple<tensor<f32>, tensor<f32>>
      %1 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
      %k = stablehlo.create_token : !stablehlo.token
      %2 = "stablehlo.composite"(%1) <{name = "my.twice", decomposition = @twice}> : (tensor<f32>) -> tensor<f32>
      %3, %4 = stablehlo.optimization_barrier %2, %x : tensor<f32>, tensor<f32>
      return %3 : tensor<f32>
    })",
                 {tensorOf(f32, {}, {3})}),
            "12");
}

TEST_F(Evaluator, ReductionBodiesMayCaptureCallAndLoop) {
  // A body of a single op, one that calls and captures, and one that cannot become a register
  // program because it has a region.
  const char *text = R"(
    func.func private @f(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
      %0 = stablehlo.maximum %a, %b : tensor<i32>
      return %0 : tensor<i32>
    }
    func.func @main(%x: tensor<2x3xi32>, %k: tensor<i32>) -> (tensor<2xi32>, tensor<3xi32>, tensor<i32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
      %1 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = func.call @f(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %t = stablehlo.minimum %s, %k : tensor<i32>
        stablehlo.return %t : tensor<i32>
      }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<3xi32>
      %2 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0, 1>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %s = "stablehlo.if"(%p) ({
          stablehlo.return %b : tensor<i32>
        }, {
          stablehlo.return %a : tensor<i32>
        }) : (tensor<i1>) -> tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<i32>
      return %0, %1, %2 : tensor<2xi32>, tensor<3xi32>, tensor<i32>
    })";
  Result<RuntimeValues> results =
      run(text, {tensorOf(i32, {2, 3}, {1, 2, 3, 4, 5, 6}), tensorOf(i32, {}, {5})});
  ASSERT_TRUE(results.isOk()) << std::move(results).takeStatus().toString();
  EXPECT_EQ((*results)[0].tensor().toString(), "[6, 15]");
  EXPECT_EQ((*results)[1].tensor().toString(), "[4, 5, 5]");
  EXPECT_EQ((*results)[2].tensor().toString(), "6");
}

TEST_F(Evaluator, DynamicShapesComeFromValues) {
  const char *text = R"(
    func.func @main(%x: tensor<?xf32>, %n: tensor<2xi32>) -> tensor<?x?xf32> {
      %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1]
          : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    })";
  EXPECT_EQ(show(text, {tensorOf(f32, {2}, {1, 2}), tensorOf(i32, {2}, {2, 2})}),
            "[[1, 2], [1, 2]]");
  Status status = run(text, {tensorOf(f32, {2}, {1, 2}), tensorOf(i32, {2}, {2, 3})}).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("'stablehlo.dynamic_broadcast_in_dim' at test.mlir:3:12"),
                    HasSubstr("got 2 and 3")));
}

TEST_F(Evaluator, ResultsMustFitTheirDeclaredTypes) {
  Status status = run(R"(
    func.func @main(%n: tensor<1xi32>) -> tensor<4xi32> {
      %0 = "stablehlo.dynamic_iota"(%n) <{iota_dimension = 0 : i64}> : (tensor<1xi32>) -> tensor<4xi32>
      return %0 : tensor<4xi32>
    })",
                      {tensorOf(i32, {1}, {3})})
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(),
              HasSubstr("declared tensor<4xi32>, but the computed value is tensor<3xi32>"));
}

TEST_F(Evaluator, InputsMustFitTheFunction) {
  const char *text =
      "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }";
  Status status = run(text, {tensorOf(f32, {3}, {1, 2, 3})}).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretFunction);
  EXPECT_THAT(status.message(), HasSubstr("must be tensor<2xf32>, got tensor<3xf32>"));
  EXPECT_THAT(run(text, {}).takeStatus().message(), HasSubstr("takes 1 inputs, got 0"));
  EXPECT_THAT(evaluate(parse(text), "step", {}).takeStatus().message(),
              HasSubstr("no function named 'step'"));
}

TEST_F(Evaluator, EndlessLoopsAndRecursionStop) {
  InterpretOptions options;
  options.maxSteps = 1000;
  Status endless = run(R"(
    func.func @main(%x: tensor<i32>) -> tensor<i32> {
      %0 = "stablehlo.while"(%x) ({
      ^bb0(%i: tensor<i32>):
        %c = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %c : tensor<i1>
      }, {
      ^bb0(%i: tensor<i32>):
        stablehlo.return %i : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      return %0 : tensor<i32>
    })",
                       {tensorOf(i32, {}, {0})}, options)
                       .takeStatus();
  EXPECT_EQ(endless.error(), Error::interpretSteps);
  Status recursive = run(R"(
    func.func @main(%x: tensor<i32>) -> tensor<i32> {
      %0 = call @main(%x) : (tensor<i32>) -> tensor<i32>
      return %0 : tensor<i32>
    })",
                         {tensorOf(i32, {}, {0})})
                         .takeStatus();
  EXPECT_EQ(recursive.error(), Error::interpretDepth);
  EXPECT_THAT(recursive.message(), HasSubstr("interpret.max-call-depth"));
}

TEST_F(Evaluator, MemoryLimitNamesTheOp) {
  Status status = run(R"(
    func.func @main(%x: tensor<f32>) -> tensor<1000000000000xf32> {
      %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1000000000000xf32>
      return %0 : tensor<1000000000000xf32>
    })",
                      {tensorOf(f32, {}, {1})})
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::interpretBytes);
  EXPECT_THAT(status.message(), HasSubstr("'stablehlo.broadcast_in_dim' at test.mlir:3"));
}

TEST_F(Evaluator, UnknownCustomCallsAreNamedAndCanBeAdded) {
  const char *text = R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.custom_call"(%x) <{call_target_name = "my.identity"}> : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    })";
  Status status = run(text, {tensorOf(f32, {}, {1})}).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretCustomCall);
  EXPECT_THAT(status.message(), HasSubstr("'my.identity'"));

  CustomCalls calls = CustomCalls::standard();
  calls.add("my.identity", [](mlir::Operation *, std::span<const RuntimeValue> inputs, Context &) {
    return Result<RuntimeValues>(RuntimeValues(inputs.begin(), inputs.end()));
  });
  EXPECT_TRUE(evaluate(parse(text), "main", {tensorOf(f32, {}, {1})}, {}, calls).isOk());
}

TEST_F(Evaluator, ChecksReportTheFirstDifference) {
  Status status = run(R"(
    func.func @main() {
      %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %b = stablehlo.constant dense<[1.0, 2.1]> : tensor<2xf32>
      "stablehlo.custom_call"(%a, %b) <{call_target_name = "check.expect_close", has_side_effect = true}>
          : (tensor<2xf32>, tensor<2xf32>) -> ()
      return
    })")
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::interpretCheck);
  EXPECT_THAT(status.message(),
              HasSubstr("1 of 2 elements are not within 3 ulp, the first at [1]"));
}

TEST_F(Evaluator, BrokenShapeAssertionSpeaksWithItsOwnWords) {
  const char *text = R"(
    func.func @main(%x: tensor<?xf32>) {
      %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %least = stablehlo.constant dense<3> : tensor<i32>
      %ok = stablehlo.compare GE, %size, %least : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.custom_call"(%ok, %size, %least) <{call_target_name = "shape_assertion",
          has_side_effect = true}> {error_message = "n is {0}, at least {1}: {0} < {1}"}
          : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
      return
    })";
  EXPECT_TRUE(run(text, {tensorOf(f32, {3}, {1, 2, 3})}).isOk());
  Status status = run(text, {tensorOf(f32, {2}, {1, 2})}).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("n is 2, at least 3: 2 < 3"));
}

TEST_F(Evaluator, UnknownOpsAreNamed) {
  context.allowUnregisteredDialects();
  Status status = run(R"(func.func @main() { "my.op"() : () -> () return })").takeStatus();
  EXPECT_EQ(status.error(), Error::interpretOp);
  EXPECT_THAT(status.message(), HasSubstr("'my.op' at test.mlir:1:21"));
}

//===- Several ranks ------------------------------------------------------===//

TEST_F(Evaluator, AllReduceSumsOverReplicas) {
  const char *text = R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })";
  EXPECT_EQ(showRanks(text, {4, 1},
                      {tensorOf(f32, {2}, {1, 2}), tensorOf(f32, {2}, {10, 20}),
                       tensorOf(f32, {2}, {3, 4}), tensorOf(f32, {2}, {30, 40})}),
            (std::vector<std::string>{"[11, 22]", "[11, 22]", "[33, 44]", "[33, 44]"}));
}

TEST_F(Evaluator, CollectivesMoveWhatTheyShould) {
  auto inputs = [] {
    std::vector<Tensor> tensors;
    for (int rank = 0; rank < 2; ++rank)
      tensors.push_back(tensorOf(i32, {2}, {rank * 10.0, rank * 10.0 + 1}));
    return tensors;
  };
  using Strings = std::vector<std::string>;
  EXPECT_EQ(showRanks(R"(func.func @main(%x: tensor<2xi32>) -> tensor<4xi32> {
      %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<4xi32>
      return %0 : tensor<4xi32> })",
                      {1, 2}, inputs()),
            (Strings{"[10, 11, 0, 1]", "[10, 11, 0, 1]"}));
  EXPECT_EQ(showRanks(R"(func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64,
        split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
        : (tensor<2xi32>) -> tensor<2xi32>
      return %0 : tensor<2xi32> })",
                      {2, 1}, inputs()),
            (Strings{"[0, 10]", "[1, 11]"}));
  EXPECT_EQ(showRanks(R"(func.func @main(%x: tensor<2xi32>) -> tensor<1xi32> {
      %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64,
        replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<2xi32>) -> tensor<1xi32>
      return %0 : tensor<1xi32> })",
                      {2, 1}, inputs()),
            (Strings{"[10]", "[12]"}));
  EXPECT_EQ(showRanks(R"(func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %0 = "stablehlo.collective_permute"(%x) <{
        source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      return %0 : tensor<2xi32> })",
                      {2, 1}, inputs()),
            (Strings{"[0, 0]", "[0, 1]"}));
  EXPECT_EQ(showRanks(R"(func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %0 = "stablehlo.collective_broadcast"(%x) <{
        replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      return %0 : tensor<2xi32> })",
                      {2, 1}, inputs()),
            (Strings{"[10, 11]", "[10, 11]"}));
  EXPECT_EQ(showRanks(R"(func.func @main(%x: tensor<2xi32>) -> tensor<ui32> {
      %0 = stablehlo.replica_id : tensor<ui32>
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.shift_left %0, %0 : tensor<ui32>
      %3 = stablehlo.add %2, %1 : tensor<ui32>
      return %3 : tensor<ui32> })",
                      {2, 1}, inputs()),
            (Strings{"0", "2"}));
}

TEST_F(Evaluator, SendAndRecvPairUp) {
  EXPECT_EQ(showRanks(R"(func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %t = stablehlo.create_token : !stablehlo.token
      %s = "stablehlo.send"(%x, %t) <{is_host_transfer = false,
        channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>,
        source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
      }> : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
      %r:2 = "stablehlo.recv"(%s) <{is_host_transfer = false,
        channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>,
        source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
      }> : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
      return %r#0 : tensor<2xi32> })",
                      {1, 2}, {tensorOf(i32, {2}, {1, 2}), tensorOf(i32, {2}, {3, 4})}),
            (std::vector<std::string>{"[3, 4]", "[1, 2]"}));
}

TEST_F(Evaluator, DeadlockSaysWhoWaitsWhere) {
  std::vector<std::string> shown =
      showRanks(R"(
    func.func @main(%x: tensor<1xi32>) -> tensor<1xi32> {
      %id = stablehlo.replica_id : tensor<ui32>
      %index = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
      %0 = "stablehlo.case"(%index) ({
        stablehlo.return %x : tensor<1xi32>
      }, {
        %1 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %s = stablehlo.add %a, %b : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }) : (tensor<1xi32>) -> tensor<1xi32>
        stablehlo.return %1 : tensor<1xi32>
      }) : (tensor<i32>) -> tensor<1xi32>
      return %0 : tensor<1xi32>
    })",
                {2, 1}, {tensorOf(i32, {1}, {1}), tensorOf(i32, {1}, {2})});
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_THAT(shown[0], AllOf(HasSubstr("E3009"), HasSubstr("1 of 2 have ended"),
                              HasSubstr("rank 1 waits in 'stablehlo.all_reduce' at test.mlir:8")));
}

TEST_F(Evaluator, GroupsBeyondTheGridAreRefused) {
  std::vector<std::string> shown = showRanks(R"(
    func.func @main(%x: tensor<1xi32>) -> tensor<4xi32> {
      %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64,
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<1xi32>) -> tensor<4xi32>
      return %0 : tensor<4xi32>
    })",
                                             {1, 1}, {tensorOf(i32, {1}, {1})});
  EXPECT_THAT(shown[0],
              AllOf(HasSubstr("E3011"), HasSubstr("process 1, but the program has 1 replicas")));
}

TEST_F(Evaluator, GroupsAlongAxesThatOverlapAreRefused) {
  std::vector<std::string> shown = showRanks(R"(
    func.func @main(%x: tensor<1xi32>) -> tensor<4xi32> {
      %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = #stablehlo.replica_group_mesh_axes<
          mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 4>]>,
          axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>,
                  #stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>}>
        : (tensor<1xi32>) -> tensor<4xi32>
      return %0 : tensor<4xi32>
    })",
                                             {1, 1}, {tensorOf(i32, {1}, {1})});
  EXPECT_THAT(shown[0], AllOf(HasSubstr("E3011"),
                              HasSubstr("axis 'x' twice, or sub-axes of it that overlap")));
}

TEST_F(Evaluator, FeedsServeTheHost) {
  mlir::ModuleOp program = parse(R"(
    func.func @main(%t: !stablehlo.token) -> tensor<i32> {
      %0:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}>
          : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
      %1 = "stablehlo.outfeed"(%0#0, %0#1) <{outfeed_config = ""}>
          : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
      return %0#0 : tensor<i32>
    })");
  Feeds feeds;
  feeds.infeed.push_back({tensorOf(i32, {}, {7})});
  auto run = [&] {
    return evaluateRanks(program, "main", {1, 1}, {{RuntimeValue()}}, {}, CustomCalls::standard(),
                         &feeds);
  };
  ASSERT_TRUE(run().isOk());
  ASSERT_EQ(feeds.outfeed.size(), 1u);
  EXPECT_EQ(feeds.outfeed[0][0].tensor().toString(), "7");
  EXPECT_EQ(run().takeStatus().error(), Error::interpretFeed);
}

TEST_F(Evaluator, ManualComputationRunsPerDevice) {
  EXPECT_EQ(show(R"(
    sdy.mesh @mesh = <["x"=2, "y"=2]>
    func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
      %0 = sdy.manual_computation(%x)
          in_shardings=[<@mesh, [{"x"}, {"y"} ]>] out_shardings=[<@mesh, [{"x"}, {"y"} ]>]
          manual_axes={"x", "y"} (%piece: tensor<2x1xf32>) {
        %sum = "stablehlo.all_reduce"(%piece) <{use_global_device_ids,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<2x1xf32>) -> tensor<2x1xf32>
        sdy.return %sum : tensor<2x1xf32>
      } : (tensor<4x2xf32>) -> tensor<4x2xf32>
      return %0 : tensor<4x2xf32>
    })",
                 {tensorOf(f32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}),
            "[[3, 3], [7, 7], [11, 11], [15, 15]]");
}

TEST_F(Evaluator, AsyncOpsGiveTheirResultsWhenDone) {
  EXPECT_EQ(show(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %f = "stablehlo.async_start"(%x) ({
      ^bb0(%a: tensor<2xf32>):
        %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64,
          replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
        stablehlo.return %g : tensor<2xf32>
      }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
      %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
      return %r : tensor<2xf32>
    })",
                 {tensorOf(f32, {2}, {1, 2})}),
            "[1, 2]");
}

// x has 0.5 and 1 in turn, y 1 and 2, so 16 elements have the sum 8 * (0.5 + 2) = 20. All scales
// are 1, but that of row 33 of x in block 1 is 2: byte 16 + 4 + 1 of its group.
TEST_F(Evaluator, OrderedScalesBelongToRowsAndBlocks) {
  EXPECT_EQ(show(R"(
    func.func @main() -> tensor<3x1xf32> {
      %x = stablehlo.constant dense<0x21> : tensor<34x16xui8>
      %y = stablehlo.constant dense<0x42> : tensor<1x16xui8>
      %ones = stablehlo.constant dense<0x38> : tensor<1x1x16x128xui8>
      %two = stablehlo.constant dense<0x40> : tensor<1x1x1x1xui8>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %at = stablehlo.constant dense<21> : tensor<i32>
      %s = stablehlo.dynamic_update_slice %ones, %two, %zero, %zero, %zero, %at
        : (tensor<1x1x16x128xui8>, tensor<1x1x1x1xui8>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>)
          -> tensor<1x1x16x128xui8>
      %0 = exec.scaled_matmul %x, %y scales %s, %ones as f4E2M1FN, f4E2M1FN by f8E4M3FN block 16
        : tensor<34x16xui8>, tensor<1x16xui8>, tensor<1x1x16x128xui8>, tensor<1x1x16x128xui8>
          -> tensor<34x1xf32>
      %1 = stablehlo.slice %0 [1:34:16, 0:1] : (tensor<34x1xf32>) -> tensor<3x1xf32>
      return %1 : tensor<3x1xf32>
    })"),
            "[[40], [40], [60]]");
}

// The padding of rows and blocks may hold anything: here scales of NaN (e8m0, 0xFF) beside the only
// block of the only row.
TEST_F(Evaluator, PaddingOfOrderedScalesIsNotRead) {
  EXPECT_EQ(show(R"(
    func.func @main() -> tensor<2x1x1xbf16> {
      %x = stablehlo.constant dense<2.0> : tensor<2x1x32xf8E4M3FN>
      %y = stablehlo.constant dense<0.5> : tensor<2x1x32xf8E5M2>
      %nans = stablehlo.constant dense<0xFF> : tensor<2x1x4x128xui8>
      %four = stablehlo.constant dense<0x81> : tensor<2x1x1x1xui8>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %s = stablehlo.dynamic_update_slice %nans, %four, %zero, %zero, %zero, %zero
        : (tensor<2x1x4x128xui8>, tensor<2x1x1x1xui8>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>)
          -> tensor<2x1x4x128xui8>
      %0 = exec.scaled_matmul %x, %y scales %s, %s as f8E4M3FN, f8E5M2 by f8E8M0FNU block 32
        : tensor<2x1x32xf8E4M3FN>, tensor<2x1x32xf8E5M2>, tensor<2x1x4x128xui8>, tensor<2x1x4x128xui8>
          -> tensor<2x1x1xbf16>
      return %0 : tensor<2x1x1xbf16>
    })"),
            "[[[512]], [[512]]]");
}
