// Streams, events, and many threads at the same time.
#include "tilewright/vgpu/driver/testing/Driver.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace tilewright::vgpu::driver {
namespace {

using namespace std::chrono_literals;

class StreamTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    module = load(testPtx);
  }
  int read(CUdeviceptr address) {
    int value = 0;
    __atomic_load(reinterpret_cast<int *>(address), &value, __ATOMIC_SEQ_CST);
    return value;
  }
  CUmodule module = nullptr;
};

TEST_F(StreamTest, WorkOfAStreamIsDoneInOrder) {
  const CUstream order = stream();
  const CUdeviceptr data = allocate(4096);
  const CUfunction addOne = function(module, "add_one");
  EXPECT_CUDA(cuda().cuMemsetD32Async(data, 5, 1024, order));
  for (int i = 0; i < 20; ++i)
    EXPECT_CUDA(launch(addOne, order, 32, data, 1024));
  std::vector<int> result(1024);
  EXPECT_CUDA(cuda().cuMemcpyDtoHAsync_v2(result.data(), data, 4096, order));
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  EXPECT_EQ(result, std::vector<int>(1024, 25));
  EXPECT_CUDA(cuda().cuStreamQuery(order));
}

TEST_F(StreamTest, AStreamIsIdleOnceItsLastEventHasHappened) {
  const CUstream order = stream();
  CUevent event = nullptr;
  ASSERT_CUDA(cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 2000; ++i) {
    ASSERT_CUDA(cuda().cuEventRecord(event, order));
    ASSERT_CUDA(cuda().cuEventSynchronize(event));
    ASSERT_CUDA(cuda().cuStreamQuery(order)) << i;
  }
  EXPECT_CUDA(cuda().cuEventDestroy_v2(event));
}

TEST_F(StreamTest, StreamsRunAtTheSameTime) {
  // One kernel waits for a value that a kernel in another stream writes.
  const CUdeviceptr flag = allocate(4);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(flag, 0, 1));
  const CUstream waiting = stream(), releasing = stream();
  EXPECT_CUDA(launch(function(module, "spin"), waiting, 1, flag));
  EXPECT_EQ(cuda().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  EXPECT_CUDA(launch(function(module, "release"), releasing, 1, flag));
  EXPECT_CUDA(cuda().cuStreamSynchronize(waiting));
}

TEST_F(StreamTest, AStreamWaitsForAnEventOfAnother) {
  Gate gate;
  const CUstream first = stream(), second = stream();
  const CUevent done = event();
  const CUdeviceptr data = allocate(4);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 1, 1));
  EXPECT_CUDA(cuda().cuLaunchHostFunc(first, Gate::wait, &gate));
  EXPECT_CUDA(cuda().cuMemsetD32Async(data, 10, 1, first));
  EXPECT_CUDA(cuda().cuEventRecord(done, first));
  EXPECT_CUDA(cuda().cuStreamWaitEvent(second, done, 0));
  EXPECT_CUDA(launch(function(module, "add_one"), second, 1, data, 1));
  EXPECT_EQ(cuda().cuEventQuery(done), CUDA_ERROR_NOT_READY);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(cuda().cuStreamQuery(second), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(read(data), 1);
  gate.open();
  EXPECT_CUDA(cuda().cuEventSynchronize(done));
  EXPECT_CUDA(cuda().cuStreamSynchronize(second));
  EXPECT_EQ(read(data), 11);
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  Gate gate;
  const CUstream blocking = stream(CU_STREAM_DEFAULT), free = stream(CU_STREAM_NON_BLOCKING);
  std::atomic<int> order = 0;
  struct Note {
    std::atomic<int> *order;
    int at = 0;
    static void take(void *self) {
      auto *note = static_cast<Note *>(self);
      note->at = ++*note->order;
    }
  } afterGate{&order}, inLegacy{&order}, inFree{&order};
  EXPECT_CUDA(cuda().cuLaunchHostFunc(blocking, Gate::wait, &gate));
  EXPECT_CUDA(cuda().cuLaunchHostFunc(blocking, Note::take, &afterGate));
  EXPECT_CUDA(cuda().cuLaunchHostFunc(free, Note::take, &inFree));
  EXPECT_CUDA(cuda().cuStreamSynchronize(free)); // the gate does not block it
  std::thread opener([&] {
    std::this_thread::sleep_for(5ms);
    gate.open();
  });
  // Waits for `blocking`, and returns when the callback itself is done.
  EXPECT_CUDA(cuda().cuLaunchHostFunc(nullptr, Note::take, &inLegacy));
  opener.join();
  EXPECT_CUDA(cuda().cuCtxSynchronize());
  EXPECT_EQ(inFree.at, 1);
  EXPECT_EQ(afterGate.at, 2);
  EXPECT_EQ(inLegacy.at, 3);
}

