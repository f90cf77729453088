// Tests the instruction layouts against the formulas of PTX's and AMD's fragment tables.
#include "tilewright/dialect/sm/InstructionLayouts.h"

#include "gtest/gtest.h"

#include <functional>

using namespace tilewright::sm;

namespace {

using Position = std::pair<int64_t, int64_t>;

/// Checks every register of every lane (of `warps` warps) against `expected(v, lane, warp)`, and
/// that the layout contains nothing else.
void expectFragment(const Layout &layout, int64_t registers, int64_t warps,
                    const std::function<Position(int64_t, int64_t, int64_t)> &expected,
                    int64_t lanes = 32) {
  EXPECT_EQ(layout.problem(), "") << layout.str();
  EXPECT_EQ(layout.extent(Axis::reg), registers) << layout.str();
  EXPECT_EQ(layout.extent(Axis::lane), lanes) << layout.str();
  EXPECT_EQ(layout.extent(Axis::warp), warps) << layout.str();
  EXPECT_EQ(layout.cover(0) * layout.cover(1), registers * lanes * warps) << layout.str();
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t v = 0; v < registers; ++v) {
        auto index = layout.indexOf(v, lane, warp);
        ASSERT_TRUE(index);
        const auto [row, column] = expected(v, lane, warp);
        ASSERT_EQ((*index)[0], row) << layout.str() << " v " << v << " lane " << lane;
        ASSERT_EQ((*index)[1], column) << layout.str() << " v " << v << " lane " << lane;
      }
}

TEST(InstructionLayouts, MmaOf16BitsIsPtxsTable) {
  expectFragment(instruction::mmaA(16), 8, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(l / 4 + 8 * ((v >> 1) & 1), 2 * (l % 4) + (v & 1) + 8 * (v >> 2));
  });
  expectFragment(instruction::mmaB(16), 4, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(2 * (l % 4) + (v & 1) + 8 * (v >> 1), l / 4);
  });
  expectFragment(instruction::mmaC(), 4, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(l / 4 + 8 * (v >> 1), 2 * (l % 4) + (v & 1));
  });
  expectFragment(instruction::mmaA(16, /*half=*/true), 4, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(l / 4 + 8 * (v >> 1), 2 * (l % 4) + (v & 1));
  });
  expectFragment(instruction::mmaB(16, /*half=*/true), 2, 1,
                 [](int64_t v, int64_t l, int64_t) { return Position(2 * (l % 4) + v, l / 4); });
}

TEST(InstructionLayouts, MmaOfTf32And8And4BitsIsPtxsTable) {
  expectFragment(instruction::mmaA(32), 4, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(l / 4 + 8 * (v & 1), l % 4 + 4 * (v >> 1));
  });
  expectFragment(instruction::mmaB(32), 2, 1,
                 [](int64_t v, int64_t l, int64_t) { return Position(l % 4 + 4 * v, l / 4); });
  expectFragment(instruction::mmaA(8), 16, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(l / 4 + 8 * ((v >> 2) & 1), 4 * (l % 4) + (v & 3) + 16 * (v >> 3));
  });
  expectFragment(instruction::mmaB(8), 8, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(4 * (l % 4) + (v & 3) + 16 * (v >> 2), l / 4);
  });
  expectFragment(instruction::mmaA(4), 32, 1, [](int64_t v, int64_t l, int64_t) {
    return Position(l / 4 + 8 * ((v >> 3) & 1), 8 * (l % 4) + (v & 7) + 32 * (v >> 4));
  });
}

TEST(InstructionLayouts, MmaOfF64IsPtxsTable) {
  expectFragment(instruction::mmaA(64), 1, 1,
                 [](int64_t, int64_t l, int64_t) { return Position(l / 4, l % 4); });
  expectFragment(instruction::mmaB(64), 1, 1,
                 [](int64_t, int64_t l, int64_t) { return Position(l % 4, l / 4); });
  expectFragment(instruction::mmaC(64), 2, 1,
                 [](int64_t v, int64_t l, int64_t) { return Position(l / 4, 2 * (l % 4) + v); });
}

