// Custom calls between the commands of a program: on copies in host memory, and on the device.
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/CommandBuffer.h"
#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

#include <functional>
#include <map>

namespace tilewright::runtime::conformance {
namespace {

using artifact::CustomCallStep;
using cuda::CommandBuffer;
using cuda::CUDA_SUCCESS;
using cuda::CUdeviceptr;
using cuda::CUstream;
using ::testing::Each;
using ::testing::HasSubstr;

/// Handlers by name; those whose name begins with "device" take device memory.
class Handlers final : public CustomCallResolver {
public:
  using Function = std::function<Status(const CustomCallRun &)>;
  std::map<std::string, Function> functions;

  Result<std::unique_ptr<CustomCall>> prepare(const CustomCallSite &site) override {
    auto found = functions.find(site.step->target);
    if (found == functions.end())
      return std::unique_ptr<CustomCall>();
    if (site.step->opaque == "reject")
      return Status(Code::invalidArgument, "the handler rejects its configuration");
    return std::unique_ptr<CustomCall>(std::make_unique<Call>(found->second, found->first));
  }

private:
  struct Call : CustomCall {
    Call(Function function, const std::string &name)
        : function(std::move(function)), isForDevice(name.starts_with("device")) {}
    bool takesDeviceMemory() const override { return isForDevice; }
    Status run(const CustomCallRun &run) const override { return function(run); }
    Function function;
    bool isForDevice;
  };
};

class CudaCallTest : public Fixture {
protected:
  void SetUp() override {
    handlers->functions["double"] = [this](const CustomCallRun &run) {
      ++calls;
      auto *x = reinterpret_cast<const float *>(run.operands[0]);
      auto *y = reinterpret_cast<float *>(run.results[0]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(y) % 64, 0u);
      EXPECT_EQ(run.queue, nullptr);
      for (int64_t i = 0; i < length; ++i)
        y[i] = 2 * x[i];
      return Status();
    };
    handlers->functions["fail"] = [](const CustomCallRun &) {
      return Status(Code::aborted, "the handler gave up");
    };
    RuntimeOptions options;
    options.threads = 2;
    auto made = cuda::testClient(options, {}, {handlers});
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    client = *std::move(made);
  }

  static CustomCallStep callOf(Program &p, const std::string &name, std::vector<Slice> operands,
                               std::vector<Slice> results) {
    p.executable.types = {floats()};
    CustomCallStep step{name, 4, "", {}, {}, {}};
    for (const Slice &slice : operands)
      step.operands.push_back({slice, 0});
    for (const Slice &slice : results)
      step.results.push_back({slice, 0});
    return step;
  }
  /// y = 2 (x + 2) + 2, with two launches before and after the call of `name`.
  static Program around(const std::string &name) {
    Program p("around");
    Slice x = p.parameter(floats()), y = p.result(floats());
    Slice t = p.temporary(4 * length), u = p.temporary(4 * length);
    p.launch("add_one", length, {x, t});
    p.launch("add_one", length, {t, t});
    p.step(callOf(p, name, {t}, {u}), 0, "call.3");
    p.launch("add_one", length, {u, u});
    p.launch("add_one", length, {u, y});
    return p;
  }
  Status endOf(LoadedExecutable &program, float value) {
    auto x = buffer(value);
    auto run = execute(program, {x.get()});
    return run.isOk() ? run->done[0].await() : std::move(run).takeStatus();
  }

