#include "tilewright/support/store/KeyValueStore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <unistd.h>

namespace tilewright {
namespace {

using namespace std::chrono_literals;

void expectAStore(KeyValueStore &store) {
  EXPECT_EQ(*store.tryGet("run/1/rank/0"), std::nullopt);
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    const std::string bytes("with a \0 byte\xff and /", 20);
    EXPECT_TRUE(store.put("run/1/rank/0", bytes).isOk());
  });
  Result<std::string> value = store.get("run/1/rank/0", after(30s));
  other.join();
  ASSERT_TRUE(value.isOk());
  EXPECT_EQ(value->size(), 20U);
  EXPECT_EQ(**store.tryGet("run/1/rank/0"), *value);

  Status late = store.get("run_1/rank/0", after(2ms)).takeStatus();
  EXPECT_EQ(late.code(), Code::deadlineExceeded);
  EXPECT_THAT(late.message(), ::testing::HasSubstr("'run_1/rank/0'"));
}

TEST(KeyValueStore, OfOneProcess) {
  MemoryKeyValueStore store;
  expectAStore(store);
}

TEST(KeyValueStore, InADirectory) {
  char name[] = "/tmp/tilewright-keys-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  DirectoryKeyValueStore store(name);
  expectAStore(store);
  std::filesystem::remove_all(name);
  EXPECT_EQ(store.put("a", "b").code(), Code::unavailable);
}

} // namespace
} // namespace tilewright