/// AMD's manuals number the rows of A and the columns of B and D by lane % 16; the blocks of k of A
/// and B, and of the rows of D, by lane / 16. A product's rows are the columns of D.
TEST(InstructionLayouts, MfmaIsAmdsTable) {
  for (int64_t bits : {8, 16, 32, 64}) {
    const int64_t deep = 128 / bits;
    auto left = [&](int64_t v, int64_t l, int64_t) {
      return Position(l % 16, deep * (l / 16) + v);
    };
    auto right = [&](int64_t v, int64_t l, int64_t) {
      return Position(deep * (l / 16) + v, l % 16);
    };
    auto sum = [&](int64_t v, int64_t l, int64_t) {
      return Position(l % 16, bits == 64 ? 4 * v + l / 16 : 4 * (l / 16) + v);
    };
    expectFragment(instruction::mfmaA(bits), deep, 1, left, 64);
    expectFragment(instruction::mfmaB(bits), deep, 1, right, 64);
    expectFragment(instruction::mfmaC(bits), 4, 1, sum, 64);
  }
}

TEST(InstructionLayouts, MfmaOf32RowsIsAmdsTable) {
  expectFragment(
      instruction::mfmaC(16, 32), 16, 1,
      [](int64_t v, int64_t l, int64_t) {
        return Position(l % 32, 8 * (v / 4) + 4 * (l / 32) + v % 4);
      },
      64);
  expectFragment(
      instruction::mfmaA(16, instruction::MfmaDepth::consecutive, 32), 8, 1,
      [](int64_t v, int64_t l, int64_t) { return Position(l % 32, 8 * (l / 32) + v); }, 64);
}

TEST(InstructionLayouts, SumsOfMfmaAreALeftOperandWhereTheyAre) {
  using instruction::MfmaDepth;
  for (int64_t size : {16, 32})
    for (int64_t bits : {32, 16, 8}) {
      const Layout sums = instruction::mfmaC(bits, size),
                   operand = instruction::mfmaA(bits, MfmaDepth::ofSums, size),
                   right = instruction::mfmaB(bits, MfmaDepth::ofSums, size);
      // The index of a register of tiles that are next to each other.
      auto indexOf = [](const Layout &tile, int64_t reg, int64_t lane) {
        const int64_t registers = tile.extent(Axis::reg);
        auto index = *tile.indexOf(reg % registers, lane);
        return Position(index[0], index[1] + reg / registers * tile.cover(1));
      };
      for (int64_t lane = 0; lane < 64; ++lane)
        for (int64_t reg = 0; reg < 16; ++reg) {
          const Position place = indexOf(operand, reg, lane);
          EXPECT_EQ(place, indexOf(sums, reg, lane)) << bits << " bits, " << size << " rows";
          if (reg < right.extent(Axis::reg)) {
            auto index = *right.indexOf(reg, lane);
            EXPECT_EQ(Position(index[1], index[0]), place) << bits << " bits, " << size << " rows";
          }
        }
    }
}

TEST(InstructionLayouts, MatrixLoadsArePtxsTable) {
  expectFragment(instruction::matrixFragment(false), 2, 1,
                 [](int64_t v, int64_t l, int64_t) { return Position(l / 4, 2 * (l % 4) + v); });
  expectFragment(instruction::matrixFragment(true), 2, 1,
                 [](int64_t v, int64_t l, int64_t) { return Position(2 * (l % 4) + v, l / 4); });
  EXPECT_EQ(instruction::matrixRows(2).str(), "[16 lane] copies [2 lane:16]");
}

TEST(InstructionLayouts, WgmmaIsPtxsTable) {
  expectFragment(instruction::wgmmaAccumulator(256), 128, 4, [](int64_t v, int64_t l, int64_t w) {
    return Position(16 * w + l / 4 + 8 * ((v >> 1) & 1), 8 * (v >> 2) + 2 * (l % 4) + (v & 1));
  });
  expectFragment(instruction::wgmmaA(16), 8, 4, [](int64_t v, int64_t l, int64_t w) {
    return Position(16 * w + l / 4 + 8 * ((v >> 1) & 1), 2 * (l % 4) + (v & 1) + 8 * (v >> 2));
  });
  expectFragment(instruction::wgmmaA(8), 16, 4, [](int64_t v, int64_t l, int64_t w) {
    return Position(16 * w + l / 4 + 8 * ((v >> 2) & 1), 4 * (l % 4) + (v & 3) + 16 * (v >> 3));
  });
  expectFragment(instruction::wgmmaA(32), 4, 4, [](int64_t v, int64_t l, int64_t w) {
    return Position(16 * w + l / 4 + 8 * (v & 1), l % 4 + 4 * (v >> 1));
  });
}

