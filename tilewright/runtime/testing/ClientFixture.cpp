#include "tilewright/runtime/testing/ClientFixture.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace tilewright::runtime {

using ::testing::Each;
using ::testing::HasSubstr;

ClientFixture::Arguments ClientFixture::onEachDevice(const std::vector<float> &values) {
  Arguments made;
  for (size_t i = 0; i < values.size(); ++i)
    made.pointers.push_back(made.buffers.emplace_back(buffer(values[i], i)).get());
  for (size_t i = 0; i < values.size(); ++i)
    made.lists.push_back(std::span(made.pointers).subspan(i, 1));
  return made;
}

void ClientFixture::expectChainsAddUp(
    int chains, Memory &elsewhere,
    const std::function<LoadedExecutable &(std::mt19937 &)> &choose) {
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int chain = 0; chain < chains; ++chain) {
        auto value = buffer(0);
        float expected = 0;
        std::vector<std::pair<Event, std::shared_ptr<std::vector<float>>>> reads;
        std::vector<float> wanted;
        for (int step = 0; step < 10; ++step) {
          if (random() % 3 == 0) {
            auto host = std::make_shared<std::vector<float>>(length);
            reads.emplace_back(*value->toHost(host->data(), value->byteCount()), host);
            wanted.push_back(expected);
          }
          if (random() % 5 == 0) {
            auto copy = value->copyTo(elsewhere);
            value = *(*copy)->copyTo(memory(0));
          }
          auto run = execute(choose(random), {value.get()});
          ASSERT_TRUE(run.isOk()) << std::move(run).takeStatus().toString();
          value = std::move(run->results[0][0]);
          expected += 1;
        }
        for (size_t i = 0; i < reads.size(); ++i) {
          ASSERT_TRUE(reads[i].first.await().isOk());
          ASSERT_THAT(*reads[i].second, Each(wanted[i]));
        }
        ASSERT_THAT(read(*value), Each(expected));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  client->drain();
  EXPECT_EQ(memory(0).statistics().liveCount, 0);
}

void ClientFixture::expectDonatedOnce(LoadedExecutable &donating, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    auto value = buffer(1);
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        auto run = execute(donating, {value.get()});
        if (run.isOk()) {
          ++won;
          EXPECT_THAT(read(*run->results[0][0]), Each(2));
        } else {
          EXPECT_EQ(std::move(run).takeStatus().error(), Error::bufferDeleted);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(won, 1);
  }
}

void ClientFixture::expectReadersSeeTheOldValue(LoadedExecutable &donating, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    auto value = buffer(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        std::vector<float> host(length);
        Result<Event> event = value->toHost(host.data(), value->byteCount());
        if (event.isOk()) {
          EXPECT_TRUE(event->await().isOk());
          EXPECT_THAT(host, Each(1));
        }
      });
    threads.emplace_back([&] {
      auto run = execute(donating, {value.get()});
      EXPECT_THAT(read(*run->results[0][0]), Each(2));
    });
    threads.emplace_back([&] { (void)value->isDeleted(); });
    for (std::thread &thread : threads)
      thread.join();
  }
}

void ClientFixture::expectClientEndsWithWorkInFlight(std::shared_ptr<LoadedExecutable> program,
                                                     int launches) {
  auto value = buffer(1);
  std::vector<Execution> runs;
  for (int i = 0; i < launches; ++i)
    runs.push_back(*execute(*program, {value.get()}));
  program.reset();
  client.reset();
  for (Execution &run : runs)
    EXPECT_TRUE(run.done[0].isReady());
}

void ClientFixture::expectDonationBecomesTheResult(LoadedExecutable &donating,
                                                   const std::string &error) {
  auto argument = buffer(1);
  void *before = *argument->data();
  auto run = execute(donating, {argument.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_TRUE(argument->isDeleted());
  EXPECT_EQ(*run->results[0][0]->data(), before);
  EXPECT_THAT(read(*run->results[0][0]), Each(2));

  Status status = execute(donating, {argument.get()}).takeStatus();
  EXPECT_EQ(status.error(), Error::bufferDeleted);
  EXPECT_THAT(status.message(), HasSubstr(error));
}

void ClientFixture::expectDonationWaitsForReaders(LoadedExecutable &slow,
                                                  LoadedExecutable &donating,
                                                  const std::function<void()> &launched) {
  auto argument = buffer(1);
  auto first = execute(slow, {argument.get()});
  Buffer &value = *first->results[0][0];
  std::vector<float> host(length);
  Result<Event> readBack = value.toHost(host.data(), value.byteCount());
  auto second = execute(donating, {&value});
  EXPECT_TRUE(value.isDeleted());
  if (launched)
    launched();
  EXPECT_THAT(read(*second->results[0][0]), Each(3));
  EXPECT_TRUE(readBack->await().isOk());
  EXPECT_THAT(host, Each(2));
}

void ClientFixture::expectMemoryForOneResult(LoadedExecutable &program, const std::string &error) {
  auto argument = buffer(1);
  auto first = execute(program, {argument.get()});
  ASSERT_TRUE(first.isOk());
  auto second = execute(program, {argument.get()});
  Status status = second.isOk() ? Status() : std::move(second).takeStatus();
  EXPECT_EQ(status.error(), Error::outOfMemory);
  EXPECT_THAT(status.message(), HasSubstr(error));
  first = Execution();
  EXPECT_TRUE(execute(program, {argument.get()}).isOk());
}

} // namespace tilewright::runtime
