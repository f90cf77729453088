#include "tilewright/plugin/testing/Api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <thread>

namespace tilewright::plugin {
namespace {

using testing::ElementsAre;

TEST(PluginBuffer, GoesThereAndBack) {
  TestClient client;
  PJRT_Buffer *buffer = makeBuffer(client, {1, 2, 3, 4, 5, 6}, {2, 3});
  TILEWRIGHT_CALL(Buffer_Dimensions, dims, buffer, buffer);
  EXPECT_THAT(std::vector(dims.dims, dims.dims + dims.num_dims), ElementsAre(2, 3));
  TILEWRIGHT_CALL(Buffer_ElementType, type, buffer, buffer);
  EXPECT_EQ(type.type, PJRT_Buffer_Type_F32);
  TILEWRIGHT_CALL(Buffer_Memory, memory, buffer, buffer);
  EXPECT_EQ(memory.memory, client.memory());
  TILEWRIGHT_CALL(Buffer_GetMemoryLayout, layout, buffer, buffer);
  EXPECT_THAT(
      std::vector(layout.layout.tiled.minor_to_major,
                  layout.layout.tiled.minor_to_major + layout.layout.tiled.minor_to_major_size),
      ElementsAre(1, 0));
  EXPECT_THAT(read(buffer), ElementsAre(1, 2, 3, 4, 5, 6));
  destroyBuffer(buffer);
}

/// The strides that NumPy passes for x.T and x[::-1].
TEST(PluginBuffer, HonoursStrides) {
  TestClient client;
  PJRT_Buffer *transposed = makeBuffer(client, {1, 2, 3, 4, 5, 6}, {3, 2}, {4, 12});
  EXPECT_THAT(read(transposed), ElementsAre(1, 4, 2, 5, 3, 6));
  PJRT_Buffer *reversed = makeBuffer(client, {1, 2, 3}, {3}, {-4}, /*offset=*/2);
  EXPECT_THAT(read(reversed), ElementsAre(3, 2, 1));
  destroyBuffer(transposed);
  destroyBuffer(reversed);
}

TEST(PluginBuffer, ReadsInTheOrderThatTheHostWants) {
  TestClient client;
  PJRT_Buffer *buffer = makeBuffer(client, {1, 2, 3, 4, 5, 6}, {2, 3});
  int64_t order[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = order;
  layout.tiled.minor_to_major_size = 2;
  std::vector<float> values(6);
  TILEWRIGHT_ARGS(Buffer_ToHostBuffer, args);
  args.src = buffer;
  args.host_layout = &layout;
  args.dst = values.data();
  args.dst_size = 24;
  ASSERT_CALL_OK(pjrtApi().PJRT_Buffer_ToHostBuffer(&args));
  EXPECT_EQ(await(args.event), "");
  EXPECT_THAT(values, ElementsAre(1, 4, 2, 5, 3, 6));

  args.dst_size = 23;
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Buffer_ToHostBuffer(&args), Error::pluginArguments);
  order[0] = 1;
  args.dst_size = 24;
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Buffer_ToHostBuffer(&args), Error::pluginLayout);
  destroyBuffer(buffer);
}

TEST(PluginBuffer, RefusesTypesWithoutElements) {
  TestClient client;
  TILEWRIGHT_ARGS(Client_CreateUninitializedBuffer, args);
  args.client = client.client;
  args.shape_dims = nullptr;
  args.shape_num_dims = 0;
  args.shape_element_type = PJRT_Buffer_Type_TOKEN;
  args.shape_layout = nullptr;
  args.device = nullptr;
  args.memory = client.memory();
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Client_CreateUninitializedBuffer(&args), Error::pluginType);
}

TEST(PluginBuffer, CannotBeUsedAfterDelete) {
  TestClient client;
  PJRT_Buffer *buffer = makeBuffer(client, {1}, {1});
  TILEWRIGHT_CALL(Buffer_Delete, args, buffer, buffer);
  TILEWRIGHT_CALL(Buffer_IsDeleted, deleted, buffer, buffer);
  EXPECT_TRUE(deleted.is_deleted);
  TILEWRIGHT_CALL(Buffer_ReadyEvent, ready, buffer, buffer);
  EXPECT_THAT(await(ready.event), testing::StartsWith(idOf(Error::bufferDeleted)));
  destroyBuffer(buffer);
}

