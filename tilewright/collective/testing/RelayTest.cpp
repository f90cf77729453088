// Checks the relay with sockets on both sides.
#include "tilewright/collective/testing/Relay.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tilewright::collective::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class RelayTest : public ::testing::Test {
protected:
  void SetUp() override {
    relay = make(7);
    if (!relay)
      GTEST_SKIP() << why;
  }
  std::unique_ptr<Relay> make(uint64_t seed) {
    auto made = Relay::create(2, seed);
    if (made.isOk())
      return *std::move(made);
    const Status status = std::move(made).takeStatus();
    EXPECT_EQ(status.code(), Code::permissionDenied) << status.toString();
    why = status.message();
    return nullptr;
  }
  static sockaddr_in placeOn(const Relay &relay, size_t host, uint16_t port) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    inet_pton(AF_INET, relay.addressOf(host).c_str(), &place.sin_addr);
    return place;
  }
  /// A socket on a host, bound to port 7000 there.
  static int socketOn(const Relay &relay, size_t host, int type) {
    int made = -1;
    const Status status = relay.within(host, [&] {
      made = ::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      const int bytes = 4 << 20;
      setsockopt(made, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
      const sockaddr_in place = placeOn(relay, host, 7000);
      EXPECT_EQ(bind(made, reinterpret_cast<const sockaddr *>(&place), sizeof place), 0);
    });
    EXPECT_TRUE(status.isOk()) << status.toString();
    return made;
  }
  static bool await(int socket, short event, std::chrono::milliseconds longest) {
    pollfd one = {socket, event, 0};
    return poll(&one, 1, static_cast<int>(longest.count())) == 1;
  }

  /// Sends numbered datagrams from host 0 to host 1; returns those that arrived.
  static std::vector<int> datagrams(const Relay &relay, int count) {
    const int from = socketOn(relay, 0, SOCK_DGRAM), to = socketOn(relay, 1, SOCK_DGRAM);
    const sockaddr_in place = placeOn(relay, 1, 7000);
    std::vector<int> came;
    int number;
    for (int i = 0; i < count; ++i) {
      sendto(from, &i, sizeof i, 0, reinterpret_cast<const sockaddr *>(&place), sizeof place);
      if (i % 50 == 49)
        while (await(to, POLLIN, 1ms) && recv(to, &number, sizeof number, 0) == sizeof number)
          came.push_back(number);
    }
    while (await(to, POLLIN, 50ms) && recv(to, &number, sizeof number, 0) == sizeof number)
      came.push_back(number);
    close(from);
    close(to);
    return came;
  }

  struct Transfer {
    bool isWhole = false; // all bytes arrived and are correct
    std::chrono::duration<double> took{};
    uint32_t sentAgain = 0;
  };
  /// Sends bytes over a TCP connection from host 0 to host 1.
  static Transfer transfer(const Relay &relay, size_t bytes, std::chrono::seconds longest) {
    const int listening = socketOn(relay, 1, SOCK_STREAM), from = socketOn(relay, 0, SOCK_STREAM);
    EXPECT_EQ(listen(listening, 1), 0);
    const sockaddr_in place = placeOn(relay, 1, 7000);
    (void)connect(from, reinterpret_cast<const sockaddr *>(&place), sizeof place);
    Transfer result;
    int to = -1;
    if (await(listening, POLLIN, longest))
      to = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK);
    std::vector<uint8_t> out(bytes), in(bytes + 1);
    for (size_t i = 0; i < bytes; ++i)
      out[i] = static_cast<uint8_t>(i * 7919 >> 8);
    const auto begin = Clock::now();
    size_t sent = 0, received = 0;
    while (to >= 0 && received < bytes && Clock::now() - begin < longest) {
      const ssize_t more = send(from, out.data() + sent, bytes - sent, MSG_NOSIGNAL);
      sent += static_cast<size_t>(std::max<ssize_t>(more, 0));
      (void)await(to, POLLIN, 1ms);
      const ssize_t came = recv(to, in.data() + received, in.size() - received, 0);
      received += static_cast<size_t>(std::max<ssize_t>(came, 0));
    }
    result.took = Clock::now() - begin;
    in.resize(received);
    result.isWhole = in == out;
    tcp_info info = {};
    socklen_t length = sizeof info;
    getsockopt(from, IPPROTO_TCP, TCP_INFO, &info, &length);
    result.sentAgain = info.tcpi_total_retrans;
    for (int each : {listening, from, to})
      close(each);
    return result;
  }

  std::unique_ptr<Relay> relay;
  std::string why;
};

