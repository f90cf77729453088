#include "tilewright/plugin/KeyValueStore.h"
#include "tilewright/plugin/testing/Api.h"

#include <gtest/gtest.h>

#include <map>

namespace tilewright::plugin {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Behaves like jaxlib: values are copies that the caller frees, and the caller owns errors.
struct Service {
  std::map<std::string, std::string> values;
  int copies = 0, lastTimeout = 0;
  PJRT_Error_Code trouble = PJRT_Error_Code_OK;

  template <typename Args> static PJRT_Error *fail(Args *args, PJRT_Error_Code code) {
    const std::string text = "no such thing";
    return (*args->callback_error)(code, text.data(), text.size());
  }
  template <typename Args> static PJRT_Error *find(Args *args, PJRT_Error_Code missing) {
    auto &self = *static_cast<Service *>(args->user_arg);
    if (self.trouble != PJRT_Error_Code_OK)
      return fail(args, self.trouble);
    auto found = self.values.find(std::string(args->key, args->key_size));
    if (found == self.values.end())
      return fail(args, missing);
    auto *copy = static_cast<char *>(std::malloc(found->second.size()));
    std::memcpy(copy, found->second.data(), found->second.size());
    freed = &self;
    ++self.copies;
    args->value = copy;
    args->value_size = found->second.size();
    args->value_deleter_callback = [](char *value) {
      std::free(value);
      --freed->copies;
    };
    return nullptr;
  }
  static inline Service *freed = nullptr;

  PJRT_Client_Create_Args args() {
    TILEWRIGHT_ARGS(Client_Create, args);
    args.kv_get_user_arg = args.kv_put_user_arg = args.kv_try_get_user_arg = this;
    args.kv_get_callback = [](PJRT_KeyValueGetCallback_Args *args) {
      static_cast<Service *>(args->user_arg)->lastTimeout = args->timeout_in_ms;
      return find(args, PJRT_Error_Code_DEADLINE_EXCEEDED);
    };
    args.kv_try_get_callback = [](PJRT_KeyValueTryGetCallback_Args *args) {
      return find(args, PJRT_Error_Code_NOT_FOUND);
    };
    args.kv_put_callback = [](PJRT_KeyValuePutCallback_Args *args) -> PJRT_Error * {
      auto &self = *static_cast<Service *>(args->user_arg);
      if (self.trouble != PJRT_Error_Code_OK)
        return fail(args, self.trouble);
      self.values[std::string(args->key, args->key_size)].assign(args->value, args->value_size);
      return nullptr;
    };
    return args;
  }
};

TEST(PluginKeyValueStore, CarriesBytesAndFreesCopies) {
  Service service;
  std::shared_ptr<KeyValueStore> store = *KeyValueStore::create(service.args());
  const std::string bytes("a\0b", 3);
  EXPECT_TRUE(store->put("key", bytes).isOk());
  EXPECT_EQ(*store->get("key", tilewright::after(5s)), bytes);
  EXPECT_GT(service.lastTimeout, 4000);
  EXPECT_LE(service.lastTimeout, 5000);
  EXPECT_EQ(**store->tryGet("key"), bytes);
  EXPECT_EQ(service.copies, 0);
}

TEST(PluginKeyValueStore, WhatIsNotThereIsNoFailureOfTheService) {
  Service service;
  std::shared_ptr<KeyValueStore> store = *KeyValueStore::create(service.args());
  EXPECT_EQ(*store->tryGet("key"), std::nullopt);
  Status status = store->get("key", tilewright::after(-1s)).takeStatus();
  EXPECT_EQ(status.code(), Code::deadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("key 'key' was not written"));
  EXPECT_EQ(service.lastTimeout, 1);
}

TEST(PluginKeyValueStore, AServiceThatFailsSaysWhy) {
  Service service;
  std::shared_ptr<KeyValueStore> store = *KeyValueStore::create(service.args());
  service.trouble = PJRT_Error_Code_UNAVAILABLE;
  Status statuses[] = {store->put("key", "value"), store->tryGet("key").takeStatus(),
                       store->get("key", tilewright::after(1s)).takeStatus()};
  for (const Status &status : statuses) {
    EXPECT_EQ(status.error(), Error::ranksNotConnected);
    EXPECT_THAT(status.message(), HasSubstr("no such thing"));
  }
}

TEST(PluginKeyValueStore, CallbacksMustBeThere) {
  Service service;
  PJRT_Client_Create_Args args = service.args();
  args.kv_try_get_callback = nullptr;
  EXPECT_EQ(KeyValueStore::create(args).takeStatus().error(), Error::ranksNotConnected);
  // A caller built against a header without this field.
  args = service.args();
  args.struct_size = offsetof(PJRT_Client_Create_Args, kv_try_get_callback);
  EXPECT_EQ(KeyValueStore::create(args).takeStatus().error(), Error::ranksNotConnected);
}

} // namespace
} // namespace tilewright::plugin