TEST(PluginBuffer, CopiesToAnotherMemory) {
  TestClient client;
  PJRT_Buffer *buffer = makeBuffer(client, {1, 2}, {2});
  TILEWRIGHT_ARGS(Buffer_CopyToMemory, args);
  args.buffer = buffer;
  args.dst_memory = client.memory(1);
  ASSERT_CALL_OK(pjrtApi().PJRT_Buffer_CopyToMemory(&args));
  EXPECT_THAT(read(args.dst_buffer), ElementsAre(1, 2));
  destroyBuffer(args.dst_buffer);
  destroyBuffer(buffer);
}

TEST(PluginBuffer, OfAnErrorFailsItsReaders) {
  TestClient client;
  TILEWRIGHT_ARGS(Client_CreateErrorBuffer, args);
  int64_t dims[] = {2};
  args.client = client.client;
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = "lost";
  args.error_message_size = 4;
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.shape_layout = nullptr;
  args.memory = client.memory();
  ASSERT_CALL_OK(pjrtApi().PJRT_Client_CreateErrorBuffer(&args));
  TILEWRIGHT_CALL(Buffer_ReadyEvent, ready, buffer, args.buffer);
  EXPECT_EQ(await(ready.event), "lost");
  destroyBuffer(args.buffer);
}

/// The arguments for a view of four f32 in the client's first memory.
static PJRT_Client_CreateViewOfDeviceBuffer_Args viewOf(const TestClient &client, void *data) {
  static const int64_t dims[] = {4};
  TILEWRIGHT_ARGS(Client_CreateViewOfDeviceBuffer, args);
  args.client = client.client;
  args.device_buffer_ptr = data;
  args.dims = dims;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.layout = nullptr;
  args.device = nullptr;
  args.on_delete_callback = nullptr;
  args.on_delete_callback_arg = nullptr;
  args.stream = 0;
  args.memory = client.memory();
  return args;
}

TEST(PluginBuffer, ViewsMemoryOfOthersUntilItIsFreed) {
  TestClient client;
  static int released = 0;
  released = 0;
  for (size_t offset : {0, 1}) { // aligned as we require, and not: then the bytes are copied
    alignas(64) static float data[32] = {};
    std::fill(data, data + 32, 7.0f);
    auto args = viewOf(client, data + offset);
    args.on_delete_callback = [](void *, void *) { ++released; };
    ASSERT_CALL_OK(pjrtApi().PJRT_Client_CreateViewOfDeviceBuffer(&args));
    EXPECT_EQ(released, int(offset ? 2 : 0));
    EXPECT_THAT(read(args.buffer), ElementsAre(7, 7, 7, 7));
    destroyBuffer(args.buffer);
    EXPECT_EQ(released, int(offset ? 2 : 1));
  }
}

/// jaxlib passes the bytes of a buffer on the CPU to NumPy, which reads them on the host.
TEST(PluginBuffer, IsOnTheCpuIfTheHostCanReadIt) {
  auto isOnCpu = [](PJRT_Buffer *buffer) {
    TILEWRIGHT_CALL(Buffer_IsOnCpu, args, buffer, buffer);
    destroyBuffer(buffer);
    return args.is_on_cpu;
  };
  TestClient cpu, gpu(1, "vgpu:sm_90a");
  EXPECT_TRUE(isOnCpu(makeBuffer(cpu, {1}, {1})));
  PJRT_Buffer *onDevice = makeBuffer(gpu, {1}, {1});
  TILEWRIGHT_ARGS(Buffer_CopyToMemory, copy);
  copy.buffer = onDevice;
  copy.dst_memory = gpu.memory(1);
  ASSERT_CALL_OK(pjrtApi().PJRT_Buffer_CopyToMemory(&copy));
  EXPECT_TRUE(isOnCpu(copy.dst_buffer)) << "pinned_host";
  EXPECT_FALSE(isOnCpu(onDevice));
}

