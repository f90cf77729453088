#include "tilewright/vgpu/libraries/Settings.h"

#include <gtest/gtest.h>

namespace tilewright::vgpu::libraries {
namespace {

TEST(LibrarySettings, FaultsAreRead) {
  std::vector<Fault> faults;
  EXPECT_EQ(parseFaults("cublasLt:wrong number=2; workspace bytes=4096;overrun", faults), "");
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].kind, Fault::Kind::wrong);
  EXPECT_EQ(faults[0].library, "cublasLt");
  EXPECT_EQ(faults[0].number, 2u);
  EXPECT_EQ(faults[1].kind, Fault::Kind::workspace);
  EXPECT_EQ(faults[1].library, "");
  EXPECT_EQ(faults[1].bytes, 4096u);
  EXPECT_EQ(faults[2].kind, Fault::Kind::overrun);
}

TEST(LibrarySettings, WhatCannotBeReadIsNamed) {
  std::vector<Fault> faults;
  EXPECT_EQ(parseFaults("explode", faults), "unknown fault 'explode'");
  EXPECT_EQ(parseFaults("cublas:wrong", faults),
            "unknown library 'cublas', expected cublasLt or cudnn");
  EXPECT_EQ(parseFaults("wrong number=0", faults),
            "cannot read 'number=0', expected number=N or bytes=N");
}

} // namespace
} // namespace tilewright::vgpu::libraries
