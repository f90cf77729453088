// The engine of our own kernels: the cases of the conformance suite that are in the forms of device
// engines, bit by bit; groups in other orders, pieces, groups of calls, revoke.
#include "test/nvptx/collectives/TeamTest.h"

#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricEngine.h"
#include "tilewright/support/Concat.h"

#include <cstring>
#include <thread>

namespace tilewright::runtime::cuda {
namespace {

using namespace collective::conformance;
using collective::Call;
using collective::DeviceClique;
using collective::DeviceCommunicator;
using collective::DeviceStream;
using collective::Kind;
using collective::ReductionKind;
using collective::Tensor;
using numerics::ElementType;

/// The virtual GPUs of this process; a stream for each.
class Gpus final : public collective::DeviceAccess {
public:
  explicit Gpus(int64_t ranks) {
    Result<std::shared_ptr<const DriverApi>> found =
        findDriver({.library = "", .virtualChip = "sm_90a", .devices = {}});
    if (!found.isOk())
      std::abort();
    api = *found;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      CUdevice device = 0;
      must(api->cuDeviceGet(&device, static_cast<int>(rank)));
      must(api->cuDevicePrimaryCtxRetain(&contexts.emplace_back(), device));
      must(api->cuCtxPushCurrent(contexts.back()));
      must(api->cuStreamCreate(&streams.emplace_back(), 1));
    }
  }
  static void must(CUresult result) {
    if (result != CUDA_SUCCESS)
      std::abort();
  }
  Status makeCurrent(int64_t rank) override {
    return TILEWRIGHT_CUDA(*api, cuCtxPushCurrent, contexts[static_cast<size_t>(rank)]);
  }
  Status copy(DeviceStream stream, std::byte *to, const std::byte *from, size_t bytes) override {
    return TILEWRIGHT_CUDA(*api, cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(to),
                           reinterpret_cast<CUdeviceptr>(from), bytes,
                           static_cast<CUstream>(stream));
  }
  Status fillWithZeros(DeviceStream stream, std::byte *to, size_t bytes) override {
    return TILEWRIGHT_CUDA(*api, cuMemsetD8Async, reinterpret_cast<CUdeviceptr>(to),
                           static_cast<unsigned char>(0), bytes, static_cast<CUstream>(stream));
  }

  std::shared_ptr<const DriverApi> api;
  std::vector<CUcontext> contexts;
  std::vector<CUstream> streams;
};

/// A host's view of a rank on a device: copies operands there and results back.
class OnDevice final : public collective::Communicator {
public:
  OnDevice(DeviceCommunicator &device, Gpus &gpus, std::byte *scratch,
           const std::vector<DeviceClique> &cliques)
      : device(device), gpus(gpus), scratch(scratch), cliques(cliques) {}
  int64_t rank() const override { return device.rank(); }
  int64_t size() const override { return device.size(); }
  Result<Ticket> start(const Call &) override { return Status(Code::unimplemented, "start"); }
  Status finish(Ticket) override { return Status(Code::unimplemented, "finish"); }
  void abandon(const Status &) override {}

  Status run(const Call &call) override {
    DeviceClique wanted{*call.groups, call.kind == Kind::permute, 0};
    const auto clique =
        static_cast<size_t>(std::find(cliques.begin(), cliques.end(), wanted) - cliques.begin());
    CUstream stream = gpus.streams[static_cast<size_t>(rank())];
    Call there = call;
    size_t at = 0;
    auto place = [&](size_t bytes) {
      std::byte *result = scratch + at;
      at += (bytes + 271) / 256 * 256;
      return result;
    };
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const Tensor &tensor = call.tensors[i];
      const size_t width = numerics::storageBytes(tensor.element);
      const size_t in = static_cast<size_t>(elements(tensor.inDims)) * width;
      const size_t out = static_cast<size_t>(elements(tensor.outDims)) * width;
      std::byte *from = place(in);
      there.tensors[i].in = from;
      there.tensors[i].out = tensor.in == tensor.out ? from : place(out);
      if (in > 0)
        TILEWRIGHT_TRY(gpus.copy(stream, from, tensor.in, in));
    }
    TILEWRIGHT_TRY(device.enqueue(there, clique, stream));
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const Tensor &tensor = call.tensors[i];
      const size_t out =
          static_cast<size_t>(elements(tensor.outDims)) * numerics::storageBytes(tensor.element);
      if (out > 0)
        TILEWRIGHT_TRY(gpus.copy(stream, tensor.out, there.tensors[i].out, out));
    }
    return TILEWRIGHT_CUDA(*gpus.api, cuStreamSynchronize, stream);
  }

private:
  DeviceCommunicator &device;
  Gpus &gpus;
  std::byte *const scratch;
  const std::vector<DeviceClique> &cliques;
};

class SymmetricEngineTest : public ::testing::Test {
protected:
  static constexpr int64_t ranks = 4;

  static Gpus &gpus() {
    static Gpus *made = new Gpus(ranks);
    return *made;
  }
  static std::unique_ptr<SymmetricEngine> engine(const SymmetricEngine::Options &options) {
    return SymmetricEngine::make(gpus().api, {0, 1, 2, 3}, gpus(), nvptx::compileImage, options);
  }

