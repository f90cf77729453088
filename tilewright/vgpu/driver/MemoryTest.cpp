// Memory, pools, copies, fills and pointer attributes.
#include "tilewright/vgpu/driver/testing/Driver.h"

#include "gmock/gmock.h"

#include <atomic>
#include <cstring>
#include <numeric>

namespace tilewright::vgpu::driver {
namespace {

class MemoryTest : public DriverTest {};

constexpr size_t megabyte = size_t(1) << 20;

TEST_F(MemoryTest, MemoryIsCountedAndCanRunOut) {
  size_t before = 0, during = 0, total = 0;
  EXPECT_CUDA(cuda().cuMemGetInfo_v2(&before, &total));
  const CUdeviceptr address = allocate(16 * megabyte);
  EXPECT_EQ(address % 512, 0u);
  EXPECT_CUDA(cuda().cuMemGetInfo_v2(&during, &total));
  EXPECT_EQ(before - during, 16 * megabyte);
  CUdeviceptr more = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&more, 64 * megabyte), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuda().cuMemAlloc_v2(&more, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemFree_v2(address));
  EXPECT_CUDA(cuda().cuMemGetInfo_v2(&during, &total));
  EXPECT_EQ(before, during);
}

TEST_F(MemoryTest, OnlyTheBeginningIsFreed) {
  const CUdeviceptr address = allocate(1024);
  EXPECT_EQ(cuda().cuMemFree_v2(address + 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemFree_v2(address));
  EXPECT_EQ(cuda().cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemFree_v2(0));
}

TEST_F(MemoryTest, ADestroyedContextGivesItsMemoryBack) {
  size_t before = 0, after = 0, total = 0;
  EXPECT_CUDA(cuda().cuMemGetInfo_v2(&before, &total));
  CUcontext other = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, 0, 0));
  allocate(megabyte);
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
  EXPECT_CUDA(cuda().cuMemGetInfo_v2(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(MemoryTest, RangesAreFound) {
  const CUdeviceptr address = allocate(1000);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_CUDA(cuda().cuMemGetAddressRange_v2(&base, &size, address + 999));
  EXPECT_EQ(base, address);
  EXPECT_EQ(size, 1000u);
  int onStack = 0;
  EXPECT_EQ(cuda().cuMemGetAddressRange_v2(&base, &size, reinterpret_cast<CUdeviceptr>(&onStack)),
            CUDA_ERROR_NOT_FOUND);
  CUdeviceptr pitched = 0;
  size_t pitch = 0;
  EXPECT_CUDA(cuda().cuMemAllocPitch_v2(&pitched, &pitch, 100, 7, 4));
  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(cuda().cuMemAllocPitch_v2(&pitched, &pitch, 100, 7, 3), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, PointersOfAllKindsTellWhatTheyAre) {
  const CUdeviceptr device = allocate(64);
  CUdeviceptr managed = 0;
  void *host = nullptr;
  EXPECT_CUDA(cuda().cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  EXPECT_CUDA(cuda().cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_PORTABLE));
  auto number = [&](CUpointer_attribute attribute, CUdeviceptr pointer) {
    unsigned long long value = 0;
    EXPECT_CUDA(cuda().cuPointerGetAttribute(&value, attribute, pointer));
    return value;
  };
  const auto hostAddress = reinterpret_cast<CUdeviceptr>(host);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device), CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, hostAddress), CU_MEMORYTYPE_HOST);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), 1u);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_IS_MANAGED, device), 0u);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, device + 5), device + 5);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 5), device);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 5), 64u);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device), 0u);
  EXPECT_EQ(number(CU_POINTER_ATTRIBUTE_CONTEXT, device), reinterpret_cast<uintptr_t>(context));
  EXPECT_NE(number(CU_POINTER_ATTRIBUTE_BUFFER_ID, device),
            number(CU_POINTER_ATTRIBUTE_BUFFER_ID, managed));
  unsigned long long value = 0;
  EXPECT_EQ(cuda().cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_HOST_POINTER, device),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(99), device),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemFree_v2(managed));
  EXPECT_CUDA(cuda().cuMemFreeHost(host));
}