TEST_F(RelayTest, AGoodLinkCarriesEverything) {
  EXPECT_EQ(datagrams(*relay, 1000).size(), 1000U);
  EXPECT_EQ(relay->countOf(0, 1).carried, 1000U);
  EXPECT_EQ(relay->countOf(0, 1).lost, 0U);
  EXPECT_EQ(relay->countOf(0, 1).bytes, 1000U * (20 + 8 + 4));
  EXPECT_TRUE(transfer(*relay, 4 << 20, 30s).isWhole);
}

TEST_F(RelayTest, OnePercentIsLostAndItIsTheSameOneForTheSameSeed) {
  constexpr int count = 10'000;
  relay->loss(0, 1, 0.01);
  const std::vector<int> came = datagrams(*relay, count);
  // Six standard deviations.
  EXPECT_NEAR(static_cast<double>(came.size()), 0.99 * count, 6 * 10);
  EXPECT_EQ(relay->countOf(0, 1).lost, count - came.size());
  relay->reset(7);
  relay->loss(0, 1, 0.01);
  EXPECT_EQ(datagrams(*relay, count), came);
  relay->reset(8);
  relay->loss(0, 1, 0.01);
  EXPECT_NE(datagrams(*relay, count), came);
}

TEST_F(RelayTest, WhatIsLostBelowTcpIsSentAgainByIt) {
  relay->loss(0, 1, 0.01);
  const Transfer result = transfer(*relay, 4 << 20, 60s);
  EXPECT_TRUE(result.isWhole);
  EXPECT_GT(relay->countOf(0, 1).lost, 5U);
  EXPECT_GT(result.sentAgain, 5U);
}

TEST_F(RelayTest, ADelayIsThatLongAndNotMuchLonger) {
  relay->delay(0, 1, 20ms);
  const int from = socketOn(*relay, 0, SOCK_DGRAM), to = socketOn(*relay, 1, SOCK_DGRAM);
  const sockaddr_in place = placeOn(*relay, 1, 7000);
  auto least = 1000ms * 1.0;
  for (int i = 0; i < 10; ++i) {
    const auto sent = Clock::now();
    sendto(from, &i, sizeof i, 0, reinterpret_cast<const sockaddr *>(&place), sizeof place);
    ASSERT_TRUE(await(to, POLLIN, 5000ms));
    const std::chrono::duration<double, std::milli> took = Clock::now() - sent;
    int number;
    ASSERT_EQ(recv(to, &number, sizeof number, 0), 4);
    EXPECT_GE(took, 20ms);
    least = std::min(least, took);
  }
  EXPECT_LT(least, 20ms + 5ms * slowness()); // the machine may be busy, but not each time
  close(from);
  close(to);
}

TEST_F(RelayTest, ACutLinkCarriesNothingUntilItIsHealed) {
  relay->cut(0, 1);
  EXPECT_EQ(datagrams(*relay, 100).size(), 0U);
  EXPECT_EQ(relay->countOf(0, 1).lost, 100U);
  relay->heal(0, 1);
  EXPECT_EQ(datagrams(*relay, 100).size(), 100U);
}

TEST_F(RelayTest, WhatIsOnItsWayWhenTheLinkIsCutIsLost) {
  relay->delay(0, 1, 30ms);
  const int from = socketOn(*relay, 0, SOCK_DGRAM), to = socketOn(*relay, 1, SOCK_DGRAM);
  const sockaddr_in place = placeOn(*relay, 1, 7000);
  sendto(from, "x", 1, 0, reinterpret_cast<const sockaddr *>(&place), sizeof place);
  relay->cut(0, 1);
  EXPECT_FALSE(await(to, POLLIN, 100ms));
  close(from);
  close(to);
}

TEST_F(RelayTest, ASlowLinkHasItsRate) {
  relay->rate(0, 1, 2'000'000);
  const Transfer result = transfer(*relay, 1'000'000, 30s);
  EXPECT_TRUE(result.isWhole);
  EXPECT_GT(result.took, 450ms); // 1 MB at 2 MB/s takes 500 ms, less some slack
  EXPECT_LT(result.took, 500ms + 1000ms * slowness());
}

TEST_F(RelayTest, NothingIsLeftBehind) {
  const Census before = Census::take();
  for (int round = 0; round < 20; ++round)
    ASSERT_TRUE(make(1));
  const Census later = Census::take();
  EXPECT_EQ(later.descriptors, before.descriptors);
}

} // namespace
} // namespace tilewright::collective::test
