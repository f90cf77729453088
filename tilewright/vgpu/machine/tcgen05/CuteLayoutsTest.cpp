// Compares the layouts of tensor memory with those that CuTe prints (testing/tcgen05).
#include "tilewright/vgpu/machine/tcgen05/TensorMove.h"
#include "tilewright/vgpu/machine/tcgen05/TensorProduct.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tilewright::vgpu::machine {
namespace {

/// A layout of CuTe: a tree of sizes, and one of strides. Modes are the children of the root.
struct Layout {
  std::vector<std::vector<uint64_t>> shape, stride; // by mode, flat

  static Layout parse(const std::string &text) {
    const size_t colon = text.find(':');
    return {modesOf(text.substr(0, colon)), modesOf(text.substr(colon + 1))};
  }
  uint64_t size(size_t mode) const {
    uint64_t product = 1;
    for (uint64_t one : shape[mode])
      product *= one;
    return product;
  }
  /// The address of index `index` of a mode, whose first part is the fastest.
  uint64_t at(size_t mode, uint64_t index) const {
    uint64_t address = 0;
    for (size_t i = 0; i < shape[mode].size(); ++i) {
      address += index % shape[mode][i] * stride[mode][i];
      index /= shape[mode][i];
    }
    return address;
  }

private:
  static std::vector<std::vector<uint64_t>> modesOf(const std::string &text) {
    std::vector<std::vector<uint64_t>> modes;
    int depth = 0;
    uint64_t number = 0;
    bool inNumber = false, isNew = true;
    for (const char c : text + ' ') {
      if (c >= '0' && c <= '9') {
        number = 10 * number + static_cast<uint64_t>(c - '0');
        inNumber = true;
        continue;
      }
      if (inNumber) {
        if (isNew)
          modes.emplace_back();
        isNew = false;
        modes.back().push_back(number);
        number = 0, inNumber = false;
      }
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      isNew = isNew || (c == ',' && depth == 1);
    }
    return modes;
  }
};

struct Line {
  std::vector<std::string> words;
  Layout layout;
  unsigned number(size_t i) const { return static_cast<unsigned>(std::stoul(words[i])); }
};

std::vector<Line> linesOf(const std::string &what) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR) +
                     "/tilewright/vgpu/machine/testing/tcgen05/cute_layouts.tsv");
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    Line line;
    std::istringstream words(text);
    for (std::string word; words >> word;)
      line.words.push_back(word);
    if (line.words.empty() || line.words[0] != what)
      continue;
    line.layout = Layout::parse(line.words.back());
    lines.push_back(std::move(line));
  }
  return lines;
}

TEST(CuteLayouts, AccumulatorsAreEqual) {
  const std::vector<Line> lines = linesOf("D");
  ASSERT_GE(lines.size(), 18u);
  for (const Line &line : lines) {
    const unsigned group = line.number(1), m = line.number(2), n = line.number(3);
    const ProductLayout layout = layoutOf({.isPair = group == 2}, m);
    ASSERT_EQ(line.layout.size(0), uint64_t(layout.rows) * n) << line.words.back();
    for (unsigned row = 0; row < layout.rows; ++row)
      for (unsigned column = 0; column < n; ++column) {
        const unsigned width = n / layout.parts;
        const uint64_t lane = layout.laneOf(row) + column / width * layout.step;
        ASSERT_EQ(line.layout.at(0, row + uint64_t(column) * layout.rows),
                  lane << 16 | column % width)
            << line.words.back() << " at " << row << ", " << column;
      }
  }
}

