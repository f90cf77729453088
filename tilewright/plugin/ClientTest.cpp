#include "tilewright/plugin/testing/Api.h"

#include <gtest/gtest.h>

namespace tilewright::plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string createWith(const std::string &name, NamedValue value) {
  NamedValues options;
  options.add(name, std::move(value));
  TILEWRIGHT_ARGS(Client_Create, args);
  args.create_options = options.data();
  args.num_options = options.size();
  return messageOf(pjrtApi().PJRT_Client_Create(&args));
}

TEST(PluginClient, IsCalledCpu) {
  TestClient client;
  TILEWRIGHT_CALL(Client_PlatformName, args, client, client.client);
  EXPECT_EQ(std::string(args.platform_name, args.platform_name_size), "cpu");
}

TEST(PluginClient, RefusesAnOptionThatDoesNotExist) {
  EXPECT_THAT(createWith("runtime.device", int64_t(2)), HasSubstr("runtime.devices"));
}

TEST(PluginClient, ListsItsDevices) {
  TestClient client(3);
  for (size_t i = 0; i < 3; ++i) {
    TILEWRIGHT_CALL(Device_GetDescription, args, device, client.device(i));
    TILEWRIGHT_CALL(DeviceDescription_Id, id, device_description, args.device_description);
    EXPECT_EQ(id.id, int(i));
    TILEWRIGHT_CALL(DeviceDescription_Attributes, attributes, device_description,
                    args.device_description);
    TILEWRIGHT_CALL(Device_IsAddressable, addressable, device, client.device(i));
    EXPECT_TRUE(addressable.is_addressable);
  }
}

TEST(PluginClient, FindsDevicesByNumber) {
  TestClient client(2);
  TILEWRIGHT_ARGS(Client_LookupDevice, args);
  args.client = client.client;
  args.id = 1;
  EXPECT_CALL_OK(pjrtApi().PJRT_Client_LookupDevice(&args));
  EXPECT_EQ(args.device, client.device(1));
  args.id = 2;
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Client_LookupDevice(&args), Error::clientDevice);
}

TEST(PluginClient, EachDeviceHasTheMemoriesThatJaxKnows) {
  TestClient client;
  TILEWRIGHT_CALL(Device_AddressableMemories, args, device, client.device());
  std::vector<std::string> kinds;
  for (size_t i = 0; i < args.num_memories; ++i) {
    TILEWRIGHT_CALL(Memory_Kind, kind, memory, args.memories[i]);
    kinds.emplace_back(kind.kind, kind.kind_size);
    TILEWRIGHT_CALL(Memory_AddressableByDevices, devices, memory, args.memories[i]);
    ASSERT_GE(devices.num_devices, 1u);
  }
  EXPECT_THAT(kinds, ElementsAre("device", "pinned_host", "unpinned_host"));
  TILEWRIGHT_CALL(Device_DefaultMemory, fallback, device, client.device());
  EXPECT_EQ(fallback.memory, args.memories[0]);
}

TEST(PluginClient, MemoriesKeepDataOfTheCaller) {
  static int destroyed = 0;
  destroyed = 0;
  int key = 0, data = 0;
  {
    TestClient client;
    PJRT_Memory *memory = client.memory();
    EXPECT_EQ(memory->vtable->get_user_data(memory, &key), nullptr);
    memory->vtable->set_user_data(memory, &key, &data, [](void *) { ++destroyed; });
    EXPECT_EQ(memory->vtable->get_user_data(memory, &key), &data);
    memory->vtable->set_user_data(memory, &key, &data, [](void *) { ++destroyed; });
    EXPECT_EQ(destroyed, 1);
  }
  EXPECT_EQ(destroyed, 2);
}

TEST(PluginTopology, DescribesDevicesThatAreNotHere) {
  TILEWRIGHT_ARGS(TopologyDescription_Create, args);
  args.topology_name = "2x2";
  args.topology_name_size = 3;
  args.create_options = nullptr;
  args.num_options = 0;
  EXPECT_CALL_OK(pjrtApi().PJRT_TopologyDescription_Create(&args));
  TILEWRIGHT_CALL(TopologyDescription_GetDeviceDescriptions, devices, topology, args.topology);
  EXPECT_EQ(devices.num_descriptions, 4u);

  TILEWRIGHT_CALL(TopologyDescription_Serialize, serialize, topology, args.topology);
  TILEWRIGHT_ARGS(TopologyDescription_Deserialize, deserialize);
  deserialize.serialized_topology = serialize.serialized_bytes;
  deserialize.serialized_topology_size = serialize.serialized_bytes_size;
  EXPECT_CALL_OK(pjrtApi().PJRT_TopologyDescription_Deserialize(&deserialize));
  TILEWRIGHT_CALL(TopologyDescription_Fingerprint, first, topology, args.topology);
  TILEWRIGHT_CALL(TopologyDescription_Fingerprint, second, topology, deserialize.topology);
  EXPECT_EQ(first.fingerprint, second.fingerprint);

  serialize.serialized_topology_deleter(serialize.serialized_topology);
  for (PJRT_TopologyDescription *topology : {args.topology, deserialize.topology}) {
    TILEWRIGHT_CALL(TopologyDescription_Destroy, destroy, topology, topology);
  }
}

TEST(PluginTopology, RefusesWhatIsNoNumberOfDevices) {
  for (std::string name : {"", "x", "0", "2x", "-1", "99999999999", "2y2"}) {
    TILEWRIGHT_ARGS(TopologyDescription_Deserialize, args);
    std::string text = "tilewright topology 1 devices=" + name;
    args.serialized_topology = text.data();
    args.serialized_topology_size = text.size();
    EXPECT_CALL_ERROR(pjrtApi().PJRT_TopologyDescription_Deserialize(&args), Error::topology);
  }
}

} // namespace
} // namespace tilewright::plugin
