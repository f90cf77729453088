#include "tilewright/plugin/testing/Api.h"

#include <gtest/gtest.h>

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

TEST(PluginBuffer, ViewsMemoryOfOthersUntilItIsFreed) {
  TestClient client;
  static int released = 0;
  released = 0;
  for (size_t offset : {0, 1}) { // aligned as we require, and not: then the bytes are copied
    alignas(64) static float data[32] = {};
    std::fill(data, data + 32, 7.0f);
    int64_t dims[] = {4};
    TILEWRIGHT_ARGS(Client_CreateViewOfDeviceBuffer, args);
    args.client = client.client;
    args.device_buffer_ptr = data + offset;
    args.dims = dims;
    args.num_dims = 1;
    args.element_type = PJRT_Buffer_Type_F32;
    args.layout = nullptr;
    args.device = nullptr;
    args.on_delete_callback = [](void *, void *) { ++released; };
    args.on_delete_callback_arg = nullptr;
    args.stream = 0;
    args.memory = client.memory();
    ASSERT_CALL_OK(pjrtApi().PJRT_Client_CreateViewOfDeviceBuffer(&args));
    EXPECT_EQ(released, int(offset ? 2 : 0));
    EXPECT_THAT(read(args.buffer), ElementsAre(7, 7, 7, 7));
    destroyBuffer(args.buffer);
    EXPECT_EQ(released, int(offset ? 2 : 1));
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

} // namespace
} // namespace tilewright::plugin
