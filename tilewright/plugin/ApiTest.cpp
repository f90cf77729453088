#include "tilewright/plugin/testing/Api.h"

#include <gtest/gtest.h>

namespace tilewright::plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Api, HasNoNullPointer) {
  const PJRT_Api &api = pjrtApi();
  EXPECT_EQ(api.struct_size, size_t(PJRT_Api_STRUCT_SIZE));
  auto *pointers = reinterpret_cast<void *const *>(&api.PJRT_Error_Destroy);
  auto *end =
      reinterpret_cast<void *const *>(reinterpret_cast<const char *>(&api) + PJRT_Api_STRUCT_SIZE);
  EXPECT_EQ(end - pointers, 138);
  for (; pointers != end; ++pointers)
    EXPECT_NE(*pointers, nullptr);
}

TEST(Api, SaysItsVersion) {
  EXPECT_EQ(pjrtApi().pjrt_api_version.major_version, PJRT_API_MAJOR);
  EXPECT_EQ(pjrtApi().pjrt_api_version.minor_version, PJRT_API_MINOR);
}

TEST(Api, OffersShardingsAndLayoutsTogether) {
  std::vector<int> types;
  for (auto *extension = pjrtApi().extension_start; extension; extension = extension->next)
    types.push_back(extension->type);
  EXPECT_THAT(types,
              testing::IsSupersetOf({int(PJRT_Extension_Type_Shardings),
                                     int(PJRT_Extension_Type_Layouts), int(PJRT_Extension_Type_FFI),
                                     int(PJRT_Extension_Type_MemoryDescriptions)}));
}

TEST(Api, AnswersUnimplementedForWhatItLacks) {
  TILEWRIGHT_ARGS(Client_DmaMap, args);
  PJRT_Error *error = pjrtApi().PJRT_Client_DmaMap(&args);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->vtable->get_code(error), PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_THAT(messageOf(error), HasSubstr("PJRT_Client_DmaMap"));
}

TEST(Api, RefusesArgumentsThatAreTooShort) {
  TILEWRIGHT_ARGS(Client_Devices, args);
  args.struct_size = offsetof(PJRT_Client_Devices_Args, num_devices);
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Client_Devices(&args), Error::pluginArguments);
}

TEST(Api, RefusesNoArgumentsAndNullHandles) {
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Client_Devices(nullptr), Error::pluginArguments);
  TILEWRIGHT_ARGS(Buffer_IsDeleted, args);
  args.buffer = nullptr;
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Buffer_IsDeleted(&args), Error::pluginArguments);
}

/// The struct of a newer caller has fields that we do not know.
TEST(Api, TakesArgumentsThatAreLongerThanOurs) {
  TestClient client;
  TILEWRIGHT_ARGS(Client_Devices, args);
  args.struct_size = sizeof(args) + 64;
  args.client = client.client;
  EXPECT_CALL_OK(pjrtApi().PJRT_Client_Devices(&args));
  EXPECT_EQ(args.num_devices, 1u);
}

/// An older caller's struct lacks the newest fields; they must not be written.
TEST(Api, WritesOnlyWhatTheCallerHasRoomFor) {
  TestClient client;
  TILEWRIGHT_ARGS(Device_MemoryStats, args);
  args.struct_size = offsetof(PJRT_Device_MemoryStats_Args, pool_bytes);
  args.device = client.device();
  EXPECT_CALL_OK(pjrtApi().PJRT_Device_MemoryStats(&args));
  EXPECT_TRUE(args.peak_bytes_in_use_is_set);
  EXPECT_FALSE(args.bytes_reserved_is_set);
  EXPECT_EQ(args.pool_bytes, int64_t(0xa5a5a5a5a5a5a5a5));
}

TEST(Api, ErrorsCarryCodeAndTextBothWays) {
  PJRT_Error *error = toError(Status(Error::pluginLayout, "no such layout"));
  TILEWRIGHT_CALL(Error_GetCode, code, error, error);
  EXPECT_EQ(code.code, PJRT_Error_Code_UNIMPLEMENTED);
  const char *text = nullptr;
  size_t size = 0;
  error->vtable->message(error, &text, &size);
  EXPECT_THAT(std::string(text, size), HasSubstr("E8004 plugin: no such layout"));
  TILEWRIGHT_CALL(Error_ForEachPayload, payload, error, error);
  error->vtable->destroy(error);
}

TEST(Api, TellsTheVersionOfStablehloThatItReads) {
  TILEWRIGHT_ARGS(Plugin_Attributes, args);
  EXPECT_CALL_OK(pjrtApi().PJRT_Plugin_Attributes(&args));
  std::vector<std::string> names;
  for (const NamedOption &option : readNamedValues(args.attributes, args.num_attributes)) {
    names.push_back(option.name);
    if (option.name == "stablehlo_current_version") {
      EXPECT_THAT(std::get<std::vector<int64_t>>(option.value), ElementsAre(1, 20, 0));
    }
  }
  EXPECT_THAT(names, testing::Contains("stablehlo_current_version"));
}

TEST(Api, EventsOfTheCallerHappenOnce) {
  TILEWRIGHT_ARGS(Event_Create, create);
  EXPECT_CALL_OK(pjrtApi().PJRT_Event_Create(&create));
  TILEWRIGHT_CALL(Event_IsReady, ready, event, create.event);
  EXPECT_FALSE(ready.is_ready);

  std::string seen = "nothing";
  TILEWRIGHT_ARGS(Event_OnReady, onReady);
  onReady.event = create.event;
  onReady.callback = [](PJRT_Error *error, void *seen) {
    *static_cast<std::string *>(seen) = messageOf(error);
  };
  onReady.user_arg = &seen;
  EXPECT_CALL_OK(pjrtApi().PJRT_Event_OnReady(&onReady));
  EXPECT_EQ(seen, "nothing");

  TILEWRIGHT_ARGS(Event_Set, set);
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = "gave up";
  set.error_message_size = 7;
  EXPECT_CALL_OK(pjrtApi().PJRT_Event_Set(&set));
  EXPECT_EQ(seen, "gave up");
  EXPECT_NE(messageOf(pjrtApi().PJRT_Event_Set(&set)), "");
  EXPECT_EQ(await(create.event), "gave up");
}

} // namespace
} // namespace tilewright::plugin