TEST(CuteLayouts, ScalesAreEqual) {
  unsigned compared = 0;
  for (const char *what : {"SFA", "SFB"})
    for (const Line &line : linesOf(what)) {
      const bool isB = line.words[0] == "SFB";
      const unsigned group = line.number(2), m = line.number(3), n = line.number(4);
      const unsigned count = line.words[1] == "mxf8" ? 1 : line.words[1] == "mxf4" ? 2 : 4;
      const unsigned block = line.words[1] == "nvf4" ? 16 : 32;
      const bool isHalved = isB && group == 2 && m == 128;
      // Rows as CuTe has them: multiples of 128, or half as many in each half of the lanes.
      const unsigned rows = isB ? (n + 127) / 128 * 128 : 128;
      const Layout &layout = line.layout;
      ASSERT_EQ(layout.size(0), uint64_t(rows) * (isHalved ? 2 : 4) * block * count)
          << line.words.back();
      for (unsigned step = 0; step < layout.size(2); ++step)
        for (unsigned i = 0; i < rows; ++i)
          for (unsigned copy = 0; copy < (isHalved ? 2u : 4u); ++copy)
            for (unsigned s = 0; s < count; ++s) {
              // Of four steps, some begin at another column.
              const unsigned first = step * count;
              const ScalePlace place = placeOfScale(i, s, first, rows, isHalved);
              const uint64_t expected =
                  uint64_t(place.lane + 32 * copy) << 18 | place.column << 2 | place.byte;
              const uint64_t index =
                  i + uint64_t(rows) * (copy + uint64_t(isHalved ? 2 : 4) * block * s);
              ASSERT_EQ(layout.at(0, index) + layout.at(2, step), expected)
                  << line.words[0] << ' ' << line.words.back() << " row " << i << " copy " << copy
                  << " scale " << s << " step " << step;
            }
      ++compared;
    }
  EXPECT_GE(compared, 42u);
}

TEST(CuteLayouts, LoadsAreEqual) {
  const std::vector<Line> lines = linesOf("ld");
  ASSERT_GE(lines.size(), 30u);
  for (const Line &line : lines) {
    const std::string &name = line.words[1];
    const unsigned count = line.number(2);
    const TensorShape shape = name == "32x32b"    ? TensorShape::lanes32
                              : name == "16x64b"  ? TensorShape::bits64
                              : name == "16x128b" ? TensorShape::bits128
                              : name == "16x256b" ? TensorShape::bits256
                                                  : TensorShape::split;
    const unsigned columns = shape == TensorShape::lanes32   ? count
                             : shape == TensorShape::bits128 ? 4 * count
                             : shape == TensorShape::bits256 ? 8 * count
                                                             : 2 * count;
    for (unsigned thread = 0; thread < 32; ++thread)
      for (unsigned index = 0; index < line.layout.size(1); ++index) {
        const TensorCell cell = cellOf(shape, thread, index, count);
        ASSERT_EQ(line.layout.at(0, thread) + line.layout.at(1, index),
                  uint64_t(cell.lane) * columns + cell.column)
            << name << " x" << count << " thread " << thread << " register " << index;
      }
  }
}

// The examples of the zero-column mask in the PTX ISA.
TEST(ZeroColumns, AreThoseOfTheExamples) {
  const auto text = [](uint64_t mask, unsigned m, unsigned n) {
    std::string result;
    for (const bool zero : zeroColumns(mask, m, n))
      result += zero ? '1' : '0';
    return result;
  };
  const uint64_t spans = uint64_t(1) << 39 | uint64_t(2) << 40 | uint64_t(3) << 48;
  EXPECT_EQ(text(spans, 128, 64).substr(0, 14), "00001110000111");
  EXPECT_EQ(text(0, 128, 64), std::string(64, '0'));
  const std::string four = text(spans | 1 | 2 << 8 | 1 << 16 | uint64_t(12) << 32, 32, 64);
  EXPECT_EQ(four.substr(0, 7), "0001110");
  EXPECT_EQ(four.substr(16, 6), "001110");
  EXPECT_EQ(four.substr(32, 6), "110000");
  EXPECT_EQ(four.substr(48, 6), "111000");
}

} // namespace
} // namespace tilewright::vgpu::machine