TEST(InstructionLayouts, AWgmmaAccumulatorIsFourWarpsOfMma) {
  std::optional<Layout> blocks = instruction::wgmmaAccumulator(64).divide(instruction::mmaC());
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->str(), "[4 warp] [8 reg]");
}

TEST(InstructionLayouts, BoxesOfTmaAreSwizzledByAddress) {
  for (int64_t elementBytes : {1, 2, 4})
    for (int64_t swizzle : {32, 64, 128})
      for (int64_t rows : {1, 2, 4, 8, 24, 64}) {
        const int64_t columns = swizzle / elementBytes;
        std::optional<Layout> box = instruction::tmaBox(rows, columns, elementBytes, swizzle);
        ASSERT_TRUE(box);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = 0; column < columns; ++column) {
            const int64_t address = row * swizzle + column * elementBytes;
            const int64_t mask = swizzle == 32 ? 0x10 : swizzle == 64 ? 0x30 : 0x70;
            ASSERT_EQ(box->apply({row, column})[Axis::offset] * elementBytes,
                      address ^ ((address >> 3) & mask))
                << box->str();
          }
      }
  EXPECT_FALSE(instruction::tmaBox(8, 128, 2, 128)) << "a row longer than the swizzle";
  EXPECT_EQ(instruction::tmaBox(8, 100, 2, 0)->str(), "[8 offset:100] [100 offset]");
}

TEST(InstructionLayouts, TensorMemoryIsPtxsTable) {
  struct {
    instruction::TensorLoad shape;
    int64_t registers;
    std::function<Position(int64_t, int64_t)> at;
  } cases[] = {
      {instruction::TensorLoad::x32b32, 8, [](int64_t q, int64_t t) { return Position(t, q); }},
      {instruction::TensorLoad::x16b64, 8,
       [](int64_t q, int64_t t) { return Position(t / 4 + 8 * (t & 1), ((t >> 1) & 1) + 2 * q); }},
      {instruction::TensorLoad::x16b128, 16,
       [](int64_t q, int64_t t) { return Position(t / 4 + 8 * (q & 1), t % 4 + 4 * (q >> 1)); }},
      {instruction::TensorLoad::x16b256, 32,
       [](int64_t q, int64_t t) {
         return Position(t / 4 + 8 * ((q >> 1) & 1), 2 * (t % 4) + (q & 1) + 8 * (q >> 2));
       }},
  };
  for (const auto &test : cases)
    expectFragment(instruction::tensorLoad(test.shape, 8), test.registers, 1,
                   [&](int64_t v, int64_t l, int64_t) { return test.at(v, l); });

  std::optional<Layout> pair = instruction::tensorAccumulator(128, 64, 2);
  ASSERT_TRUE(pair);
  const Coordinates at = pair->apply({100, 40});
  EXPECT_EQ(at[Axis::cta], 1);
  EXPECT_EQ(at[Axis::tmemLane], 36 + 64);
  EXPECT_EQ(at[Axis::tmemColumn], 8);
  EXPECT_EQ(instruction::tensorAccumulator(64, 32, 1)->apply({17, 3})[Axis::tmemLane], 33);
  EXPECT_FALSE(instruction::tensorAccumulator(32, 32, 1));
}

