// Every kernel that the compiler emits can be launched. Random programs are either rejected with an
// error, or the virtual driver, which has the chip's limits, loads them. ptxas decides the number
// of registers; if it is installed, the compiler rejects kernels that need more than a
// multiprocessor has.
#include "tilewright/driver/Compile.h"
#include "tilewright/runtime/LoadedExecutable.h"
#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/support/Concat.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace tilewright {
namespace {

class Programs {
public:
  explicit Programs(uint64_t seed) : random(seed) {}

  std::string next() {
    switch (random() % 4) {
    case 0:
    case 1:
      return product();
    case 2:
      return softmax();
    default:
      return movement();
    }
  }

private:
  /// From 1 to `most`, small ones as likely as large ones.
  int64_t size(int64_t most) {
    const int64_t limit = int64_t(1) << (random() % 15);
    return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(std::min(most, limit)));
  }
  template <size_t count> const char *pick(const char *const (&list)[count]) {
    return list[random() % count];
  }

  std::string product() {
    const char *const elements[] = {"f16", "bf16", "f32", "f8E4M3FN", "f8E5M2", "i8", "f64"};
    const std::string element = pick(elements);
    const std::string result = element == "i8"    ? "i32"
                               : element == "f64" ? "f64"
                               : random() % 2     ? "f32"
                                                  : "f16";
    const int64_t m = size(5000), n = size(5000), k = size(5000),
                  batch = random() % 4 ? 0 : 1 + random() % 9;
    const bool left = random() % 2, right = random() % 2;
    const std::string before = batch ? concat(batch, "x") : "";
    auto tensor = [&](int64_t a, int64_t b, const std::string &type) {
      return concat("tensor<", before, a, "x", b, "x", type, ">");
    };
    const std::string a = left ? tensor(m, k, element) : tensor(k, m, element);
    const std::string b = right ? tensor(k, n, element) : tensor(n, k, element);
    const std::string c = tensor(m, n, result);
    const int64_t first = batch ? 1 : 0;
    return concat("func.func @main(%a: ", a, ", %b: ", b, ") -> ", c,
                  " {\n%d = stablehlo.dot_general %a, %b, ",
                  batch ? "batching_dims = [0] x [0], " : "", "contracting_dims = [",
                  first + (left ? 1 : 0), "] x [", first + (right ? 0 : 1), "] : (", a, ", ", b,
                  ") -> ", c, "\n%t = stablehlo.", element == "i8" ? "negate" : "tanh", " %d : ", c,
                  "\nreturn %t : ", c, "\n}\n");
  }

  std::string softmax() {
    const int64_t rows = size(20000), columns = size(20000);
    const std::string x = concat("tensor<", rows, "x", columns, "xf32>"),
                      r = concat("tensor<", rows, "xf32>");
    return concat("func.func @main(%x: ", x, ") -> ", x,
                  " {\n%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n",
                  "%m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across "
                  "dimensions = [1] : (",
                  x, ", tensor<f32>) -> ", r,
                  "\n%b = stablehlo.broadcast_in_dim %m, dims = [0] : (", r, ") -> ", x,
                  "\n%d = stablehlo.subtract %x, %b : ", x, "\n%e = stablehlo.exponential %d : ", x,
                  "\nreturn %e : ", x, "\n}\n");
  }

  std::string movement() {
    const char *const elements[] = {"f32", "f16", "i8", "f64", "i1", "complex<f32>"};
    const std::string element = pick(elements);
    const int64_t a = size(600), b = size(600), c = size(600);
    const std::string x = concat("tensor<", a, "x", b, "x", c, "x", element, ">");
    const std::string y = concat("tensor<", c, "x", a, "x", b, "x", element, ">");
    return concat("func.func @main(%x: ", x, ") -> ", y, " {\n%r = stablehlo.reverse %x, dims = [",
                  random() % 3, "] : ", x, "\n%t = stablehlo.transpose %r, dims = [2, 0, 1] : (", x,
                  ") -> ", y, "\nreturn %t : ", y, "\n}\n");
  }

  std::mt19937_64 random;
};

TEST(GpuLoad, WhatIsNotRefusedCanLaunch) {
  const char *count = std::getenv("TILEWRIGHT_TEST_COUNT"),
             *chip = std::getenv("TILEWRIGHT_TEST_CHIP");
  const std::string target = chip ? chip : "sm_90a";
  mlir::DialectRegistry registry;
  driver::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto driverOptions = runtime::cuda::driverOptionsOf(concat("vgpu:", target));
  ASSERT_TRUE(driverOptions.isOk());
  auto client = runtime::cuda::createClient({}, *driverOptions);
  ASSERT_TRUE(client.isOk()) << std::move(client).takeStatus().toString();
  Programs programs(7);
  int loaded = 0, refused = 0;
  for (int i = 0; i < (count ? std::atoi(count) : 80); ++i) {
    const std::string text = programs.next();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    driver::CompileRequest request;
    request.options.compile.target = target;
    Result<artifact::Executable> executable = driver::compile(*module, request);
    if (!executable.isOk()) {
      // A rejection must have an error id with a page, and must not be an internal error.
      const Status status = std::move(executable).takeStatus();
      EXPECT_NE(status.code(), Code::internal) << status.toString() << "\n" << text;
      EXPECT_TRUE(status.error().has_value()) << status.toString() << "\n" << text;
      ++refused;
      continue;
    }
    auto assignment = (*client)->defaultAssignment(1, 1);
    auto program = (*client)->load(
        std::make_shared<const artifact::Executable>(*std::move(executable)), *assignment);
    loaded += program.isOk();
    EXPECT_TRUE(program.isOk()) << std::move(program).takeStatus().toString() << "\n" << text;
  }
  std::printf("%s: %d loaded, %d refused\n", target.c_str(), loaded, refused);
  EXPECT_GT(loaded, 9 * refused);
}

} // namespace
} // namespace tilewright