TEST_F(StreamTest, ThreadsHaveDefaultStreamsOfTheirOwn) {
  auto *launchHost = reinterpret_cast<decltype(cuda().cuLaunchHostFunc)>(
      dlsym(cuda().library, "cuLaunchHostFunc_ptsz"));
  auto *synchronise = reinterpret_cast<decltype(cuda().cuStreamSynchronize)>(
      dlsym(cuda().library, "cuStreamSynchronize_ptsz"));
  ASSERT_TRUE(launchHost && synchronise);
  Gate gate;
  EXPECT_CUDA(launchHost(nullptr, Gate::wait, &gate)); // unlike the legacy stream, does not wait
  std::thread([&] {
    EXPECT_CUDA(cuda().cuCtxSetCurrent(context));
    Gate open;
    open.open();
    EXPECT_CUDA(launchHost(nullptr, Gate::wait, &open));
    EXPECT_CUDA(synchronise(nullptr)); // not blocked by the other thread's stream
    unsigned long long mine = 0, legacy = 0;
    EXPECT_CUDA(cuda().cuStreamGetId(perThreadStream, &mine));
    EXPECT_CUDA(cuda().cuStreamGetId(legacyStream, &legacy));
    EXPECT_NE(mine, legacy);
  }).join();
  gate.open();
  EXPECT_CUDA(synchronise(nullptr));
}