/// A GPU gets a copy of host memory, such as an array of NumPy from DLPack, and a view of its own
/// memory.
TEST(PluginBuffer, ViewsOnlyMemoryThatTheDeviceHas) {
  TestClient gpu(1, "vgpu:sm_90a");
  alignas(64) static float data[4] = {1, 2, 3, 4};
  static int released = 0;
  released = 0;
  auto host = viewOf(gpu, data);
  host.on_delete_callback = [](void *, void *) { ++released; };
  ASSERT_CALL_OK(pjrtApi().PJRT_Client_CreateViewOfDeviceBuffer(&host));
  EXPECT_EQ(released, 1) << "the copy does not use the original";
  auto addressOf = [](PJRT_Buffer *buffer) {
    TILEWRIGHT_CALL(Buffer_UnsafePointer, args, buffer, buffer);
    return reinterpret_cast<float *>(args.buffer_pointer);
  };
  EXPECT_NE(addressOf(host.buffer), data);
  data[0] = 9;
  EXPECT_THAT(read(host.buffer), ElementsAre(1, 2, 3, 4));

  auto device = viewOf(gpu, addressOf(host.buffer));
  ASSERT_CALL_OK(pjrtApi().PJRT_Client_CreateViewOfDeviceBuffer(&device));
  EXPECT_EQ(addressOf(device.buffer), addressOf(host.buffer));
  EXPECT_THAT(read(device.buffer), ElementsAre(1, 2, 3, 4));
  destroyBuffer(device.buffer);

  device.memory = gpu.memory(1);
  EXPECT_THAT(messageOf(pjrtApi().PJRT_Client_CreateViewOfDeviceBuffer(&device)),
              testing::AllOf(testing::StartsWith(idOf(Error::pluginArguments)),
                             testing::HasSubstr("is on cuda:0, so a buffer in memory 'cuda:0 "
                                                "pinned_host' cannot be a view of it")));
  device.memory = gpu.memory();
  device.device_buffer_ptr = addressOf(host.buffer) + 1;
  EXPECT_THAT(messageOf(pjrtApi().PJRT_Client_CreateViewOfDeviceBuffer(&device)),
              testing::HasSubstr("it is not aligned to 64 bytes"));
  destroyBuffer(host.buffer);
}

/// Another library's kernels may still write the memory when it passes an array, on its own stream
/// or on the default one.
TEST(PluginBuffer, AViewOfDeviceMemoryWaitsForTheStreamThatWritesIt) {
  TestClient gpu(1, "vgpu:sm_90a");
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_TRUE(driver) << dlerror();
  using Work = void(void *);
  auto *create = reinterpret_cast<int (*)(void **, unsigned)>(dlsym(driver, "cuStreamCreate"));
  auto *destroy = reinterpret_cast<int (*)(void *)>(dlsym(driver, "cuStreamDestroy_v2"));
  auto *launch =
      reinterpret_cast<int (*)(void *, Work *, void *)>(dlsym(driver, "cuLaunchHostFunc"));
  auto *retain = reinterpret_cast<int (*)(void **, int)>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
  auto *makeCurrent = reinterpret_cast<int (*)(void *)>(dlsym(driver, "cuCtxSetCurrent"));
  ASSERT_TRUE(create && destroy && launch && retain && makeCurrent);
  void *context = nullptr, *own = nullptr;
  ASSERT_EQ(retain(&context, 0), 0);
  ASSERT_EQ(makeCurrent(context), 0);
  ASSERT_EQ(create(&own, 1 /*non-blocking*/), 0);

  PJRT_Buffer *memory = makeBuffer(gpu, {1, 2, 3, 4}, {4});
  TILEWRIGHT_CALL(Buffer_UnsafePointer, address, buffer, memory);
  for (void *stream : {own, static_cast<void *>(nullptr)}) {
    static std::atomic<bool> isWritten;
    isWritten = false;
    Work *work = [](void *) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      isWritten = true;
    };
    ASSERT_EQ(launch(stream, work, nullptr), 0);
    auto args = viewOf(gpu, reinterpret_cast<void *>(address.buffer_pointer));
    args.stream = reinterpret_cast<intptr_t>(stream);
    ASSERT_CALL_OK(pjrtApi().PJRT_Client_CreateViewOfDeviceBuffer(&args));
    EXPECT_TRUE(isWritten);
    destroyBuffer(args.buffer);
  }
  destroyBuffer(memory);
  EXPECT_EQ(destroy(own), 0);
  dlclose(driver);
}