  /// Runs all cases on all ranks, one after the other.
  static void tryAll(const std::vector<Case> &cases, const SymmetricEngine::Options &options) {
    std::unique_ptr<SymmetricEngine> engine = SymmetricEngineTest::engine(options);
    std::vector<DeviceClique> cliques;
    for (const Case &test : cases)
      if (DeviceClique clique{test.groups, test.kind == Kind::permute, 0};
          std::find(cliques.begin(), cliques.end(), clique) == cliques.end())
        cliques.push_back(clique);
    auto made = engine->prepare({0, 1, 2, 3}, cliques, after(std::chrono::seconds(10)));
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    std::vector<Status> ends(ranks);
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ends[static_cast<size_t>(rank)] = [&]() -> Status {
          TILEWRIGHT_TRY(gpus().makeCurrent(rank));
          TILEWRIGHT_ASSIGN(std::byte * scratch, engine->allocate(rank, size_t(64) << 20));
          OnDevice communicator(*(*made)[static_cast<size_t>(rank)], gpus(), scratch, cliques);
          for (const Case &test : cases)
            TILEWRIGHT_TRY(Trial(test, rank, ranks).run(communicator));
          return Status();
        }();
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const Status &end : ends)
      EXPECT_TRUE(end.isOk()) << end.toString();
  }

  void TearDown() override { nvptx::expectNoReport(); }
};

const std::vector<Groups> manyGroups = {
    {}, {{3, 1}, {0, 2}}, {{0}, {1}, {2}, {3}}, {{2, 0, 1}, {3}}};

TEST_F(SymmetricEngineTest, AllReduceInEveryGroupAndPlace) {
  std::vector<Case> cases;
  for (const Groups &groups : manyGroups)
    for (ElementType type : {ElementType::f32, ElementType::bf16})
      for (int64_t count : {0, 1, 13, 2049})
        for (bool isInPlace : {false, true})
          cases.push_back(
              {Kind::allReduce, type, {count}, groups, ReductionKind::add, 0, 0, isInPlace});
  tryAll(cases, {});
}

TEST_F(SymmetricEngineTest, LargeOperandsGoInPieces) {
  std::vector<Case> cases;
  for (bool isInPlace : {false, true})
    cases.push_back(
        {Kind::allReduce, ElementType::f16, {10'001}, {}, ReductionKind::add, 0, 0, isInPlace});
  cases.push_back({Kind::allGather, ElementType::i8, {9'003}, {{3, 1}, {0, 2}}});
  cases.push_back({Kind::reduceScatter, ElementType::f32, {8'004}, {}});
  cases.push_back({Kind::allToAll, ElementType::bf16, {20'004}, {}});
  cases.push_back({Kind::broadcast, ElementType::ui8, {9'001}, {{1, 2, 3, 0}}});
  cases.push_back({Kind::permute, ElementType::ui8, {9'001}, {{0, 1}, {1, 2}}});
  tryAll(cases, {.windowBytes = 4096, .points = 2, .oneShotBytes = 1000});
}

TEST_F(SymmetricEngineTest, MovesEveryTypeAndSize) {
  std::vector<Case> cases;
  for (ElementType type :
       {ElementType::pred, ElementType::f16, ElementType::i64, ElementType::c128}) {
    cases.push_back({Kind::allGather, type, {7}, {}});
    cases.push_back({Kind::allToAll, type, {28}, {}});
    cases.push_back({Kind::permute, type, {3}, {{0, 1}, {1, 2}}});
    cases.push_back({Kind::broadcast, type, {3}, {}});
  }
  for (const Groups &groups : manyGroups) {
    for (int64_t count : {0, 1, 935})
      cases.push_back({Kind::allGather, ElementType::f16, {count}, groups});
    cases.push_back({Kind::reduceScatter, ElementType::f32, {24, 12}, groups});
    cases.push_back({Kind::allToAll, ElementType::bf16, {12, 36}, groups});
  }
  for (const Groups &groups : {Groups{{2, 0}}, Groups{{3, 1}, {0, 2}}})
    cases.push_back({Kind::broadcast, ElementType::ui8, {50}, groups});
  cases.push_back({Kind::permute, ElementType::ui8, {50}, {{0, 1}, {1, 0}, {2, 2}}});
  tryAll(cases, {});
}

TEST_F(SymmetricEngineTest, RevokeEndsTheWaitForARankThatDoesNotCome) {
  std::unique_ptr<SymmetricEngine> engine = SymmetricEngineTest::engine({});
  const std::vector<DeviceClique> cliques = {{}};
  auto made = engine->prepare({0, 1, 2, 3}, cliques, after(std::chrono::seconds(10)));
  ASSERT_TRUE(made.isOk());
  ASSERT_TRUE(gpus().makeCurrent(0).isOk());
  auto scratch = engine->allocate(0, 4096);
  ASSERT_TRUE(scratch.isOk());
  const Groups none;
  Call call;
  call.groups = &none;
  call.name = "alone";
  call.reduction.operation = ReductionKind::add;
  call.tensors = {{ElementType::f32, {16}, {16}, *scratch, *scratch}};
  ASSERT_TRUE((*made)[0]->enqueue(call, 0, gpus().streams[0]).isOk());
  engine->revoke("rank 3 is lost");
  EXPECT_TRUE(TILEWRIGHT_CUDA(*gpus().api, cuStreamSynchronize, gpus().streams[0]).isOk());
  EXPECT_EQ((*made)[0]->check().message(), "rank 3 is lost");
  EXPECT_FALSE((*made)[1]->enqueue(call, 0, gpus().streams[1]).isOk());
}

} // namespace
} // namespace tilewright::runtime::cuda
