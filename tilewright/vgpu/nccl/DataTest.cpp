// The results of collectives and messages, for every kind, many types and sizes.
#include "tilewright/vgpu/nccl/testing/Nccl.h"

#include "gmock/gmock.h"

namespace tilewright::vgpu::nccl {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

TEST(Exports, EveryRowOfTheTableIsExportedWithItsTwin) { EXPECT_THAT(nccl().absent, IsEmpty()); }

/// Values that a sum in another order would round differently.
std::vector<float> valuesOf(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(rank + 1) * (0.1f + static_cast<float>(i % 97)) *
                (rank % 2 ? -1e-3f : 1e3f);
  return values;
}
std::vector<float> sumOf(int ranks, size_t count) {
  std::vector<float> sum = valuesOf(0, count);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<float> values = valuesOf(rank, count);
    for (size_t i = 0; i < count; ++i)
      sum[i] += values[i];
  }
  return sum;
}

struct Size {
  int ranks;
  size_t count;
};
class Data : public ::testing::TestWithParam<Size> {
protected:
  const int ranks = GetParam().ranks;
  const size_t count = GetParam().count;
};
// The last takes several steps, of which the last is not full.
INSTANTIATE_TEST_SUITE_P(Sizes, Data,
                         ::testing::Values(Size{1, 5}, Size{2, 1}, Size{2, 1000}, Size{3, 7},
                                           Size{4, 4099}, Size{8, 33}, Size{3, 200003}));