TEST_F(StreamTest, StreamsTellWhatTheyAre) {
  CUstream made = nullptr;
  EXPECT_CUDA(cuda().cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, -100));
  int priority = 1;
  unsigned flags = 0;
  CUcontext of = nullptr;
  CUdevice device = -1;
  EXPECT_CUDA(cuda().cuStreamGetPriority(made, &priority));
  EXPECT_EQ(priority, -5);
  EXPECT_CUDA(cuda().cuStreamGetFlags(made, &flags));
  EXPECT_EQ(flags, 1u);
  EXPECT_CUDA(cuda().cuStreamGetCtx(made, &of));
  EXPECT_EQ(of, context);
  EXPECT_CUDA(cuda().cuStreamGetDevice(made, &device));
  EXPECT_EQ(device, 0);
  CUlaunchAttributeValue value{};
  value.syncPolicy = 3;
  EXPECT_CUDA(
      cuda().cuStreamSetAttribute(made, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  CUstream copy = stream();
  EXPECT_CUDA(cuda().cuStreamCopyAttributes(copy, made));
  value = {};
  EXPECT_CUDA(
      cuda().cuStreamGetAttribute(copy, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_EQ(value.syncPolicy, 3);
  EXPECT_EQ(cuda().cuStreamGetAttribute(copy, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuStreamCreate(&made, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuStreamDestroy_v2(copy));
  EXPECT_EQ(cuda().cuStreamDestroy_v2(copy), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda().cuStreamQuery(copy), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda().cuStreamQuery(reinterpret_cast<CUstream>(module)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, ADestroyedStreamStillDoesItsWork) {
  Gate gate;
  const CUstream gone = stream();
  const CUevent done = event();
  const CUdeviceptr data = allocate(4);
  EXPECT_CUDA(cuda().cuLaunchHostFunc(gone, Gate::wait, &gate));
  EXPECT_CUDA(cuda().cuMemsetD32Async(data, 42, 1, gone));
  EXPECT_CUDA(cuda().cuEventRecord(done, gone));
  EXPECT_CUDA(cuda().cuStreamDestroy_v2(gone));
  gate.open();
  EXPECT_CUDA(cuda().cuEventSynchronize(done));
  EXPECT_EQ(read(data), 42);
}

TEST_F(StreamTest, CallbacksGetTheStateOfTheirStream) {
  struct Seen {
    CUstream stream = nullptr;
    CUresult status = CUDA_ERROR_UNKNOWN;
  } seen;
  const CUstream order = stream();
  EXPECT_CUDA(cuda().cuStreamAddCallback(
      order,
      [](CUstream stream, CUresult status, void *data) {
        *static_cast<Seen *>(data) = {stream, status};
      },
      &seen, 0));
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  EXPECT_EQ(seen.stream, order);
  EXPECT_EQ(seen.status, CUDA_SUCCESS);
  EXPECT_EQ(cuda().cuStreamAddCallback(order, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuStreamAttachMemAsync(order, 0, 0, CU_MEM_ATTACH_SINGLE));
  EXPECT_EQ(cuda().cuStreamAttachMemAsync(order, 0, 0, 99), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamTest, ValuesInMemoryOrderStreams) {
  const CUdeviceptr word = allocate(16);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(word, 0, 4));
  const CUstream waiting = stream(), writing = stream();
  EXPECT_CUDA(cuda().cuStreamWaitValue32_v2(waiting, word, 3, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_CUDA(cuda().cuStreamWaitValue64_v2(waiting, word + 8, 6, CU_STREAM_WAIT_VALUE_AND));
  EXPECT_CUDA(cuda().cuStreamWriteValue32_v2(waiting, word + 4, 9, 0));
  EXPECT_CUDA(cuda().cuStreamWriteValue32_v2(writing, word, 4, 0));
  EXPECT_CUDA(cuda().cuStreamSynchronize(writing));
  EXPECT_EQ(cuda().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  EXPECT_CUDA(cuda().cuStreamWriteValue64_v2(writing, word + 8, 2, 0));
  EXPECT_CUDA(cuda().cuStreamSynchronize(waiting));
  EXPECT_EQ(read(word + 4), 9);
  EXPECT_EQ(cuda().cuStreamWriteValue64_v2(writing, word + 4, 2, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuStreamWaitValue32_v2(writing, word, 2, 7), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamTest, EventsMeasureTime) {
  const CUevent start = event(), end = event(), untimed = event(CU_EVENT_DISABLE_TIMING);
  float milliseconds = -1;
  EXPECT_EQ(cuda().cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
  const CUstream order = stream();
  EXPECT_CUDA(cuda().cuEventRecord(start, order));
  EXPECT_CUDA(
      cuda().cuLaunchHostFunc(order, [](void *) { std::this_thread::sleep_for(3ms); }, nullptr));
  EXPECT_CUDA(cuda().cuEventRecordWithFlags(end, order, 0));
  EXPECT_CUDA(cuda().cuEventRecord(untimed, order));
  EXPECT_CUDA(cuda().cuEventSynchronize(end));
  EXPECT_CUDA(cuda().cuEventElapsedTime_v2(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 3.0f);
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  EXPECT_EQ(cuda().cuEventElapsedTime(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CUDA(cuda().cuEventDestroy_v2(start));
  EXPECT_EQ(cuda().cuEventQuery(start), CUDA_ERROR_INVALID_HANDLE);
  CUevent shared = nullptr;
  EXPECT_EQ(cuda().cuEventCreate(&shared, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuEventCreate(&shared, 64), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamTest, EventsAreOfTheContextOfTheirStream) {
  const CUevent mine = event();
  EXPECT_CUDA(cuda().cuEventQuery(mine)); // never recorded: nothing to wait for
  CUcontext other = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, 0, 1));
  EXPECT_EQ(cuda().cuEventRecord(mine, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CUDA(cuda().cuStreamWaitEvent(nullptr, mine, 0)); // a wait may cross devices
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
}

TEST_F(StreamTest, ManyThreadsAndStreams) {
  constexpr int threads = 6, rounds = 15, elements = 2048;
  const CUfunction addOne = function(module, "add_one");
  std::vector<std::thread> all;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      auto check = [&](CUresult result) { wrong += result != CUDA_SUCCESS; };
      check(cuda().cuCtxSetCurrent(context));
      CUstream first = nullptr, second = nullptr;
      CUevent between = nullptr;
      check(cuda().cuStreamCreate(&first, t % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
      check(cuda().cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
      check(cuda().cuEventCreate(&between, 0));
      std::vector<int> result(elements);
      for (int round = 0; round < rounds; ++round) {
        CUdeviceptr data = 0;
        check(cuda().cuMemAllocAsync(&data, elements * 4, first));
        check(cuda().cuMemsetD32Async(data, static_cast<unsigned>(t), elements, first));
        check(launch(addOne, first, elements / 32, data, elements));
        check(cuda().cuEventRecord(between, first));
        check(cuda().cuStreamWaitEvent(second, between, 0));
        check(launch(addOne, second, elements / 32, data, elements));
        check(cuda().cuMemcpyDtoHAsync_v2(result.data(), data, elements * 4, second));
        check(cuda().cuMemFreeAsync(data, second));
        check(cuda().cuStreamSynchronize(second));
        for (int value : result)
          wrong += value != t + 2;
      }
      check(cuda().cuStreamDestroy_v2(first));
      check(cuda().cuStreamDestroy_v2(second));
      check(cuda().cuEventDestroy_v2(between));
    });
  for (std::thread &one : all)
    one.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace tilewright::vgpu::driver
