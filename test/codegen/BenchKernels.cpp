// Speed and compile time of generated kernels: nanoseconds for each element, compared with a copy
// of as many bytes. Built on demand: ninja kernels-bench.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/target/cpu/testing/Kernels.h"
#include "tilewright/transform/tile/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>
#include <regex>

using namespace tilewright;

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Program {
  const char *name;
  const char *text; // R and C are replaced by the rows and columns
};

const Program programs[] = {
    {"add", R"(
    %v = stablehlo.add %x, %x : tensor<RxCxf32>)"},
    {"exp", R"(
    %v = stablehlo.exponential %x : tensor<RxCxf32>)"},
    {"log", R"(
    %v = stablehlo.log %x : tensor<RxCxf32>)"},
    {"tanh", R"(
    %v = stablehlo.tanh %x : tensor<RxCxf32>)"},
    {"sin", R"(
    %v = stablehlo.sine %x : tensor<RxCxf32>)"},
    {"logistic", R"(
    %v = stablehlo.logistic %x : tensor<RxCxf32>)"},
    {"log1p", R"(
    %v = stablehlo.log_plus_one %x : tensor<RxCxf32>)"},
    {"gelu-tanh", R"(
    %h = stablehlo.constant dense<0.5> : tensor<RxCxf32>
    %o = stablehlo.constant dense<1.0> : tensor<RxCxf32>
    %k = stablehlo.constant dense<0.044715> : tensor<RxCxf32>
    %s = stablehlo.constant dense<0.7978845608> : tensor<RxCxf32>
    %2 = stablehlo.multiply %x, %x : tensor<RxCxf32>
    %3 = stablehlo.multiply %2, %x : tensor<RxCxf32>
    %4 = stablehlo.multiply %k, %3 : tensor<RxCxf32>
    %5 = stablehlo.add %x, %4 : tensor<RxCxf32>
    %6 = stablehlo.multiply %s, %5 : tensor<RxCxf32>
    %7 = stablehlo.tanh %6 : tensor<RxCxf32>
    %8 = stablehlo.add %o, %7 : tensor<RxCxf32>
    %9 = stablehlo.multiply %h, %8 : tensor<RxCxf32>
    %v = stablehlo.multiply %x, %9 : tensor<RxCxf32>)"},
    {"softmax", R"(
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<RxCxf32>, tensor<f32>) -> tensor<Rxf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<Rxf32>) -> tensor<RxCxf32>
    %d = stablehlo.subtract %x, %mb : tensor<RxCxf32>
    %e = stablehlo.exponential %d : tensor<RxCxf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<RxCxf32>, tensor<f32>) -> tensor<Rxf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<Rxf32>) -> tensor<RxCxf32>
    %v = stablehlo.divide %e, %sb : tensor<RxCxf32>)"},
    {"layernorm", R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<512.0> : tensor<Rxf32>
    %eps = stablehlo.constant dense<1.0e-5> : tensor<Rxf32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<RxCxf32>, tensor<f32>) -> tensor<Rxf32>
    %mean = stablehlo.divide %s, %n : tensor<Rxf32>
    %mb = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<Rxf32>) -> tensor<RxCxf32>
    %d = stablehlo.subtract %x, %mb : tensor<RxCxf32>
    %q = stablehlo.multiply %d, %d : tensor<RxCxf32>
    %t = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<RxCxf32>, tensor<f32>) -> tensor<Rxf32>
    %var = stablehlo.divide %t, %n : tensor<Rxf32>
    %ve = stablehlo.add %var, %eps : tensor<Rxf32>
    %r = stablehlo.rsqrt %ve : tensor<Rxf32>
    %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<Rxf32>) -> tensor<RxCxf32>
    %v = stablehlo.multiply %d, %rb : tensor<RxCxf32>)"},
    {"transpose", R"(
    %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<RxCxf32>) -> tensor<CxRxf32>
    %v = stablehlo.add %y, %y : tensor<CxRxf32>)"},
    {"colsum", R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %v = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<RxCxf32>, tensor<f32>) -> tensor<Cxf32>)"},
    {"rowmax", R"(
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %v = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<RxCxf32>, tensor<f32>) -> tensor<Rxf32>)"},
    {"bf16", R"(
    %b = stablehlo.convert %x : (tensor<RxCxf32>) -> tensor<RxCxbf16>
    %c = stablehlo.multiply %b, %b : tensor<RxCxbf16>
    %v = stablehlo.convert %c : (tensor<RxCxbf16>) -> tensor<RxCxf32>)"},
};