/// NumPy and other libraries compute the strides of an array without elements in different ways.
TEST(PluginBuffer, AnArrayWithoutElementsMayHaveAnyStrides) {
  TestClient client;
  const int64_t dims[] = {3, 0, 2};
  for (std::vector<int64_t> strides : {std::vector<int64_t>{0, 8, 4}, {8, 8, 4}, {4, 4, 4}}) {
    PJRT_Buffer_MemoryLayout layout = {};
    layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
    layout.strides.byte_strides = strides.data();
    layout.strides.num_byte_strides = strides.size();
    TILEWRIGHT_ARGS(Client_CreateUninitializedBuffer, args);
    args.client = client.client;
    args.shape_dims = dims;
    args.shape_num_dims = 3;
    args.shape_element_type = PJRT_Buffer_Type_F32;
    args.shape_layout = &layout;
    args.device = nullptr;
    args.memory = client.memory();
    ASSERT_CALL_OK(pjrtApi().PJRT_Client_CreateUninitializedBuffer(&args));
    destroyBuffer(args.buffer);
    layout.strides.num_byte_strides = 2;
    EXPECT_CALL_ERROR(pjrtApi().PJRT_Client_CreateUninitializedBuffer(&args), Error::pluginLayout);
  }
}

/// Makes a buffer of `count` elements, to which the returned manager transfers them.
static PJRT_AsyncHostToDeviceTransferManager *
beginTransfer(TestClient &client, int64_t count, PJRT_Buffer_Type type, PJRT_Buffer *&buffer) {
  PJRT_ShapeSpec spec = {PJRT_ShapeSpec_STRUCT_SIZE, nullptr, &count, 1, type};
  TILEWRIGHT_ARGS(Client_CreateBuffersForAsyncHostToDevice, args);
  args.client = client.client;
  args.shape_specs = &spec;
  args.num_shape_specs = 1;
  args.device_layouts = nullptr;
  args.num_device_layouts = 0;
  args.memory = client.memory();
  EXPECT_CALL_OK(pjrtApi().PJRT_Client_CreateBuffersForAsyncHostToDevice(&args));
  TILEWRIGHT_ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
  retrieve.transfer_manager = args.transfer_manager;
  retrieve.buffer_index = 0;
  EXPECT_CALL_OK(pjrtApi().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));
  buffer = retrieve.buffer_out;
  return args.transfer_manager;
}

TEST(PluginBuffer, TakesItsBytesPieceByPiece) {
  TestClient client;
  PJRT_Buffer *buffer = nullptr;
  PJRT_AsyncHostToDeviceTransferManager *manager =
      beginTransfer(client, 4, PJRT_Buffer_Type_F32, buffer);

  float values[] = {1, 2, 3, 4};
  for (int half : {1, 0}) {
    TILEWRIGHT_ARGS(AsyncHostToDeviceTransferManager_TransferData, transfer);
    transfer.transfer_manager = manager;
    transfer.buffer_index = 0;
    transfer.data = values + 2 * half;
    transfer.offset = 8 * half;
    transfer.transfer_size = 8;
    transfer.is_last_transfer = half == 0;
    ASSERT_CALL_OK(pjrtApi().PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer));
    destroyEvent(transfer.done_with_h2d_transfer);
    EXPECT_NE(buffer, nullptr);
  }
  EXPECT_THAT(read(buffer), ElementsAre(1, 2, 3, 4));
  destroyBuffer(buffer);
  TILEWRIGHT_CALL(AsyncHostToDeviceTransferManager_Destroy, destroy, transfer_manager, manager);
}