TEST_F(MemoryTest, MemoryThatIsNotRegisteredIsNotTheDevices) {
  std::vector<int> plain(32);
  const auto address = reinterpret_cast<CUdeviceptr>(plain.data());
  CUdeviceptr device = 0;
  EXPECT_EQ(cuda().cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address),
            CUDA_ERROR_INVALID_VALUE);
  unsigned type = 77;
  EXPECT_EQ(cuda().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
            CUDA_ERROR_INVALID_VALUE);
  int ordinal = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *values[] = {&type, &ordinal};
  EXPECT_CUDA(cuda().cuPointerGetAttributes(2, wanted, values, address));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, -2);
  // Kernels cannot access it until it is registered.
  CUfunction addOne = function(load(testPtx), "add_one");
  EXPECT_CUDA(cuda().cuMemHostRegister_v2(plain.data(), 128, 0));
  EXPECT_CUDA(cuda().cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address));
  EXPECT_EQ(device, address);
  EXPECT_CUDA(launch(addOne, nullptr, 1, address, 32));
  EXPECT_EQ(plain, std::vector<int>(32, 1));
  EXPECT_CUDA(cuda().cuMemHostUnregister(plain.data()));
  EXPECT_EQ(launch(addOne, nullptr, 1, address, 32), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(plain, std::vector<int>(32, 1));
}