std::string moduleOf(const Program &program, int64_t rows, int64_t columns) {
  std::string body = program.text;
  std::string result =
      std::regex_search(body, std::regex("%v = .*reduce.*dimensions = .0.")) ? "tensor<Cxf32>"
      : std::regex_search(body, std::regex("%v = .*reduce"))                 ? "tensor<Rxf32>"
      : std::regex_search(body, std::regex("%v = .*<CxRxf32>"))              ? "tensor<CxRxf32>"
                                                                             : "tensor<RxCxf32>";
  std::string text = "func.func @main(%a: tensor<RxCxf32>) -> " + result +
                     " {\n  %r = exec.fusion \"f\" (%a) : (tensor<RxCxf32>) -> " + result +
                     " {\n  ^bb0(%x: tensor<RxCxf32>):" + body + "\n    exec.yield %v : " + result +
                     "\n  }\n  return %r : " + result + "\n}\n";
  text = std::regex_replace(text, std::regex("<Rx"), "<" + std::to_string(rows) + "x");
  text = std::regex_replace(text, std::regex("xRx"), "x" + std::to_string(rows) + "x");
  text = std::regex_replace(text, std::regex("xCx"), "x" + std::to_string(columns) + "x");
  text = std::regex_replace(text, std::regex("<Cx"), "<" + std::to_string(columns) + "x");
  return text;
}

template <typename Function> double best(Function run) {
  double least = 1e9;
  for (int round = 0; round < 15; ++round) {
    double begin = seconds();
    run();
    least = std::min(least, seconds() - begin);
  }
  return least;
}

} // namespace

int main(int argc, char **argv) {
  const char *only = argc > 1 ? argv[1] : nullptr;
  const bool dumps = argc > 2;
  std::printf("%-10s %10s %12s %12s %12s %10s\n", "", "elements", "ns/element", "copy",
              "compile ms", "bytes");
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>(64, 512), {4096, 512}, {1000, 1000}}) {
    for (const Program &program : programs) {
      if (only && std::strcmp(only, program.name) != 0)
        continue;
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, exec::ExecDialect,
                          tile::TileDialect>();
      auto module =
          mlir::parseSourceString<mlir::ModuleOp>(moduleOf(program, rows, columns), &context);
      if (!module)
        return 1;
      cpu::attachTarget(*module, cpu::hostChip(), 1);
      mlir::PassManager passes(&context);
      passes.addPass(tile::createTileFusionsPass());
      if (mlir::failed(passes.run(*module)))
        return 1;
      cpu::CodegenOptions options;
      if (dumps) {
        module->dump();
        options.dumpLevel = argv[2];
        options.dump = [](std::string_view text) {
          std::fwrite(text.data(), 1, text.size(), stderr);
        };
      }
      std::clock_t begin = std::clock(); // CPU time of this process, since machines are shared
      auto code = cpu::generateObject(*module, cpu::hostChip(), options);
      double compiled = double(std::clock() - begin) / CLOCKS_PER_SEC;
      if (!code.isOk()) {
        std::printf("%s: %s\n", program.name, std::move(code).takeStatus().toString().c_str());
        return 1;
      }
      size_t bytes = 0;
      for (const std::vector<std::byte> &object : code->objects)
        bytes += object.size();
      auto loaded = cpu::LoadedKernels::load(*std::move(code));
      if (loaded.object.kernels.size() != 1) {
        std::printf("%s: %zu kernels\n", program.name, loaded.object.kernels.size());
        continue;
      }
      const cpu::KernelInfo &info = loaded.object.kernels[0];
      size_t count = static_cast<size_t>(rows * columns);
      auto allocate = [&](size_t size) {
        return static_cast<float *>(std::aligned_alloc(64, (size + 127) / 64 * 64));
      };
      float *x = allocate(count * 4), *y = allocate(count * 4);
      float *scratch = allocate(static_cast<size_t>(info.scratchBytes) + 64);
      std::mt19937 random(1);
      for (size_t i = 0; i < count; ++i)
        x[i] = 0.01f + static_cast<float>(random() % 1000) / 250.0f;
      auto *kernel = reinterpret_cast<void (*)(void *const *, int64_t, int64_t, void *)>(
          loaded.symbol(info.symbol));
      void *buffers[] = {x, y};
      int64_t repeats = std::max<int64_t>(1, 400000 / static_cast<int64_t>(count));
      double time = best([&] {
        for (int64_t i = 0; i < repeats; ++i)
          kernel(buffers, 0, info.grid, scratch);
      });
      double copy = best([&] {
        for (int64_t i = 0; i < repeats; ++i)
          std::memcpy(y, x, count * 4);
      });
      double scale = 1e9 / static_cast<double>(repeats) / static_cast<double>(count);
      std::printf("%-10s %5ldx%-5ld %12.3f %12.3f %12.2f %10zu   item %ld ns, said %ld\n",
                  program.name, rows, columns, time * scale, copy * scale, compiled * 1e3, bytes,
                  static_cast<long>(time * 1e9 / double(repeats) / double(info.grid)),
                  static_cast<long>(info.itemCost));
      std::free(x);
      std::free(y);
      std::free(scratch);
    }
  }
}
