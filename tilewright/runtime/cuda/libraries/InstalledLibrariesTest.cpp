// NVIDIA's libraries, where they are installed: they load, have our functions, and accept our
// descriptors. Without a GPU they compute nothing: cublasLtCreate and cudnnCreate fail.
#include "tilewright/runtime/cuda/libraries/LibraryEngine.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/// Without a GPU, cublasLtCreate fails and does not free what it allocated.
extern "C" const char *__lsan_default_suppressions() { return "leak:cublasLtCreate"; }
#endif
#endif

namespace tilewright::runtime::cuda::libraries {
namespace {

using artifact::ScaledProduct;
using numerics::ElementType;
using testing::HasSubstr;

TEST(LoadLibraries, AMissingFileIsNamed) {
  for (auto load : {loadCublasLt, loadCudnn}) {
    const Status status = load("/nowhere/libcublasLt.so.13").takeStatus();
    EXPECT_THAT(status.message(), HasSubstr("/nowhere/libcublasLt.so.13"));
  }
}

TEST(LoadLibraries, AnotherLibraryLacksTheFunctions) {
  EXPECT_THAT(loadCublasLt("libm.so.6").takeStatus().message(),
              HasSubstr("'libm.so.6' does not export cublasLtCreate"));
  EXPECT_THAT(loadCudnn("libm.so.6").takeStatus().message(),
              HasSubstr("'libm.so.6' does not export cudnnCreate"));
}

#ifdef TILEWRIGHT_TEST_CUBLASLT
TEST(InstalledCublasLt, HasOurFunctionsAndAVersionOfTheGates) {
  Result<LoadedLibrary> loaded = loadCublasLt(TILEWRIGHT_TEST_CUBLASLT);
  ASSERT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
  EXPECT_GE(loaded->version, oldestVersion(Library::cublasLt));
  // A process with a GPU goes on; elsewhere the library says that there is none.
  Result<std::unique_ptr<LibraryEngine>> engine = loaded->connect(*loaded);
  if (!engine.isOk())
    EXPECT_THAT(std::move(engine).takeStatus().message(), HasSubstr("cublasLtCreate failed with"));
}
#endif

#ifdef TILEWRIGHT_TEST_CUDNN
/// cuDNN checks types, dimensions, strides and the order of scales of a graph without a GPU.
TEST(InstalledCudnn, AcceptsTheGraphsOfAllFormats) {
  Result<LoadedLibrary> loaded = loadCudnn(TILEWRIGHT_TEST_CUDNN);
  ASSERT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
  EXPECT_GE(loaded->version, oldestVersion(Library::cudnn));
  for (ElementType result : {ElementType::f32, ElementType::bf16, ElementType::f16})
    for (artifact::Index factor : {artifact::none, artifact::Index(4)})
      for (int64_t block : {16, 32}) {
        ScaledProduct product;
        product.batch = 3, product.rows = 130, product.columns = 48, product.depth = 256;
        product.block = block, product.factor = factor, product.resultType = result;
        if (block == 16) {
          product.lhsType = product.rhsType = ElementType::f4E2M1FN;
          product.scaleType = ElementType::f8E4M3FN;
        }
        const Status status = checkCudnnGraph(*loaded, product);
        EXPECT_TRUE(status.isOk()) << product.text() << ": " << status.toString();
      }
}
#endif

} // namespace
} // namespace tilewright::runtime::cuda::libraries