TEST_F(MemoryTest, CopiesAndFillsStayInsideOfAllocations) {
  const CUdeviceptr address = allocate(1000);
  std::vector<char> host(4096);
  EXPECT_CUDA(cuda().cuMemcpyHtoD_v2(address, host.data(), 1000));
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(address, host.data(), 1001), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), address + 4, 1000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemcpyDtoD_v2(address, address - 512, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemcpy(address, reinterpret_cast<CUdeviceptr>(host.data()), 2000),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemcpy(address, reinterpret_cast<CUdeviceptr>(host.data()), 1000));
  EXPECT_EQ(cuda().cuMemsetD32_v2(address, 1, 251), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemsetD8_v2(address, 1, ~size_t(0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemsetD2D8_v2(address, ~size_t(0) / 2, 1, 4, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemFree_v2(address));
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(address, host.data(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemcpy(address, reinterpret_cast<CUdeviceptr>(host.data()), 4),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, HostMemoryIsRegisteredOnce) {
  std::vector<int> memory(100);
  EXPECT_CUDA(cuda().cuMemHostRegister_v2(memory.data(), 400, CU_MEMHOSTREGISTER_PORTABLE));
  EXPECT_EQ(cuda().cuMemHostRegister_v2(memory.data() + 10, 4, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CUdeviceptr device = 0;
  EXPECT_CUDA(cuda().cuMemHostGetDevicePointer_v2(&device, memory.data(), 0));
  EXPECT_EQ(device, reinterpret_cast<CUdeviceptr>(memory.data()));
  unsigned flags = 0;
  EXPECT_CUDA(cuda().cuMemHostGetFlags(&flags, memory.data()));
  EXPECT_EQ(flags & CU_MEMHOSTREGISTER_PORTABLE, 1u);
  EXPECT_EQ(cuda().cuMemHostUnregister(memory.data() + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_CUDA(cuda().cuMemHostUnregister(memory.data()));
  EXPECT_EQ(cuda().cuMemHostUnregister(memory.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(cuda().cuMemHostGetDevicePointer_v2(&device, memory.data(), 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, ManagedMemoryTakesAdvice) {
  CUdeviceptr managed = 0;
  EXPECT_CUDA(cuda().cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  int value = -5;
  EXPECT_CUDA(cuda().cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
  EXPECT_CUDA(
      cuda().cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, 4096));
  EXPECT_EQ(value, 1);
  EXPECT_CUDA(cuda().cuMemAdvise_v2(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                    {CU_MEM_LOCATION_TYPE_DEVICE, 1}));
  EXPECT_CUDA(cuda().cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                                            managed, 1));
  EXPECT_EQ(value, 1);
  EXPECT_CUDA(cuda().cuMemPrefetchAsync(managed, 4096, deviceCpu, nullptr));
  int prefetched = 0, devices[4] = {};
  void *data[] = {&prefetched, devices};
  size_t sizes[] = {4, sizeof(devices)};
  CUmem_range_attribute wanted[] = {CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
                                    CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};
  EXPECT_CUDA(cuda().cuMemRangeGetAttributes(data, sizes, wanted, 2, managed, 4096));
  EXPECT_EQ(prefetched, deviceCpu);
  EXPECT_THAT(devices, ::testing::ElementsAre(0, 1, 2, deviceInvalid));
  EXPECT_EQ(cuda().cuMemAdvise(managed, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemPrefetchAsync(managed, 16, 17, nullptr), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_CUDA(cuda().cuMemFree_v2(managed));
}

TEST_F(MemoryTest, CopiesInAllDirections) {
  std::vector<int> from(256), to(256);
  std::iota(from.begin(), from.end(), 1);
  const CUdeviceptr first = allocate(1024), second = allocate(1024);
  EXPECT_CUDA(cuda().cuMemcpyHtoD_v2(first, from.data(), 1024));
  EXPECT_CUDA(cuda().cuMemcpyDtoD_v2(second, first, 1024));
  EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(to.data(), second, 1024));
  EXPECT_EQ(from, to);
  to.assign(256, 0);
  EXPECT_CUDA(cuda().cuMemcpy(reinterpret_cast<CUdeviceptr>(to.data()), second, 512));
  EXPECT_EQ(to[127], 128);
  EXPECT_EQ(to[128], 0);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(0, from.data(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemcpyHtoD_v2(0, nullptr, 0));
}

TEST_F(MemoryTest, CopiesBetweenDevices) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, 0, 1));
  const CUdeviceptr there = allocate(64);
  EXPECT_CUDA(cuda().cuMemsetD8_v2(there, 7, 64));
  EXPECT_CUDA(cuda().cuCtxPopCurrent_v2(nullptr));
  const CUdeviceptr here = allocate(64);
  EXPECT_CUDA(cuda().cuMemcpyPeer(here, context, there, other, 64));
  std::array<char, 64> bytes{};
  EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(bytes.data(), here, 64));
  EXPECT_EQ(bytes[63], 7);
  EXPECT_EQ(cuda().cuMemcpyPeer(here, context, there, nullptr, 64), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D_PEER box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = here;
  box.dstDevice = there;
  box.srcContext = context;
  box.dstContext = other;
  box.WidthInBytes = 4;
  box.Height = box.Depth = 1;
  EXPECT_CUDA(cuda().cuMemcpy3DPeer(&box));
  EXPECT_CUDA(cuda().cuMemcpyPeerAsync(there, other, here, context, 64, nullptr));
  EXPECT_CUDA(cuda().cuCtxSynchronize());
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
}

TEST_F(MemoryTest, BoxesAreCopied) {
  // A 3 by 2 box, from row 1 and byte 1 on, in rows of 8 bytes.
  std::vector<char> from(64), to(64, '.');
  std::iota(from.begin(), from.end(), 'a');
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = 8;
  copy.srcXInBytes = 1;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(to.data());
  copy.dstPitch = 4;
  copy.WidthInBytes = 3;
  copy.Height = 2;
  EXPECT_CUDA(cuda().cuMemcpy2D_v2(&copy));
  EXPECT_EQ(std::string(to.data(), 8), "jkl.rst.");
  copy.srcPitch = 2;
  EXPECT_EQ(cuda().cuMemcpy2DUnaligned_v2(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuda().cuMemcpy2D_v2(&copy), CUDA_ERROR_NOT_SUPPORTED);

  CUDA_MEMCPY3D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = from.data();
  box.dstHost = to.data();
  box.srcPitch = 4;
  box.srcHeight = 3;
  box.srcZ = 1;
  box.dstPitch = 2;
  box.dstHeight = 2;
  box.WidthInBytes = 2;
  box.Height = 2;
  box.Depth = 2;
  EXPECT_CUDA(cuda().cuMemcpy3D_v2(&box));
  // Slice 1 begins at byte 12, its second row at 16; slice 2 at 24 and 28.
  const std::string expected = {from[12], from[13], from[16], from[17],
                                from[24], from[25], from[28], from[29]};
  EXPECT_EQ(std::string(to.data(), 8), expected);
  box.srcHeight = 1;
  EXPECT_EQ(cuda().cuMemcpy3D_v2(&box), CUDA_ERROR_INVALID_VALUE);
}

/// The stream is held back until the source has changed.
TEST_F(MemoryTest, AnAsynchronousCopyReadsPageableMemoryBeforeItReturns) {
  const CUstream order = stream();
  void *flag = nullptr;
  EXPECT_CUDA(cuda().cuMemAllocHost_v2(&flag, 4));
  std::memset(flag, 0, 4);
  std::vector<char> from(64, 'a'), rows(64, 'b'), to(64);
  const CUdeviceptr first = allocate(64), second = allocate(64);
  EXPECT_CUDA(cuda().cuStreamWaitValue32_v2(order, reinterpret_cast<CUdeviceptr>(flag), 1,
                                            CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_CUDA(cuda().cuMemcpyHtoDAsync_v2(first, from.data(), 64, order));
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcHost = rows.data();
  box.srcPitch = 16;
  box.dstDevice = second;
  box.dstPitch = box.WidthInBytes = 8;
  box.Height = 4;
  EXPECT_CUDA(cuda().cuMemcpy2DAsync_v2(&box, order));
  std::fill(from.begin(), from.end(), 'x');
  std::fill(rows.begin(), rows.end(), 'x');
  EXPECT_CUDA(cuda().cuMemcpyAsync(second + 32, first, 32, order));
  std::atomic_ref(*static_cast<uint32_t *>(flag)).store(1);
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(to.data(), second, 64));
  EXPECT_EQ(std::string(to.data(), 64), std::string(32, 'b') + std::string(32, 'a'));
  EXPECT_CUDA(cuda().cuMemFreeHost(flag));
}

TEST_F(MemoryTest, CopiesInTheOrderOfAStream) {
  const CUstream order = stream();
  void *host = nullptr;
  EXPECT_CUDA(cuda().cuMemAllocHost_v2(&host, 64));
  std::memset(host, 3, 64);
  const CUdeviceptr first = allocate(64), second = allocate(64);
  EXPECT_CUDA(cuda().cuMemcpyHtoDAsync_v2(first, host, 64, order));
  EXPECT_CUDA(cuda().cuMemcpyAsync(second, first, 32, order));
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = first;
  rows.dstDevice = second + 32;
  rows.srcPitch = rows.dstPitch = 8;
  rows.WidthInBytes = 4;
  rows.Height = 2;
  EXPECT_CUDA(cuda().cuMemcpy2DAsync_v2(&rows, order));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = first;
  box.dstDevice = second + 48;
  box.WidthInBytes = 2;
  box.Height = box.Depth = 1;
  EXPECT_CUDA(cuda().cuMemcpy3DAsync_v2(&box, order));
  CUDA_MEMCPY3D_PEER peer{};
  peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.srcDevice = first;
  peer.dstDevice = second + 56;
  peer.srcContext = peer.dstContext = context;
  peer.WidthInBytes = 1;
  peer.Height = peer.Depth = 1;
  EXPECT_CUDA(cuda().cuMemcpy3DPeerAsync(&peer, order));
  peer.srcContext = nullptr;
  EXPECT_EQ(cuda().cuMemcpy3DPeerAsync(&peer, order), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  std::array<char, 64> bytes{};
  EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(bytes.data(), second, 64));
  EXPECT_EQ(bytes[31], 3);
  EXPECT_EQ(bytes[35], 3);
  EXPECT_EQ(bytes[43], 3);
  EXPECT_EQ(bytes[49], 3);
  EXPECT_EQ(bytes[56], 3);
  const unsigned on = 1;
  EXPECT_CUDA(cuda().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, first));
  EXPECT_EQ(cuda().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_CONTEXT, first),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemFreeHost(host));
  EXPECT_EQ(cuda().cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, FillsOfAllSizes) {
  const CUdeviceptr address = allocate(64);
  std::array<uint8_t, 64> bytes{};
  auto read = [&] { EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(bytes.data(), address, 64)); };
  EXPECT_CUDA(cuda().cuMemsetD8_v2(address, 0xab, 64));
  read();
  EXPECT_EQ(bytes[63], 0xab);
  EXPECT_CUDA(cuda().cuMemsetD16_v2(address, 0x1234, 4));
  EXPECT_CUDA(cuda().cuMemsetD32_v2(address + 8, 0x89abcdef, 2));
  read();
  EXPECT_EQ(bytes[6], 0x34);
  EXPECT_EQ(bytes[15], 0x89);
  EXPECT_EQ(bytes[16], 0xab);
  EXPECT_CUDA(cuda().cuMemsetD2D8_v2(address, 16, 1, 2, 3));
  EXPECT_CUDA(cuda().cuMemsetD2D16_v2(address + 4, 16, 0x0202, 1, 2));
  EXPECT_CUDA(cuda().cuMemsetD2D32_v2(address + 8, 16, 0x03030303, 1, 2));
  read();
  EXPECT_EQ(bytes[33], 1);
  EXPECT_EQ(bytes[21], 2);
  EXPECT_EQ(bytes[27], 3);
  EXPECT_EQ(cuda().cuMemsetD16_v2(address + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemsetD2D32_v2(address, 4, 0, 2, 2), CUDA_ERROR_INVALID_VALUE);
  const CUstream order = stream();
  EXPECT_CUDA(cuda().cuMemsetD8Async(address, 1, 64, order));
  EXPECT_CUDA(cuda().cuMemsetD16Async(address, 0x0202, 16, order));
  EXPECT_CUDA(cuda().cuMemsetD32Async(address, 0x03030303, 4, order));
  EXPECT_CUDA(cuda().cuMemsetD2D8Async(address, 16, 4, 1, 1, order));
  EXPECT_CUDA(cuda().cuMemsetD2D16Async(address + 60, 16, 0x0505, 1, 1, order));
  EXPECT_CUDA(cuda().cuMemsetD2D32Async(address + 4, 16, 0x06060606, 1, 1, order));
  EXPECT_CUDA(cuda().cuMemcpyDtoHAsync_v2(bytes.data(), address, 64, order));
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  EXPECT_EQ(bytes[0], 4);
  EXPECT_EQ(bytes[5], 6);
  EXPECT_EQ(bytes[12], 3);
  EXPECT_EQ(bytes[31], 2);
  EXPECT_EQ(bytes[60], 5);
  EXPECT_EQ(bytes[63], 1);
}

TEST_F(MemoryTest, PoolsKeepAndCount) {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  properties.maxSize = 8 * megabyte;
  EXPECT_CUDA(cuda().cuMemPoolCreate(&pool, &properties));
  uint64_t threshold = ~uint64_t(0), value = 0;
  EXPECT_CUDA(cuda().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  const CUstream order = stream();
  CUdeviceptr first = 0, second = 0;
  EXPECT_CUDA(cuda().cuMemAllocFromPoolAsync(&first, megabyte, pool, order));
  auto read = [&](CUmemPool_attribute attribute) {
    EXPECT_CUDA(cuda().cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  };
  EXPECT_EQ(read(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), megabyte);
  EXPECT_CUDA(cuda().cuMemFreeAsync(first, order));
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  EXPECT_EQ(read(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(read(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), megabyte);
  EXPECT_CUDA(cuda().cuMemAllocFromPoolAsync(&second, megabyte, pool, order));
  EXPECT_EQ(first, second) << "what was kept is used again";
  EXPECT_EQ(cuda().cuMemAllocFromPoolAsync(&first, 16 * megabyte, pool, order),
            CUDA_ERROR_OUT_OF_MEMORY);
  CUmemoryPool of = nullptr;
  EXPECT_CUDA(cuda().cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, second));
  EXPECT_EQ(of, pool);
  EXPECT_CUDA(cuda().cuMemFree_v2(second));
  EXPECT_CUDA(cuda().cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(read(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EQ(read(CU_MEMPOOL_ATTR_USED_MEM_HIGH), megabyte);
  value = 0;
  EXPECT_CUDA(cuda().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
  EXPECT_EQ(read(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0u);
  int reuse = 0;
  EXPECT_CUDA(
      cuda().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
  reuse = 5;
  EXPECT_CUDA(
      cuda().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
  EXPECT_EQ(reuse, 0);
  EXPECT_CUDA(cuda().cuMemPoolDestroy(pool));
  EXPECT_EQ(cuda().cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, PoolsOfADevice) {
  CUmemoryPool standard = nullptr, current = nullptr, made = nullptr;
  EXPECT_CUDA(cuda().cuDeviceGetDefaultMemPool(&standard, 0));
  EXPECT_CUDA(cuda().cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(standard, current);
  EXPECT_EQ(cuda().cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
  CUmemPoolProps properties{};
  EXPECT_EQ(cuda().cuMemPoolCreate(&made, &properties), CUDA_ERROR_INVALID_VALUE);
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_CUDA(cuda().cuMemPoolCreate(&made, &properties));
  EXPECT_CUDA(cuda().cuDeviceSetMemPool(0, made));
  EXPECT_EQ(cuda().cuDeviceSetMemPool(1, made), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  EXPECT_CUDA(cuda().cuMemAllocAsync(&address, 100, nullptr));
  EXPECT_CUDA(cuda().cuPointerGetAttribute(&current, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
  EXPECT_EQ(current, made);
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemAccess_flags flags{};
  EXPECT_CUDA(cuda().cuMemPoolGetAccess(&flags, made, &access.location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_CUDA(cuda().cuMemPoolSetAccess(made, &access, 1));
  EXPECT_CUDA(cuda().cuMemPoolGetAccess(&flags, made, &access.location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_CUDA(cuda().cuMemFreeAsync(address, nullptr));
  EXPECT_EQ(cuda().cuMemFreeAsync(address + 8, nullptr), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr plain = allocate(8);
  EXPECT_EQ(cuda().cuMemFreeAsync(plain, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemPoolDestroy(made));
  EXPECT_CUDA(cuda().cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, standard);
}

} // namespace
} // namespace tilewright::vgpu::driver