  std::shared_ptr<Handlers> handlers = std::make_shared<Handlers>();
  int calls = 0;
};

TEST_F(CudaCallTest, CommandBuffersAreSplitAroundACall) {
  auto program = load(around("double"));
  const CommandBuffer::Counts before = CommandBuffer::counts();
  for (float value : {1.0F, 5.0F}) {
    auto x = buffer(value);
    auto run = execute(*program, {x.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(2 * (value + 2) + 2));
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(CommandBuffer::counts().graphsBuilt - before.graphsBuilt, 2);
  EXPECT_EQ(CommandBuffer::counts().graphLaunches - before.graphLaunches, 4);
}

TEST_F(CudaCallTest, ALoopCallsInEveryRound) {
  Program p("loop");
  Slice x = p.parameter(floats()), y = p.result(floats()), t = p.temporary(4 * length);
  const Index condition = p.block(), body = p.block();
  p.step(CopyStep{x, t});
  p.step(WhileStep{condition, body, {}, 3});
  p.step(callOf(p, "double", {t}, {t}), body);
  p.launch("add_one", length, {t, t}, body);
  p.step(CopyStep{t, y});
  auto program = load(p);
  auto input = buffer(1);
  auto run = execute(*program, {input.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_THAT(read(*run->results[0][0]), Each(15)); // 1 → 3 → 7 → 15
  EXPECT_EQ(calls, 3);
}

/// A result that is in an operand's memory is so for the handler too.
TEST_F(CudaCallTest, AHandlerUpdatesInPlace) {
  handlers->functions["increment"] = [](const CustomCallRun &run) {
    EXPECT_EQ(run.operands[1], run.results[0]);
    EXPECT_NE(run.operands[0], run.results[0]);
    *reinterpret_cast<float *>(run.results[0]) += 1;
    return Status();
  };
  Program p("update");
  Slice x = p.parameter(floats()), y = p.result(floats());
  p.step(CopyStep{x, y});
  p.step(callOf(p, "increment", {x, y}, {y}));
  auto program = load(p);
  auto input = buffer(3);
  auto run = execute(*program, {input.get()});
  ASSERT_TRUE(run.isOk());
  std::vector<float> values = read(*run->results[0][0]);
  EXPECT_EQ(values[0], 4);
  EXPECT_EQ(values[1], 3);
}

TEST_F(CudaCallTest, AHandlersFailureIsTheRunsAndTheDeviceGoesOn) {
  auto bad = load(around("fail")), good = load(around("double"));
  Status status = endOf(*bad, 1);
  EXPECT_EQ(status.code(), Code::aborted);
  EXPECT_THAT(status.message(), HasSubstr("running 'call.3' (train.py:7)"));
  EXPECT_THAT(status.message(), HasSubstr("the handler gave up"));
  EXPECT_TRUE(endOf(*good, 1).isOk());
}

/// A kernel that failed before the call: the handler must not see its operands.
TEST_F(CudaCallTest, AFailedKernelEndsTheRunBeforeTheCall) {
  Program p("trapped");
  Slice x = p.parameter(floats()), y = p.result(floats()), t = p.temporary(4 * length);
  p.launch("trap", length, {x, t});
  p.step(callOf(p, "double", {t}, {y}));
  auto program = load(p);
  EXPECT_EQ(endOf(*program, 1).error(), Error::cudaKernelFailed);
  EXPECT_EQ(calls, 0);
}

TEST_F(CudaCallTest, AHandlerMayRunTheSameProgram) {
  std::shared_ptr<LoadedExecutable> program;
  int depth = 0;
  handlers->functions["recurse"] = [&](const CustomCallRun &run) {
    auto *x = reinterpret_cast<const float *>(run.operands[0]);
    auto *y = reinterpret_cast<float *>(run.results[0]);
    float inner = 0;
    if (++depth < 3) {
      auto argument = buffer(10 * x[0]);
      auto nested = execute(*program, {argument.get()});
      EXPECT_TRUE(nested.isOk());
      inner = read(*nested->results[0][0])[0];
    }
    for (int64_t i = 0; i < length; ++i)
      y[i] = x[i] + inner;
    return Status();
  };
  program = load(around("recurse"));
  auto x = buffer(1);
  auto run = execute(*program, {x.get()});
  ASSERT_TRUE(run.isOk());
  // Each level: y = (x + 2) + inner + 2, with 10 (x + 2) as the argument of the next.
  EXPECT_THAT(read(*run->results[0][0]), Each(3 + (32 + (322 + 2) + 2) + 2));
  EXPECT_EQ(depth, 3);
}

/// The handler gets the stream of the program and queues work on it; the host never waits.
TEST_F(CudaCallTest, AHandlerForTheDeviceQueuesWork) {
  auto api = cuda::findDriver(*cuda::driverOptionsOf("vgpu:" + cuda::testChip()));
  ASSERT_TRUE(api.isOk());
  std::byte *scratch = nullptr;
  handlers->functions["device_copy"] = [&](const CustomCallRun &run) -> Status {
    EXPECT_NE(run.queue, nullptr);
    auto stream = static_cast<CUstream>(run.queue->stream());
    constexpr size_t bytes = 4 * length;
    TILEWRIGHT_ASSIGN(scratch, run.queue->allocate(bytes));
    auto address = [](const std::byte *data) { return reinterpret_cast<CUdeviceptr>(data); };
    EXPECT_EQ((*api)->cuMemcpyAsync(address(scratch), address(run.operands[0]), bytes, stream),
              CUDA_SUCCESS);
    EXPECT_EQ((*api)->cuMemcpyAsync(address(run.results[0]), address(scratch), bytes, stream),
              CUDA_SUCCESS);
    return Status();
  };
  auto program = load(around("device_copy"));
  auto x = buffer(3);
  auto run = execute(*program, {x.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_THAT(read(*run->results[0][0]), Each(7));
  EXPECT_NE(scratch, nullptr);
  run = execute(*program, {x.get()});
  client->drain();
  EXPECT_EQ(pinned().statistics().bytesInUse, 0); // no copies in host memory
}

TEST_F(CudaCallTest, ACallWithoutAHandlerIsNamedWhenTheProgramIsLoaded) {
  auto failure = [&](const Program &p) {
    return client
        ->load(std::make_shared<artifact::Executable>(p.executable),
               *client->defaultAssignment(1, 1))
        .takeStatus();
  };
  Status status = failure(around("unknown"));
  EXPECT_EQ(status.error(), Error::customCallUnknown);
  EXPECT_THAT(status.message(), HasSubstr("'unknown' (API version 4) of 'call.3' (train.py:7)"));
  Program p = around("double");
  std::get<CustomCallStep>(p.executable.blocks[0].steps[2].action).opaque = "reject";
  EXPECT_THAT(failure(p).message(),
              HasSubstr("loading 'call.3' (train.py:7): the handler rejects"));
}

} // namespace
} // namespace tilewright::runtime::conformance