/// Every register holds the cell of tensor memory that PTX's table of 16x256b loads gives, and a
/// warp reads only its own quarter.
TEST(InstructionLayouts, AccumulatorsAreReadByQuarters) {
  struct {
    int64_t m, n, ctas, groups;
  } cases[] = {{128, 96, 1, 1}, {128, 256, 1, 2}, {64, 16, 1, 1},
               {256, 64, 2, 1}, {256, 256, 2, 2}, {128, 64, 2, 1}};
  for (auto [m, n, ctas, groups] : cases) {
    const Layout memory = *instruction::tensorAccumulator(m, n, ctas);
    const Layout registers = instruction::tensorRegisters(memory, groups);
    ASSERT_EQ(registers.problem(), "");
    EXPECT_EQ(registers.extent(Axis::group), groups);
    const int64_t columns = memory.extent(Axis::tmemColumn);
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        const Coordinates cell = memory.apply({row, column}), at = registers.apply({row, column});
        const int64_t perHalf = columns / 2, half = at[Axis::reg] / perHalf + at[Axis::group],
                      q = at[Axis::reg] % perHalf, t = at[Axis::lane];
        ASSERT_EQ(at[Axis::cta], cell[Axis::cta]);
        ASSERT_EQ(32 * at[Axis::warp] + 16 * half + t / 4 + 8 * ((q >> 1) & 1),
                  cell[Axis::tmemLane])
            << registers.str();
        ASSERT_EQ(2 * (t % 4) + (q & 1) + 8 * (q >> 2), cell[Axis::tmemColumn]) << registers.str();
      }
  }
  EXPECT_TRUE(instruction::tensorRegisters(*instruction::tensorAccumulator(64, 32, 1), 1)
                  .sameAs(instruction::wgmmaAccumulator(32)));
}

/// Every register of a left operand goes to the cell, and the part of the cell, that PTX's table of
/// 16x128b stores gives; rows may be in pairs.
TEST(InstructionLayouts, LeftOperandsAreWrittenByQuarters) {
  struct {
    int64_t m, k, ctas, groups, bits;
  } cases[] = {{128, 64, 1, 1, 16}, {128, 64, 1, 2, 16}, {64, 64, 1, 1, 16},
               {128, 128, 1, 1, 8}, {256, 64, 2, 1, 16}, {256, 128, 2, 2, 8}};
  for (auto [m, k, ctas, groups, bits] : cases)
    for (bool isPaired : {false, true}) {
      Layout memory = *instruction::tensorOperand(m, k, ctas);
      if (isPaired)
        memory = instruction::withPairedRows(memory);
      ASSERT_EQ(memory.problem(), "");
      const Layout registers = instruction::tensorRegisters(memory, groups, bits);
      ASSERT_EQ(registers.problem(), "");
      EXPECT_EQ(registers.extent(Axis::group), groups);
      const int64_t packed = 32 / bits;
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < k; ++column) {
          const Coordinates cell = memory.apply({row, column}), at = registers.apply({row, column});
          // Half of the columns' elements are in a thread's registers of one half of the lanes: it
          // has two rows of them, and four threads share a row.
          const int64_t perHalf = k / 2, half = at[Axis::reg] / perHalf + at[Axis::group],
                        q = at[Axis::reg] % perHalf / packed, t = at[Axis::lane];
          ASSERT_EQ(at[Axis::cta], cell[Axis::cta]);
          ASSERT_EQ(32 * at[Axis::warp] + 16 * half + t / 4 + 8 * (q & 1), cell[Axis::tmemLane])
              << registers.str();
          ASSERT_EQ(t % 4 + 4 * (q >> 1), cell[Axis::tmemColumn] / packed) << registers.str();
          ASSERT_EQ(at[Axis::reg] % packed, cell[Axis::tmemColumn] % packed) << registers.str();
        }
    }
  // Row 5 of every 16 is row 2 of the upper eight lanes.
  const Layout paired = instruction::withPairedRows(*instruction::tensorOperand(128, 64, 1));
  EXPECT_EQ(paired.apply({16 + 5, 0})[Axis::tmemLane], 16 + 2 + 8);
  // A thread has the same pairs of a product's columns as of the next product's left operand.
  EXPECT_EQ(instruction::tensorRegisters(*instruction::tensorAccumulator(128, 64, 1), 1).str(),
            "[4 warp, 2 reg:32, 2 reg:2, 8 lane:4] [8 reg:4, 4 lane, 2 reg]");
  EXPECT_EQ(instruction::tensorRegisters(*instruction::tensorOperand(128, 64, 1), 1, 16).str(),
            "[4 warp, 2 reg:32, 2 reg:2, 8 lane:4] [8 reg:4, 4 lane, 2 reg]");
  EXPECT_FALSE(instruction::tensorOperand(128, 64, 2)) << "rows would be in two copies";
}

} // namespace
