// Both engines with the doubles on the virtual GPU: products of random matrices against the exact
// ones.
#include "tilewright/numerics/Float.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/Transfer.h"
#include "tilewright/runtime/cuda/libraries/GpuLibraries.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace tilewright::runtime::cuda::libraries {
namespace {

using artifact::ScaledProduct;
using numerics::ElementType;
using testing::HasSubstr;

/// The virtual GPU with memory that ends with the test.
class LibraryEngines : public testing::TestWithParam<Library> {
protected:
  void SetUp() override {
    setenv("TILEWRIGHT_VGPU_MEMORY", "64M", 0);
    setenv("TILEWRIGHT_VGPU_THREADS", "2", 0);
    DriverOptions options;
    options.virtualChip = "sm_100a";
    Result<std::shared_ptr<const DriverApi>> api = findDriver(options);
    ASSERT_TRUE(api.isOk()) << std::move(api).takeStatus().toString();
    Result<std::shared_ptr<CudaDevice>> opened = CudaDevice::open(*api, 0, 0, 4);
    ASSERT_TRUE(opened.isOk()) << std::move(opened).takeStatus().toString();
    device = *opened;
    Result<std::unique_ptr<RawMemory>> memory = device->memory({&device, 1});
    ASSERT_TRUE(memory.isOk());
    raw = *std::move(memory);
    // The libraries are asked in order, so cuDNN's turn comes if cuBLASLt is missing.
    if (GetParam() == Library::cudnn)
      setenv("TILEWRIGHT_CUBLASLT_LIBRARY", "/nowhere/libcublasLt.so.13", 1);
    else
      unsetenv("TILEWRIGHT_CUBLASLT_LIBRARY");
    Result<std::shared_ptr<GpuLibraries>> made = GpuLibraries::fromEnvironment(**api);
    ASSERT_TRUE(made.isOk());
    libraries = *made;
  }
  void TearDown() override {
    libraries.reset();
    for (auto [data, bytes] : taken)
      raw->give(data, bytes);
    raw.reset();
    if (device)
      device->stop();
  }

  CUdeviceptr put(const std::vector<std::byte> &bytes) {
    std::byte *data = raw->take(bytes.size());
    taken.emplace_back(data, bytes.size());
    copy(addressOf(data), addressOf(bytes.data()), bytes.size());
    return addressOf(data);
  }
  void copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    const ContextScope scope(*device);
    const CUstream stream = device->programs().stream();
    ASSERT_EQ(device->api().cuMemcpyAsync(to, from, bytes, stream), CUDA_SUCCESS);
    ASSERT_EQ(device->api().cuStreamSynchronize(stream), CUDA_SUCCESS);
  }

  std::shared_ptr<CudaDevice> device;
  std::unique_ptr<RawMemory> raw;
  std::vector<std::pair<std::byte *, size_t>> taken;
  std::shared_ptr<GpuLibraries> libraries;
};

/// A matrix of random elements and scales, as numbers and as a library reads them.
struct Matrix {
  Matrix(const ScaledProduct &product, int64_t rows, ElementType type, std::mt19937 &random)
      : elements(static_cast<size_t>(product.batch * rows * product.depth) *
                 numerics::bitWidth(type) / 8) {
    const int64_t groups = product.paddedBlocks() / 4, lines = (rows + 127) / 128 * 128;
    scales.resize(static_cast<size_t>(product.batch * lines * groups * 4));
    values.resize(static_cast<size_t>(product.batch * rows * product.depth));
    for (int64_t line = 0; line < product.batch * rows; ++line) {
      const int64_t matrix = line / rows, row = line % rows;
      for (int64_t k = 0; k < product.depth; ++k) {
        const int64_t i = line * product.depth + k, s = k / product.block;
        std::byte &scale = scales[static_cast<size_t>(matrix * lines * groups * 4 +
                                                      (row / 128 * groups + s / 4) * 512 +
                                                      row % 32 * 16 + row / 32 % 4 * 4 + s % 4)];
        if (k % product.block == 0)
          scale =
              std::byte(numerics::encode(product.scaleType, std::ldexp(1, int(random() % 7) - 3)));
        const uint64_t bits = numerics::encode(type, int(random() % 25) / 4.0 - 3);
        const double value = numerics::decode(type, bits);
        if (numerics::bitWidth(type) == 4)
          elements[static_cast<size_t>(i / 2)] |= std::byte(bits << (i % 2 * 4));
        else
          elements[static_cast<size_t>(i)] = std::byte(bits);
        values[static_cast<size_t>(i)] =
            value * numerics::decode(product.scaleType, static_cast<uint64_t>(scale));
      }
    }
  }
  std::vector<std::byte> elements, scales;
  std::vector<double> values;
};

