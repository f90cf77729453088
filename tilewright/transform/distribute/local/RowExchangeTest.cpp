#include "tilewright/transform/distribute/local/RowExchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace tilewright::distribute;

namespace {

std::vector<int64_t> affine(int64_t count, int64_t base, int64_t step) {
  std::vector<int64_t> starts;
  for (int64_t c = 0; c < count; ++c)
    starts.push_back(base + c * step);
  return starts;
}

RowExchange planWindow(int64_t count, int64_t shard, const std::vector<int64_t> &starts,
                       int64_t size) {
  const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
  return planRows(blocksOf(count, shard, *first, *last + size), starts, size, shard);
}

/// Executes an exchange on global row numbers; -1 are rows outside.
std::vector<int64_t> windowOn(size_t device, const RowExchange &exchange,
                              const std::vector<std::vector<int64_t>> &held) {
  std::vector<int64_t> window;
  for (const RowExchange::Piece &piece : exchange.pieces[device]) {
    EXPECT_EQ(piece.to, static_cast<int64_t>(window.size()));
    for (int64_t i = 0; i < piece.rows; ++i) {
      if (piece.isOutside()) {
        window.push_back(-1);
        continue;
      }
      const auto owner = static_cast<size_t>(piece.owner);
      if (piece.permute != RowExchange::own) {
        const auto &permute = exchange.permutes[static_cast<size_t>(piece.permute)];
        EXPECT_LE(permute.from[owner], piece.from);
        EXPECT_LE(piece.from + piece.rows, permute.from[owner] + permute.rows);
        EXPECT_GE(permute.from[owner], 0);
        EXPECT_LE(permute.from[owner] + permute.rows, static_cast<int64_t>(held[owner].size()));
      } else {
        EXPECT_EQ(owner, device);
      }
      window.push_back(held[owner][static_cast<size_t>(piece.from + i)]);
    }
  }
  return window;
}

void expectMatchings(const RowExchange &exchange) {
  for (const RowExchange::Permute &permute : exchange.permutes) {
    std::set<int64_t> sources, targets;
    for (auto [source, target] : permute.pairs) {
      EXPECT_NE(source, target);
      EXPECT_TRUE(sources.insert(source).second) << "device " << source << " sends twice";
      EXPECT_TRUE(targets.insert(target).second) << "device " << target << " receives twice";
    }
  }
}

} // namespace

TEST(RowExchange, WindowsOfAConvolutionTakeOneRowFromEachNeighbour) {
  const RowExchange exchange = planWindow(4, 16, affine(4, -1, 16), 18);
  ASSERT_EQ(exchange.permutes.size(), 2u);
  EXPECT_EQ(exchange.rowsSent(), 2);
  EXPECT_EQ(exchange.permutes[0].pairs.size(), 3u);
}

TEST(RowExchange, WindowsInsideTheShardTakeNothing) {
  EXPECT_TRUE(planWindow(4, 16, affine(4, 0, 16), 15).permutes.empty());
}

TEST(RowExchange, LongHalosNeedSeveralHops) {
  // Rows of up to three shards on each side. A device receives from at most three others, and a
  // permute has room for one from each side.
  const RowExchange exchange = planWindow(8, 2, affine(8, -5, 2), 12);
  EXPECT_EQ(exchange.permutes.size(), 6u);
  EXPECT_EQ(exchange.rowsSent(), 1 + 2 + 2 + 2 + 2 + 1);
  // Of four devices, none receives from more than three.
  EXPECT_EQ(planWindow(4, 2, affine(4, -5, 2), 12).permutes.size(), 3u);
}

TEST(RowExchange, ASliceSendsTheRowsThatSomeDeviceNeeds) {
  const RowExchange exchange = planWindow(4, 16, affine(4, 3, 8), 8); // [3:35] of 64
  EXPECT_EQ(exchange.permutes.size(), 2u);
  EXPECT_EQ(exchange.rowsSent(), 13);
}

TEST(RowExchange, OneDeviceThatSendsToAllNeedsAPermuteEach) {
  EXPECT_EQ(planWindow(4, 16, affine(4, 0, 4), 4).permutes.size(), 3u); // [0:16] of 64
}

TEST(RowExchange, TheNumberOfPermutesDoesNotGrowWithTheDevices) {
  EXPECT_LE(planWindow(4096, 16, affine(4096, 3, 8), 8).permutes.size(), 3u);
  EXPECT_EQ(planWindow(4096, 16, affine(4096, 4095 * 16, -16), 16).permutes.size(), 1u);
}

TEST(RowExchange, ShardsOfTwoConcatenatedOperandsTravelTwice) {
  std::vector<RowBlock> blocks;
  for (int64_t operand = 0; operand < 2; ++operand)
    for (int64_t c = 0; c < 4; ++c)
      blocks.push_back({(operand * 4 + c) * 16, 16, c, operand * 16});
  const RowExchange exchange = planRows(blocks, affine(4, 0, 32), 32, 32);
  expectMatchings(exchange);
  EXPECT_EQ(exchange.permutes.size(), 2u);
}

TEST(RowExchange, PaddingFarAwayIsOnePiece) {
  // Forty thousand rows before and after eight rows on four devices.
  const int64_t size = 20'002;
  const std::vector<int64_t> starts = affine(4, -40'000, size);
  const RowExchange exchange = planWindow(4, 2, starts, size);
  std::vector<std::vector<int64_t>> held;
  for (int64_t c = 0; c < 4; ++c)
    held.push_back(affine(2, c * 2, 1));
  for (size_t c = 0; c < starts.size(); ++c) {
    EXPECT_LT(exchange.pieces[c].size(), 50u);
    std::vector<int64_t> wanted = affine(size, starts[c], 1);
    for (int64_t &row : wanted)
      row = row < 0 || row >= 8 ? -1 : row;
    EXPECT_EQ(windowOn(c, exchange, held), wanted);
  }
}

TEST(RowExchange, EveryWindowHasItsRows) {
  for (int64_t count : {1, 2, 3, 4, 8})
    for (int64_t shard : {1, 2, 3, 5})
      for (int64_t step = -2 * shard; step <= 2 * shard; ++step)
        for (int64_t base : {-7, -1, 0, 1, 4, 11})
          for (int64_t size : {1, 2, 3, 4, 7}) {
            SCOPED_TRACE(testing::Message() << count << " shards of " << shard << ", windows of "
                                            << size << " at " << base << " + c * " << step);
            std::vector<std::vector<int64_t>> held;
            for (int64_t c = 0; c < count; ++c)
              held.push_back(affine(shard, c * shard, 1));
            const std::vector<int64_t> starts = affine(count, base, step);
            const RowExchange exchange = planWindow(count, shard, starts, size);
            expectMatchings(exchange);
            for (size_t c = 0; c < starts.size(); ++c) {
              std::vector<int64_t> wanted = affine(size, starts[c], 1);
              for (int64_t &row : wanted)
                row = row < 0 || row >= count * shard ? -1 : row;
              ASSERT_EQ(windowOn(c, exchange, held), wanted);
            }
          }
}