/// A literal has one element in each byte, the buffer has several.
TEST(PluginBuffer, PacksTheElementsOfALiteral) {
  TestClient client;
  PJRT_Buffer *buffer = nullptr;
  PJRT_AsyncHostToDeviceTransferManager *manager =
      beginTransfer(client, 5, PJRT_Buffer_Type_S4, buffer);

  uint8_t values[] = {1, 2, 0xFF, 4, 5}, raw[3] = {}, back[5] = {};
  TILEWRIGHT_ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, transfer);
  transfer.transfer_manager = manager;
  transfer.buffer_index = 0;
  transfer.data = values;
  int64_t dims[] = {5};
  transfer.shape_dims = dims;
  transfer.shape_num_dims = 1;
  transfer.shape_element_type = PJRT_Buffer_Type_S4;
  transfer.shape_layout = nullptr;
  ASSERT_CALL_OK(pjrtApi().PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&transfer));
  destroyEvent(transfer.done_with_h2d_transfer);

  TILEWRIGHT_ARGS(Buffer_OnDeviceSizeInBytes, size);
  size.buffer = buffer;
  ASSERT_CALL_OK(pjrtApi().PJRT_Buffer_OnDeviceSizeInBytes(&size));
  EXPECT_EQ(size.on_device_size_in_bytes, 3U);
  TILEWRIGHT_ARGS(Buffer_CopyRawToHost, copy);
  copy.buffer = buffer;
  copy.dst = raw;
  copy.offset = 0;
  copy.transfer_size = 3;
  ASSERT_CALL_OK(pjrtApi().PJRT_Buffer_CopyRawToHost(&copy));
  EXPECT_EQ(await(copy.event), "");
  EXPECT_THAT(raw, ElementsAre(0x21, 0x4F, 0x05));
  TILEWRIGHT_ARGS(Buffer_ToHostBuffer, host);
  host.src = buffer;
  host.host_layout = nullptr;
  host.dst = back;
  host.dst_size = 5;
  ASSERT_CALL_OK(pjrtApi().PJRT_Buffer_ToHostBuffer(&host));
  EXPECT_EQ(await(host.event), "");
  EXPECT_THAT(back, ElementsAre(1, 2, 15, 4, 5));
  destroyBuffer(buffer);
  TILEWRIGHT_CALL(AsyncHostToDeviceTransferManager_Destroy, destroy, transfer_manager, manager);
}

/// Transfers `values` to the only buffer of the manager, from element `begin` on.
static PJRT_Error *transfer(PJRT_AsyncHostToDeviceTransferManager *manager,
                            const std::vector<float> &values, int64_t begin, bool isLast) {
  TILEWRIGHT_ARGS(AsyncHostToDeviceTransferManager_TransferData, args);
  args.transfer_manager = manager;
  args.buffer_index = 0;
  args.data = values.data();
  args.offset = 4 * begin;
  args.transfer_size = static_cast<int64_t>(4 * values.size());
  args.is_last_transfer = isLast;
  PJRT_Error *error = pjrtApi().PJRT_AsyncHostToDeviceTransferManager_TransferData(&args);
  if (!error)
    destroyEvent(args.done_with_h2d_transfer);
  return error;
}

static void destroyManager(PJRT_AsyncHostToDeviceTransferManager *manager) {
  TILEWRIGHT_CALL(AsyncHostToDeviceTransferManager_Destroy, args, transfer_manager, manager);
}

static int64_t bytesInUse(const TestClient &client) {
  TILEWRIGHT_CALL(Device_MemoryStats, stats, device, client.device());
  return stats.bytes_in_use;
}

