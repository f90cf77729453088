#include "tilewright/vgpu/amdgcn/watch/Lines.h"

#include <gtest/gtest.h>

namespace tilewright::vgpu::amdgcn {
namespace {

std::vector<std::byte> bytesOf(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// A table of version 4 or 5 with one file, whose code from 256 on has the lines 7, none, and 20.
std::vector<std::byte> makeTable(unsigned version) {
  std::vector<std::byte> head = bytesOf({4, 1, 1, 0xfb, 14, 13});
  for (const int count : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1})
    head.push_back(static_cast<std::byte>(count));
  const auto files =
      version == 4
          ? bytesOf({'d', 0, 0, 'k', '.', 'p', 'y', 0, 1, 0, 0, 0})
          // Formats: a path as a string; a directory's number and a checksum besides.
          : bytesOf({1,   1, 8, 2, 'c', 0, 'd', 0,                              // directories
                     3,   1, 8, 2, 11,  5, 30,  2, 'x', 0, 0, 0, 0,   0,   0,   // file 0
                     0,   0, 0, 0, 0,   0, 0,   0, 0,   0, 0, 0, 'k', '.', 'p', // file 1
                     'y', 0, 1, 0, 0,   0, 0,   0, 0,   0, 0, 0, 0,   0,   0,   0, 0, 0, 0});
  head.insert(head.end(), files.begin(), files.end());
  const auto program = bytesOf({0,    9,  2, 0,    1, 0, 0, 0, 0, 0, 0, // address 256
                                3,    6,  1,                            // line 7
                                2,    2,  3, 0x79, 1,                   // 264: line 0
                                3,    20, 2, 1,    1,                   // 268: line 20
                                0x25,                                   // 272: line 25
                                2,    1,  0, 1,    1});                 // 276: the end
  std::vector<std::byte> body = bytesOf({static_cast<int>(version), 0});
  if (version == 5)
    body.insert(body.end(), {std::byte(8), std::byte(0)});
  for (const size_t shift : {0, 8, 16, 24})
    body.push_back(static_cast<std::byte>(head.size() >> shift & 255));
  body.insert(body.end(), head.begin(), head.end());
  body.insert(body.end(), program.begin(), program.end());
  std::vector<std::byte> table;
  for (const size_t shift : {0, 8, 16, 24})
    table.push_back(static_cast<std::byte>(body.size() >> shift & 255));
  table.insert(table.end(), body.begin(), body.end());
  return table;
}

Lines read(std::span<const std::byte> table) {
  CodeObject object;
  Section section;
  section.name = ".debug_line";
  section.bytes = table;
  object.sections.push_back(section);
  return Lines::read(object);
}

TEST(Lines, TablesOfVersions4And5NameTheLineOfEachAddress) {
  for (const unsigned version : {4, 5}) {
    const auto table = makeTable(version);
    const Lines lines = read(table);
    EXPECT_EQ(lines.find(255).file, "");
    EXPECT_EQ(lines.find(256).file, "d/k.py") << version;
    EXPECT_EQ(lines.find(260).line, 7u);
    EXPECT_EQ(lines.find(264).line, 7u) << "code without a line belongs to the one before";
    EXPECT_EQ(lines.find(268).line, 20u);
    EXPECT_EQ(lines.find(272).line, 25u);
    EXPECT_EQ(lines.find(276).file, "") << "after the end";
  }
}

TEST(Lines, DamagedTablesDoNotCrash) {
  for (const unsigned version : {4, 5}) {
    const auto table = makeTable(version);
    for (size_t size = 0; size < table.size(); ++size)
      read(std::span(table).first(size)).find(260);
    for (size_t at = 0; at < table.size(); ++at)
      for (const int value : {0, 1, 127, 128, 255}) {
        auto damaged = table;
        damaged[at] = static_cast<std::byte>(value);
        read(damaged).find(260);
      }
  }
}

} // namespace
} // namespace tilewright::vgpu::amdgcn