TEST_P(Data, AllReduceSumsInTheOrderOfRanks) {
  const std::vector<float> expected = sumOf(ranks, count);
  runRanks(ranks, [&](int rank, RankDevice &device, ncclComm_t comm) {
    float *in = device.upload(valuesOf(rank, count)), *out = device.upload<float>({}, count);
    EXPECT_NCCL(nccl().ncclAllReduce(in, out, count, ncclFloat32, ncclSum, comm, device.stream));
    EXPECT_NCCL(nccl().ncclAllReduce(in, in, count, ncclFloat32, ncclSum, comm, device.stream));
    device.synchronise();
    EXPECT_EQ(device.download(out, count), expected);
    EXPECT_EQ(device.download(in, count), expected);
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

TEST_P(Data, AllGatherAndGather) {
  std::vector<float> expected;
  for (int rank = 0; rank < ranks; ++rank)
    for (float value : valuesOf(rank, count))
      expected.push_back(value);
  const int root = ranks - 1;
  const size_t all = count * static_cast<size_t>(ranks);
  runRanks(ranks, [&](int rank, RankDevice &device, ncclComm_t comm) {
    float *in = device.upload(valuesOf(rank, count)), *out = device.upload<float>({}, all);
    EXPECT_NCCL(nccl().ncclAllGather(in, out, count, ncclFloat32, comm, device.stream));
    device.synchronise();
    EXPECT_EQ(device.download(out, all), expected);
    // In place: the rank's part of the result is its operand.
    std::vector<float> cleared(all, -1);
    std::copy_n(expected.begin() + static_cast<ptrdiff_t>(count) * rank, count,
                cleared.begin() + static_cast<ptrdiff_t>(count) * rank);
    float *both = device.upload(cleared);
    EXPECT_NCCL(nccl().ncclAllGather(both + count * static_cast<size_t>(rank), both, count,
                                     ncclFloat32, comm, device.stream));
    float *gathered = rank == root ? device.upload<float>({}, all) : nullptr;
    EXPECT_NCCL(nccl().ncclGather(in, gathered, count, ncclFloat32, root, comm, device.stream));
    device.synchronise();
    EXPECT_EQ(device.download(both, all), expected);
    if (rank == root)
      EXPECT_EQ(device.download(gathered, all), expected);
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

TEST_P(Data, ReduceScatterAndReduce) {
  const size_t all = count * static_cast<size_t>(ranks);
  const std::vector<float> sums = sumOf(ranks, all);
  runRanks(ranks, [&](int rank, RankDevice &device, ncclComm_t comm) {
    float *in = device.upload(valuesOf(rank, all)), *out = device.upload<float>({}, count);
    const auto begin = sums.begin() + static_cast<ptrdiff_t>(count) * rank;
    const std::vector<float> expected(begin, begin + static_cast<ptrdiff_t>(count));
    EXPECT_NCCL(
        nccl().ncclReduceScatter(in, out, count, ncclFloat32, ncclSum, comm, device.stream));
    float *reduced = rank == 0 ? device.upload<float>({}, all) : nullptr;
    EXPECT_NCCL(nccl().ncclReduce(in, reduced, all, ncclFloat32, ncclSum, 0, comm, device.stream));
    float *own = in + count * static_cast<size_t>(rank);
    EXPECT_NCCL(
        nccl().ncclReduceScatter(in, own, count, ncclFloat32, ncclSum, comm, device.stream));
    device.synchronise();
    EXPECT_EQ(device.download(out, count), expected);
    EXPECT_EQ(device.download(own, count), expected);
    if (rank == 0)
      EXPECT_EQ(device.download(reduced, all), sums);
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

TEST_P(Data, BroadcastScatterAndAllToAll) {
  const size_t all = count * static_cast<size_t>(ranks);
  const int root = ranks / 2;
  runRanks(ranks, [&](int rank, RankDevice &device, ncclComm_t comm) {
    const bool isRoot = rank == root;
    float *in = device.upload(valuesOf(rank, all));
    float *copy = device.upload<float>({}, all), *part = device.upload<float>({}, count);
    float *mixed = device.upload<float>({}, all);
    EXPECT_NCCL(nccl().ncclBroadcast(isRoot ? in : nullptr, copy, all, ncclFloat32, root, comm,
                                     device.stream));
    EXPECT_NCCL(nccl().ncclScatter(isRoot ? in : nullptr, part, count, ncclFloat32, root, comm,
                                   device.stream));
    EXPECT_NCCL(nccl().ncclAlltoAll(in, mixed, count, ncclFloat32, comm, device.stream));
    EXPECT_NCCL(nccl().ncclBcast(in, all, ncclFloat32, root, comm, device.stream));
    device.synchronise();
    const std::vector<float> roots = valuesOf(root, all);
    EXPECT_EQ(device.download(copy, all), roots);
    EXPECT_EQ(device.download(in, all), roots);
    const auto begin = roots.begin() + static_cast<ptrdiff_t>(count) * rank;
    EXPECT_EQ(device.download(part, count),
              std::vector<float>(begin, begin + static_cast<ptrdiff_t>(count)));
    const std::vector<float> got = device.download(mixed, all);
    for (int from = 0; from < ranks; ++from)
      EXPECT_EQ(got[count * static_cast<size_t>(from) + count - 1],
                valuesOf(from, all)[count * static_cast<size_t>(rank) + count - 1]);
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

TEST_P(Data, ARingOfMessagesInGroups) {
  runRanks(ranks, [&](int rank, RankDevice &device, ncclComm_t comm) {
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    float *in = device.upload(valuesOf(rank, count)), *out = device.upload<float>({}, count);
    float *second = device.upload<float>({}, 1);
    EXPECT_NCCL(nccl().ncclGroupStart());
    EXPECT_NCCL(nccl().ncclRecv(out, count, ncclFloat32, previous, comm, device.stream));
    EXPECT_NCCL(nccl().ncclSend(in, count, ncclFloat32, next, comm, device.stream));
    // Two messages between the same ranks keep their order.
    EXPECT_NCCL(nccl().ncclSend(in + count - 1, 1, ncclFloat32, next, comm, device.stream));
    EXPECT_NCCL(nccl().ncclRecv(second, 1, ncclFloat32, previous, comm, device.stream));
    EXPECT_NCCL(nccl().ncclGroupEnd());
    device.synchronise();
    EXPECT_EQ(device.download(out, count), valuesOf(previous, count));
    EXPECT_EQ(device.download(second, 1)[0], valuesOf(previous, count)[count - 1]);
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

template <typename T> void checkOperations(ncclDataType_t type) {
  constexpr int ranks = 3;
  runRanks(ranks, [&](int rank, RankDevice &device, ncclComm_t comm) {
    const std::vector<T> values = {T(rank + 2), T(7), T(2 * rank)};
    T *in = device.upload(values), *out = device.upload<T>({}, 3);
    auto reduce = [&](ncclRedOp_t operation) {
      EXPECT_NCCL(nccl().ncclAllReduce(in, out, 3, type, operation, comm, device.stream));
      device.synchronise();
      return device.download(out, 3);
    };
    EXPECT_EQ(reduce(ncclSum), (std::vector<T>{9, 21, 6}));
    EXPECT_EQ(reduce(ncclProd), (std::vector<T>{24, T(343), 0}));
    EXPECT_EQ(reduce(ncclMax), (std::vector<T>{4, 7, 4}));
    EXPECT_EQ(reduce(ncclMin), (std::vector<T>{2, 7, 0}));
    const std::vector<T> average = reduce(ncclAvg);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(double(average[i]), (std::vector<double>{3, 7, 2})[i], 1e-5);
    ncclRedOp_t twice = ncclSum;
    T factor(2);
    EXPECT_NCCL(
        nccl().ncclRedOpCreatePreMulSum(&twice, &factor, type, ncclScalarHostImmediate, comm));
    factor = T(3); // already read
    EXPECT_EQ(reduce(twice), (std::vector<T>{18, 42, 12}));
    EXPECT_NCCL(nccl().ncclRedOpDestroy(twice, comm));
    T *onDevice = device.upload(std::vector<T>{T(3)});
    EXPECT_NCCL(nccl().ncclRedOpCreatePreMulSum(&twice, onDevice, type, ncclScalarDevice, comm));
    EXPECT_EQ(reduce(twice), (std::vector<T>{27, 63, 18}));
    EXPECT_NCCL(nccl().ncclRedOpDestroy(twice, comm));
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

TEST(Operations, Integers) {
  checkOperations<int32_t>(ncclInt32);
  checkOperations<uint32_t>(ncclUint32);
  checkOperations<int64_t>(ncclInt64);
  checkOperations<uint64_t>(ncclUint64);
}
TEST(Operations, Floats) {
  checkOperations<float>(ncclFloat32);
  checkOperations<double>(ncclFloat64);
}

TEST(Operations, SmallTypes) {
  // 1.5 + 1.5 + 1.5 in each format.
  struct Case {
    ncclDataType_t type;
    std::vector<uint8_t> one, sum;
  };
  const Case cases[] = {{ncclFloat16, {0x00, 0x3e}, {0x80, 0x44}},
                        {ncclBfloat16, {0xc0, 0x3f}, {0x90, 0x40}},
                        {ncclFloat8e4m3, {0x3c}, {0x49}},
                        {ncclFloat8e5m2, {0x3e}, {0x44}}, // 3 + 1.5 is halfway: to even
                        {ncclInt8, {100}, {44}},
                        {ncclUint8, {100}, {44}}};
  for (const Case &one : cases)
    runRanks(3, [&](int, RankDevice &device, ncclComm_t comm) {
      uint8_t *data = device.upload(one.one);
      EXPECT_NCCL(nccl().ncclAllReduce(data, data, 1, one.type, ncclSum, comm, device.stream));
      device.synchronise();
      EXPECT_EQ(device.download(data, one.one.size()), one.sum) << one.type;
      EXPECT_NCCL(nccl().ncclCommDestroy(comm));
    });
}

TEST(Groups, OneThreadDrivesAllDevices) {
  constexpr int ranks = 4;
  constexpr size_t count = 100;
  std::vector<std::unique_ptr<RankDevice>> devices;
  std::vector<float *> in, out, all;
  std::vector<ncclComm_t> comms(ranks);
  ncclUniqueId id;
  EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
  for (int i = 0; i < ranks; ++i) {
    devices.push_back(std::make_unique<RankDevice>(i));
    in.push_back(devices[i]->upload(valuesOf(i, count)));
    out.push_back(devices[i]->upload<float>({}, count));
    all.push_back(devices[i]->upload<float>({}, count * ranks));
  }
  EXPECT_NCCL(nccl().ncclGroupStart());
  for (int i = 0; i < ranks; ++i) {
    devices[i]->makeCurrent();
    EXPECT_NCCL(nccl().ncclCommInitRank(&comms[i], ranks, id, i));
  }
  EXPECT_NCCL(nccl().ncclGroupEnd());
  for (int i = 0; i < ranks; ++i) {
    int rank = -1, size = -1, device = -1;
    EXPECT_NCCL(nccl().ncclCommUserRank(comms[i], &rank));
    EXPECT_NCCL(nccl().ncclCommCount(comms[i], &size));
    EXPECT_NCCL(nccl().ncclCommCuDevice(comms[i], &device));
    EXPECT_EQ((std::array{rank, size, device}), (std::array{i, ranks, i}));
  }
  EXPECT_NCCL(nccl().ncclGroupStart());
  for (int i = 0; i < ranks; ++i) {
    // Stream 0 means the default stream of the communicator's device.
    EXPECT_NCCL(
        nccl().ncclAllReduce(in[i], out[i], count, ncclFloat32, ncclSum, comms[i], nullptr));
    EXPECT_NCCL(nccl().ncclAllGather(in[i], all[i], count, ncclFloat32, comms[i], nullptr));
  }
  EXPECT_EQ(devices[0]->download(out[0], 1)[0], 0.0f) << "nothing starts before ncclGroupEnd";
  EXPECT_NCCL(nccl().ncclGroupEnd());
  for (int i = 0; i < ranks; ++i) {
    devices[i]->makeCurrent();
    EXPECT_CUDA(cuda().cuStreamSynchronize(nullptr));
    EXPECT_EQ(devices[i]->download(out[i], count), sumOf(ranks, count));
    EXPECT_EQ(devices[i]->download(all[i], count * ranks)[count * 3], valuesOf(3, count)[0]);
  }
  for (ncclComm_t comm : comms)
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
}

TEST(Groups, InitAllUsesTheDevicesInTheGivenOrder) {
  const int devices[] = {2, 0};
  ncclComm_t comms[2] = {};
  EXPECT_NCCL(nccl().ncclCommInitAll(comms, 2, devices));
  for (int i = 0; i < 2; ++i) {
    int device = -1;
    EXPECT_NCCL(nccl().ncclCommCuDevice(comms[i], &device));
    EXPECT_EQ(device, devices[i]);
    EXPECT_NCCL(nccl().ncclCommDestroy(comms[i]));
  }
}

TEST(Streams, ACollectiveIsOrderedWithKernelsAndEvents) {
  // A copy before and after, on the same stream and on another one behind an event.
  runRanks(2, [&](int rank, RankDevice &device, ncclComm_t comm) {
    constexpr size_t count = 1000;
    float *in = device.upload(std::vector<float>(count, 0)), *sum = device.upload<float>({}, count);
    float *copy = device.upload<float>({}, count);
    const std::vector<float> values = valuesOf(rank, count);
    CUstream second = nullptr;
    CUevent done = nullptr;
    EXPECT_CUDA(cuda().cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuda().cuEventCreate(&done, 0));
    EXPECT_CUDA(cuda().cuMemcpyHtoDAsync_v2(reinterpret_cast<uint64_t>(in), values.data(),
                                            count * 4, device.stream));
    EXPECT_NCCL(nccl().ncclAllReduce(in, sum, count, ncclFloat32, ncclSum, comm, device.stream));
    EXPECT_CUDA(cuda().cuEventRecord(done, device.stream));
    EXPECT_CUDA(cuda().cuStreamWaitEvent(second, done, 0));
    EXPECT_CUDA(cuda().cuMemcpyDtoDAsync_v2(reinterpret_cast<uint64_t>(copy),
                                            reinterpret_cast<uint64_t>(sum), count * 4, second));
    EXPECT_CUDA(cuda().cuStreamSynchronize(second));
    EXPECT_EQ(device.download(copy, count), sumOf(2, count));
    // Works of one communicator keep their order, even on two streams without events.
    EXPECT_NCCL(nccl().ncclAllReduce(in, sum, count, ncclFloat32, ncclSum, comm, device.stream));
    EXPECT_NCCL(nccl().ncclBroadcast(sum, copy, count, ncclFloat32, 0, comm, second));
    EXPECT_CUDA(cuda().cuStreamSynchronize(second));
    EXPECT_EQ(device.download(copy, count), sumOf(2, count));
    EXPECT_CUDA(cuda().cuEventDestroy_v2(done));
    EXPECT_CUDA(cuda().cuStreamDestroy_v2(second));
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

TEST(Streams, ACapturedCollectiveRunsAgainWithItsGraph) {
  runRanks(2, [&](int rank, RankDevice &device, ncclComm_t comm) {
    constexpr size_t count = 10;
    float *data = device.upload(std::vector<float>(count, float(rank + 1)));
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_CUDA(cuda().cuStreamBeginCapture_v2(device.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_NCCL(nccl().ncclAllReduce(data, data, count, ncclFloat32, ncclSum, comm, device.stream));
    EXPECT_CUDA(cuda().cuStreamEndCapture(device.stream, &graph));
    EXPECT_CUDA(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
    EXPECT_CUDA(cuda().cuGraphDestroy(graph));
    EXPECT_THAT(device.download(data, count), Each(float(rank + 1))) << "captured, not executed";
    for (int i = 0; i < 3; ++i)
      EXPECT_CUDA(cuda().cuGraphLaunch(exec, device.stream));
    device.synchronise();
    EXPECT_THAT(device.download(data, count), Each(12.0f)); // 3, 6, 12
    EXPECT_CUDA(cuda().cuGraphExecDestroy(exec));
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  });
}

} // namespace
} // namespace tilewright::vgpu::nccl