/// The manager keeps the memory of a buffer that its owner drops until the last chunk has arrived,
/// and no longer.
TEST(PluginBuffer, MayBeDroppedBeforeItsBytesArrive) {
  TestClient client;
  constexpr int64_t count = 1 << 20;
  const int64_t before = bytesInUse(client);
  for (bool isDeleted : {false, true}) {
    PJRT_Buffer *buffer = nullptr;
    PJRT_AsyncHostToDeviceTransferManager *manager =
        beginTransfer(client, count, PJRT_Buffer_Type_F32, buffer);
    EXPECT_GE(bytesInUse(client) - before, 4 * count);
    if (isDeleted) {
      TILEWRIGHT_CALL(Buffer_Delete, args, buffer, buffer);
    } else {
      destroyBuffer(buffer);
    }
    EXPECT_GE(bytesInUse(client) - before, 4 * count) << "the manager still writes";
    EXPECT_CALL_OK(transfer(manager, {1, 2}, count - 2, true));
    EXPECT_EQ(bytesInUse(client), before);
    if (isDeleted)
      destroyBuffer(buffer);
    destroyManager(manager);
  }
}

TEST(PluginBuffer, FailsIfItsManagerIsDestroyedBeforeTheLastChunk) {
  TestClient client;
  PJRT_Buffer *buffer = nullptr;
  PJRT_AsyncHostToDeviceTransferManager *manager =
      beginTransfer(client, 4, PJRT_Buffer_Type_F32, buffer);
  EXPECT_CALL_OK(transfer(manager, {1, 2}, 0, false));
  destroyManager(manager);
  TILEWRIGHT_CALL(Buffer_ReadyEvent, ready, buffer, buffer);
  EXPECT_THAT(await(ready.event), testing::HasSubstr("destroyed before it was completed"));
  destroyBuffer(buffer);
}

/// The callback of a definition, such as that of jaxlib, may call functions of the manager, also
/// the last one.
TEST(PluginBuffer, CallbacksMayUseTheManager) {
  TestClient client;
  for (bool isError : {false, true}) {
    PJRT_Buffer *buffer = nullptr;
    struct State {
      PJRT_AsyncHostToDeviceTransferManager *manager;
      std::string message;
    } state = {beginTransfer(client, 2, PJRT_Buffer_Type_F32, buffer), "not called"};
    TILEWRIGHT_CALL(Buffer_ReadyEvent, ready, buffer, buffer);
    TILEWRIGHT_ARGS(Event_OnReady, args);
    args.event = ready.event;
    args.user_arg = &state;
    args.callback = [](PJRT_Error *error, void *given) {
      messageOf(error);
      auto &state = *static_cast<State *>(given);
      state.message = messageOf(transfer(state.manager, {5, 6}, 0, true));
      destroyManager(state.manager);
    };
    ASSERT_CALL_OK(pjrtApi().PJRT_Event_OnReady(&args));
    if (isError) {
      TILEWRIGHT_ARGS(AsyncHostToDeviceTransferManager_SetBufferError, failure);
      failure.transfer_manager = state.manager;
      failure.buffer_index = 0;
      failure.error_code = PJRT_Error_Code_DATA_LOSS;
      failure.error_message = "lost";
      failure.error_message_size = 4;
      ASSERT_CALL_OK(pjrtApi().PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&failure));
    } else {
      ASSERT_CALL_OK(transfer(state.manager, {1, 2}, 0, true));
      EXPECT_THAT(read(buffer), ElementsAre(1, 2));
    }
    EXPECT_THAT(state.message, testing::HasSubstr("already sent the last chunk"));
    destroyEvent(ready.event);
    destroyBuffer(buffer);
  }
}

TEST(PluginBuffer, TakesALiteralOfItsOwnTypeOnly) {
  TestClient client;
  PJRT_Buffer *buffer = nullptr;
  PJRT_AsyncHostToDeviceTransferManager *manager =
      beginTransfer(client, 1 << 20, PJRT_Buffer_Type_F32, buffer);
  const float values[] = {1, 2};
  int64_t dims[] = {2};
  TILEWRIGHT_ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, args);
  args.transfer_manager = manager;
  args.buffer_index = 0;
  args.data = values;
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.shape_layout = nullptr;
  EXPECT_THAT(messageOf(pjrtApi().PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&args)),
              testing::HasSubstr("a literal of f32[2] cannot be transferred to a buffer of "
                                 "f32[1048576]; the types must be equal"));
  destroyBuffer(buffer);
  destroyManager(manager);
}

} // namespace
} // namespace tilewright::plugin
