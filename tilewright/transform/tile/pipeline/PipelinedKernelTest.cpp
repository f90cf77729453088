#include "tilewright/transform/tile/pipeline/PipelinedKernel.h"

#include "llvm/ADT/DenseMap.h"

#include <gtest/gtest.h>

#include <set>

namespace tilewright::pipeline {
namespace {

using sm::Axis;
using sm::Layout;

/// The groups of lanes that LDS serves in one clock. Measured on MI355X by HipKittens
/// (analysis/paper_experiments/phases); CDNA 3 serves 16 bytes of a lane as CDNA 4 serves 12.
std::vector<std::vector<int64_t>> phasesOf(int64_t banks, int64_t bytes) {
  std::vector<std::vector<int64_t>> phases;
  if (bytes == 8) {
    phases.resize(2);
    for (int64_t lane = 0; lane < 64; ++lane)
      phases[size_t(lane / 32)].push_back(lane);
    return phases;
  }
  std::vector<std::vector<std::pair<int64_t, int64_t>>> ranges;
  if (banks == 64)
    ranges = {{{0, 3}, {12, 15}, {20, 27}}, {{4, 11}, {16, 19}, {28, 31}}};
  else
    ranges = {{{0, 3}, {20, 23}}, {{4, 7}, {16, 19}}, {{8, 11}, {28, 31}}, {{12, 15}, {24, 27}}};
  for (int64_t half : {0, 32})
    for (const auto &group : ranges) {
      std::vector<int64_t> &phase = phases.emplace_back();
      for (auto [first, last] : group)
        for (int64_t lane = first; lane <= last; ++lane)
          phase.push_back(half + lane);
    }
  return phases;
}

/// Expects that no two lanes of a phase read different words of a bank.
void expectNoConflicts(const std::vector<int64_t> &addresses, int64_t bytes, int64_t banks) {
  for (const std::vector<int64_t> &phase : phasesOf(banks, bytes)) {
    llvm::DenseMap<int64_t, std::set<int64_t>> words;
    for (int64_t lane : phase)
      for (int64_t word = addresses[size_t(lane)] / 4; word < (addresses[size_t(lane)] + bytes) / 4;
           ++word)
        words[word % banks].insert(word);
    for (const auto &[bank, wanted] : words)
      EXPECT_EQ(wanted.size(), 1U) << "bank " << bank << " of " << banks;
  }
}

int64_t byteAt(const Layout &slot, int64_t side, int64_t depth, int64_t bits) {
  return slot.apply({side, depth})[Axis::offset] * bits / 8;
}

TEST(PipelinedKernel, MfmaReadsFragmentsAlongKWithoutBankConflicts) {
  for (int64_t bits : {8, 16, 32})
    for (int64_t own : {16, 64, 256}) {
      const int64_t k = 1024 / bits;
      const Layout slot = linesLayout(own, k, bits, /*kInner=*/true, /*isMfma=*/true);
      const Layout fragments = mfmaOperandLayout(own, bits, /*isLhs=*/true, {1, 1});
      for (int64_t reg = 0; reg < fragments.extent(Axis::reg); reg += 128 / bits)
        for (int64_t step = 0; step < k; step += 512 / bits) {
          std::vector<int64_t> addresses;
          for (int64_t lane = 0; lane < 64; ++lane) {
            const auto index = *fragments.indexOf(reg, lane);
            addresses.push_back(byteAt(slot, index[0], index[1] + step, bits));
          }
          for (int64_t banks : {32, 64})
            expectNoConflicts(addresses, 16, banks);
        }
    }
}

TEST(PipelinedKernel, MfmaTransposesFragmentsFromLdsWithoutBankConflicts) {
  for (int64_t bits : {8, 16}) {
    const int64_t own = 256, k = 1024 / bits;
    const Layout slot = linesLayout(own, k, bits, /*kInner=*/false, /*isMfma=*/true);
    const Layout fragments = mfmaOperandLayout(own, bits, /*isLhs=*/true, {1, 1});
    // Of each 16 lanes, a lane reads 8 bytes along the side; 16 / (8 / bytes) lanes are in a row.
    const int64_t along = 64 / bits, inRow = 16 / along;
    for (int64_t reg = 0; reg < fragments.extent(Axis::reg); reg += along) {
      std::vector<int64_t> addresses;
      for (int64_t lane = 0; lane < 64; ++lane) {
        const auto index = *fragments.indexOf(reg, lane / 16 * 16);
        addresses.push_back(
            byteAt(slot, index[0] + lane % inRow * along, index[1] + lane % 16 / inRow, bits));
      }
      expectNoConflicts(addresses, 8, 64);
    }
  }
}

TEST(PipelinedKernel, SumsOfMfmaAreBlocksOfItsLayout) {
  const Layout sums = mfmaSumLayout(256, 128, {4, 2});
  EXPECT_EQ(sums.extent(Axis::warp), 8);
  EXPECT_EQ(sums.extent(Axis::reg), 256 * 128 / 8 / 64);
  // Four consecutive columns, 64 rows and 64 columns for each wave.
  EXPECT_EQ(sums.vectorLength(1), 4);
  EXPECT_EQ((*sums.indexOf(0, 0, 1))[1], 64);
  EXPECT_EQ((*sums.indexOf(0, 0, 2))[0], 64);
}

} // namespace
} // namespace tilewright::pipeline
