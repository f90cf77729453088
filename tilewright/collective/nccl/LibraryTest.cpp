#include "tilewright/collective/nccl/Library.h"

#include <gtest/gtest.h>

namespace tilewright::collective::nccl {
namespace {

TEST(NcclLibrary, FunctionsOfLaterVersionsAreForgotten) {
  Library library;
  library.AllReduce = [](auto...) { return abi::ncclSuccess; };
  library.CommShrink = [](auto...) { return abi::ncclSuccess; };
  library.AlltoAll = [](auto...) { return abi::ncclSuccess; };
  library.CommRevoke = [](auto...) { return abi::ncclSuccess; };
  library.version = 22800;
  library.forgetNewer();
  EXPECT_EQ(library.CommRevoke, nullptr); // of 2.28.7
  EXPECT_NE(library.AlltoAll, nullptr);
  library.version = 22304;
  library.forgetNewer();
  EXPECT_EQ(library.AlltoAll, nullptr);
  EXPECT_EQ(library.CommShrink, nullptr);
  EXPECT_NE(library.AllReduce, nullptr);
}

#ifdef TILEWRIGHT_TEST_NCCL
/// NVIDIA's library, which loads without a GPU: it has all functions.
TEST(NcclLibrary, TheInstalledLibraryLoads) {
  auto library = Library::load(TILEWRIGHT_TEST_NCCL);
  ASSERT_TRUE(library.isOk()) << std::move(library).takeStatus().toString();
  EXPECT_GE((*library)->version, 22300);
}
#endif

} // namespace
} // namespace tilewright::collective::nccl
