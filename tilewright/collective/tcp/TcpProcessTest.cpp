// The suite of engines between processes, and tests of this engine alone.
#include "tilewright/collective/conformance/EngineProcesses.h"
#include "tilewright/collective/tcp/TcpEngine.h"
#include "tilewright/collective/testing/Processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::collective::tcp {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using test::sumOnes;
using ::testing::HasSubstr;

TcpEngine::Options optionsFor(std::chrono::nanoseconds timeout) {
  TcpEngine::Options options;
  options.address = "127.0.0.1";
  options.timeout = timeout;
  options.connectTimeout = 20s;
  return options;
}

const test::Connect connect = test::connectWith<TcpEngine>(optionsFor(30s));

TEST(TcpEngine, AnAddressMustBeANumber) {
  MemoryKeyValueStore store;
  TcpEngine::Options options = optionsFor(1s);
  options.address = "localhost";
  const Status status = TcpEngine::connect(membershipOf(0, 2), store, options).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("'localhost' is not a numeric IP address"));
}

TEST(TcpEngine, AnAddressWhoseProcessIsGoneIsAnError) {
  MemoryKeyValueStore store;
  ASSERT_TRUE(store.put("tilewright/tcp/0/0", "127.0.0.1 1 7").isOk());
  Status status = TcpEngine::connect(membershipOf(1, 2), store, optionsFor(1s)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 cannot be reached at 127.0.0.1:1"));
}

/// Each rank sends 2 (n - 1) / n of a tensor, whatever the number of ranks.
TEST(TcpEngine, AnAllReduceSendsWhatARingWould) {
  constexpr int64_t ranks = 4;
  constexpr size_t count = 1 << 16;
  MemoryKeyValueStore store;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto engine = TcpEngine::connect(membershipOf(rank, ranks), store, optionsFor(30s));
      ASSERT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
      auto communicator = (*engine)->join({1, rank, ranks, {}});
      Status status = sumOnes(**communicator, count, ranks);
      EXPECT_TRUE(status.isOk()) << status.toString();
      EXPECT_EQ((*engine)->traffic().payload, 2 * (ranks - 1) * count * 4 / ranks);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Nothing begins after a failure. A collective whose predecessors were dropped would take their
/// sequence numbers, so peers would match it with the wrong collective.
TEST(TcpEngine, NothingBeginsAfterAFailure) {
  MemoryKeyValueStore store;
  TcpEngine::Options options = optionsFor(30s);
  options.hasProgressThread = false; // so that no thread reads in between
  std::atomic<int> stage = 0;
  auto await = [&](int reached) {
    while (stage < reached)
      std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(30ms); // for sent data to arrive
  };
  const std::vector<std::vector<int64_t>> all;
  std::vector<float> values[2][5];
  auto callOf = [&](int64_t rank, size_t number) {
    values[rank][number].assign(4, static_cast<float>(number));
    auto *bytes = reinterpret_cast<std::byte *>(values[rank][number].data());
    Call call;
    call.groups = &all;
    call.reduction.operation = ReductionKind::add;
    call.name = "sum";
    call.tensors = {{ElementType::f32, {4}, {4}, bytes, bytes}};
    return call;
  };
  std::thread first([&] {
    auto engine = TcpEngine::connect(membershipOf(0, 2), store, options);
    ASSERT_TRUE(engine.isOk());
    auto communicator = (*engine)->join({1, 0, 2, {}});
    EXPECT_TRUE((*communicator)->run(callOf(0, 0)).isOk());
    EXPECT_TRUE((*communicator)->run(callOf(0, 1)).isOk());
    await(1); // the other rank has begun the next one and reads nothing
    EXPECT_TRUE((*communicator)->run(callOf(0, 2)).isOk());
    EXPECT_TRUE((*communicator)->start(callOf(0, 3)).isOk());
    stage = 2;
    await(3);
  });
  auto engine = TcpEngine::connect(membershipOf(1, 2), store, options);
  ASSERT_TRUE(engine.isOk());
  auto communicator = (*engine)->join({1, 1, 2, {}});
  std::vector<Communicator::Ticket> tickets;
  for (size_t number = 0; number < 5; ++number)
    tickets.push_back(*(*communicator)->start(callOf(1, number)));
  EXPECT_TRUE((*communicator)->finish(tickets[1]).isOk());
  stage = 1;
  await(2);
  (*engine)->messages().progress(10ms);
  (*engine)->revoke("rank 1 died");
  EXPECT_EQ((*communicator)->finish(tickets[3]).error(), Error::collectiveAborted);
  EXPECT_EQ((*communicator)->finish(tickets[2]).error(), Error::collectiveAborted);
  EXPECT_TRUE((*communicator)->finish(tickets[0]).isOk()); // completed before the failure
  EXPECT_EQ((*communicator)->finish(tickets[4]).error(), Error::collectiveAborted);
  stage = 3;
  first.join();
}

} // namespace
} // namespace tilewright::collective::tcp

const tilewright::collective::test::ProcessKit &tilewright::collective::test::processKit() {
  static const ProcessKit kit = {.connect = tcp::connect,
                                 .died = "rank 2 died: the connection to process 2"};
  return kit;
}