ScaledProduct sample(bool isNvfp4, ElementType result, bool hasFactor) {
  ScaledProduct product;
  product.batch = 2, product.rows = 131, product.columns = 24, product.depth = 256;
  product.block = isNvfp4 ? 16 : 32;
  if (isNvfp4) {
    product.lhsType = product.rhsType = ElementType::f4E2M1FN;
    product.scaleType = ElementType::f8E4M3FN;
  } else {
    product.rhsType = ElementType::f8E5M2;
  }
  product.resultType = result;
  product.factor = hasFactor ? 4 : artifact::none;
  return product;
}

/// All sums are exact in f32, so the result is the exact one, rounded.
TEST_P(LibraryEngines, ComputeExactProducts) {
  std::mt19937 random(7);
  for (ElementType result : {ElementType::f32, ElementType::bf16, ElementType::f16})
    for (bool isNvfp4 : {false, true}) {
      const bool hasFactor = isNvfp4 == (result != ElementType::f16);
      const ScaledProduct product = sample(isNvfp4, result, hasFactor);
      const Matrix lhs(product, product.rows, product.lhsType, random),
          rhs(product, product.columns, product.rhsType, random);
      Choice choice = libraries->choose(device, product);
      ASSERT_TRUE(choice.plan) << testing::PrintToString(choice.refusals);
      EXPECT_THAT(choice.engine, HasSubstr(std::string(nameOf(GetParam()))));
      const float factor = 0.375f, zero = 0;
      auto bytesOf = [](const float &value) {
        const auto *data = reinterpret_cast<const std::byte *>(&value);
        return std::vector<std::byte>(data, data + sizeof value);
      };
      std::vector<std::byte> results(static_cast<size_t>(product.batch * product.resultBytes()));
      const ProductAddresses addresses = {put(lhs.elements), put(rhs.elements),
                                          put(lhs.scales),   put(rhs.scales),
                                          put(results),      hasFactor ? put(bytesOf(factor)) : 0,
                                          put(bytesOf(zero))};
      {
        const ContextScope scope(*device);
        const Status status = choice.plan->run(
            addresses, put(std::vector<std::byte>(choice.plan->workspaceBytes() + 1)),
            device->programs().stream());
        ASSERT_TRUE(status.isOk()) << status.toString();
      }
      copy(addressOf(results.data()), addresses.result, results.size());
      const size_t bytes = numerics::storageBytes(result);
      for (int64_t line = 0; line < product.batch * product.rows; ++line)
        for (int64_t n = 0; n < product.columns; ++n) {
          const int64_t column = line / product.rows * product.columns + n;
          double sum = 0;
          for (int64_t k = 0; k < product.depth; ++k)
            sum += lhs.values[static_cast<size_t>(line * product.depth + k)] *
                   rhs.values[static_cast<size_t>(column * product.depth + k)];
          uint64_t bits = 0;
          std::memcpy(&bits,
                      results.data() + static_cast<size_t>(line * product.columns + n) * bytes,
                      bytes);
          ASSERT_EQ(bits, numerics::encode(result, hasFactor ? sum * factor : sum))
              << product.text() << " at " << line << ", " << n;
        }
      const ContextScope scope(*device);
      choice.plan.reset();
    }
}

TEST_P(LibraryEngines, SayWhyTheyRefuse) {
  ScaledProduct product = sample(true, ElementType::f32, false);
  product.columns = 7;
  const Choice choice = libraries->choose(device, product);
  EXPECT_FALSE(choice.plan);
  EXPECT_THAT(choice.refusals, testing::ElementsAre(HasSubstr("cuBLASLt needs rows of the result"),
                                                    HasSubstr("cuDNN needs rows of the result")));
}

INSTANTIATE_TEST_SUITE_P(Doubles, LibraryEngines,
                         testing::Values(Library::cublasLt, Library::cudnn),
                         [](const auto &info) { return std::string(nameOf(info.param)); });

} // namespace
} // namespace tilewright::runtime::cuda::libraries
