// Runs a GEMM of CUTLASS on the virtual GPU and compares it with a host reference:
//
//   GemmRunner gemm.so gemm.ptx [--hopper] [--threads N] [--completion 0|1|2] [--seed N]
//     [--check LIST] [--record PATH] M,N,K[,MULTIPROCESSORS[,SPLITS]]…
//
// An option applies to the shapes after it. With --check (all; off ends it) findings of the checks
// are printed and count as failures. --record writes the next launch to files, for
// test/vgpu/mutation: PATH.launch, PATH.ptx, PATH.memory.
//
// gemm.so is gemm.cu, compiled by nvcc; its functions prepare the parameters. While doing so,
// CUTLASS calls the CUDA runtime and the driver. The library finds those functions in this program,
// below.
#include "test/vgpu/cutlass/GemmLibrary.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/include/tilewright_vgpu.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <vector>

using tilewright::numerics::ElementType;

// The driver and runtime functions that CUTLASS calls. The constants are those of CUDA's headers,
// which this program does not include.
extern "C" {
#define GEMM_EXPORT __attribute__((visibility("default"), used))
enum { noError = 0, invalidValue = 1, notSupported = 801 };

GEMM_EXPORT int cuTensorMapEncodeTiled(void *map, int element, uint32_t rank, void *address,
                                       const uint64_t *sizes, const uint64_t *strides,
                                       const uint32_t *box, const uint32_t *steps, int interleave,
                                       int swizzle, int, int fill) {
  char *error = nullptr;
  if (interleave != 0)
    return invalidValue;
  if (tilewright_vgpu_encode_tensor_map(map, static_cast<uint32_t>(element), rank, address, sizes,
                                        strides, box, steps, static_cast<uint32_t>(swizzle), fill,
                                        &error) == 0)
    return noError;
  std::fprintf(stderr, "cuTensorMapEncodeTiled: %s\n", error);
  tilewright_vgpu_free_error(error);
  return invalidValue;
}
GEMM_EXPORT int cudaGetDevice(int *device) {
  *device = 0;
  return noError;
}
GEMM_EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int) {
  constexpr int multiprocessors = 16;
  if (attribute != multiprocessors)
    return notSupported;
  *value = 132;
  return noError;
}
GEMM_EXPORT int cudaGetLastError() { return noError; }
GEMM_EXPORT const char *cudaGetErrorString(int) { return "not known to the virtual GPU's test"; }
// Workspaces are host memory.
GEMM_EXPORT int cudaMemsetAsync(void *to, int value, size_t bytes, void *) {
  std::memset(to, value, bytes);
  return noError;
}
// Kernels are launched from their PTX, so registering and launching do nothing here.
GEMM_EXPORT void **__cudaRegisterFatBinary(void *) {
  static void *handle = nullptr;
  return &handle;
}
GEMM_EXPORT void __cudaRegisterFatBinaryEnd(void **) {}
GEMM_EXPORT void __cudaUnregisterFatBinary(void **) {}
GEMM_EXPORT void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *,
                                        void *, void *, void *, int *) {}
GEMM_EXPORT void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
GEMM_EXPORT unsigned __cudaPopCallConfiguration(void *, void *, void *, void *) {
  return notSupported;
}
GEMM_EXPORT int __cudaGetKernel(void *, const void *) { return notSupported; }
GEMM_EXPORT int __cudaLaunchKernel() { return notSupported; }
}

namespace {

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "GemmRunner: %s\n", what.c_str());
  std::exit(1);
}

struct Element {
  ElementType type;
  size_t bytes;
};
Element elementOf(int which) {
  switch (which) {
  case GEMM_F16:
    return {ElementType::f16, 2};
  case GEMM_BF16:
    return {ElementType::bf16, 2};
  case GEMM_E4M3:
    return {ElementType::f8E4M3FN, 1};
  case GEMM_E5M2:
    return {ElementType::f8E5M2, 1};
  default:
    return {ElementType::f32, 4};
  }
}

/// Memory for matrices at an otherwise unused fixed address, so that a recorded launch can be
/// repeated. Allocated from the bottom.
struct Arena {
  static constexpr uintptr_t address = 0x2000'0000'0000;
  static constexpr size_t room = size_t(64) << 20;
  size_t used = 0;

  Arena() {
    void *wanted = reinterpret_cast<void *>(address);
    if (mmap(wanted, room, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != wanted)
      fail("no memory for matrices");
  }
  std::byte *take(size_t bytes) {
    const size_t at = used;
    used += (bytes + 511) / 256 * 256;
    if (used > room)
      fail("the matrices are too large");
    return reinterpret_cast<std::byte *>(address + at);
  }
};

/// A matrix in the kernel's format, and its values.
struct Matrix {
  Matrix(Arena &arena, size_t rows, size_t columns, bool byRows, Element element)
      : columns(columns), rows(rows), byRows(byRows), element(element),
        base(arena.take(rows * columns * element.bytes)), values(rows * columns) {}
  std::byte *at(size_t r, size_t c) {
    return base + (byRows ? r * columns + c : c * rows + r) * element.bytes;
  }
  void set(size_t r, size_t c, double value) {
    const uint64_t bits = tilewright::numerics::encode(element.type, value);
    std::memcpy(at(r, c), &bits, element.bytes);
    values[r * columns + c] = tilewright::numerics::decode(element.type, bits);
  }
  uint64_t bits(size_t r, size_t c) {
    uint64_t result = 0;
    std::memcpy(&result, at(r, c), element.bytes);
    return result;
  }
  size_t columns, rows;
  bool byRows;
  Element element;
  std::byte *base;
  std::vector<double> values;
};

struct Shape {
  int m = 0, n = 0, k = 0, multiprocessors = 4, splits = 1;
};

struct Runner {
  tilewright_vgpu_module *module = nullptr;
  std::string kernel;
  decltype(&gemm_prepare) prepare = nullptr;
  GemmDescription description{};
  bool isHopper = false;
  uint32_t threads = 1;
  int completion = 0;
  uint64_t seed = 0;
  std::string checks = "off";
  size_t findings = 0;
  std::string text, record; // where to record the next launch; empty: nowhere
  Arena arena;

  void writeDown(const tilewright_vgpu_config &config, const GemmLaunch &launch) {
    std::ofstream out(record + ".launch");
    auto three = [&](const char *what, const uint32_t *sizes) {
      out << what << " " << sizes[0] << " " << sizes[1] << " " << sizes[2] << "\n";
    };
    out << "kernel " << kernel << "\nchip sm_90a\n";
    three("grid", config.grid);
    three("block", config.block);
    three("cluster", config.cluster);
    out << "shared " << config.dynamic_shared_bytes << "\ncooperative " << config.cooperative
        << "\nchecks all\nmemory " << Arena::address << "\nparameter ";
    out << tilewright::hexOf(
               {static_cast<const std::byte *>(launch.parameters), launch.parameter_bytes})
        << "\n";
    std::ofstream(record + ".ptx") << text;
    std::ofstream(record + ".memory", std::ios::binary)
        .write(reinterpret_cast<const char *>(Arena::address),
               static_cast<std::streamsize>(arena.used));
    if (!out)
      fail("cannot write " + record + ".launch");
    record.clear();
  }

  int start(const tilewright_vgpu_config &config, const void *const *arguments, char **error) {
    if (checks == "off")
      return tilewright_vgpu_launch(module, kernel.c_str(), &config, arguments, 1, error);
    size_t found = 0;
    char *report = nullptr;
    const int code = tilewright_vgpu_launch_checked(module, kernel.c_str(), &config, arguments, 1,
                                                    checks.c_str(), "text", &found, &report, error);
    if (found != 0)
      std::fprintf(stderr, "%s\n", report);
    tilewright_vgpu_free_error(report);
    findings += found;
    return code;
  }

  /// With integers every sum is exact in f32, so results must be bitwise equal; with other numbers
  /// they must be within the error of summing in f32.
  void run(const Shape &shape, bool isWhole) {
    const auto m = static_cast<size_t>(shape.m), n = static_cast<size_t>(shape.n),
               k = static_cast<size_t>(shape.k);
    arena.used = 0;
    Matrix a(arena, m, k, description.a_is_row_major, elementOf(description.a));
    Matrix b(arena, k, n, description.b_is_row_major, elementOf(description.b));
    Matrix c(arena, m, n, true, elementOf(description.d)),
        d(arena, m, n, true, elementOf(description.d));
    std::mt19937 random(static_cast<uint32_t>(shape.m * 31 + shape.n * 7 + shape.k));
    std::uniform_int_distribution<int> whole(-2, 2);
    std::uniform_real_distribution<double> real(-1, 1);
    for (Matrix *matrix : {&a, &b, &c})
      for (size_t r = 0; r < matrix->rows; ++r)
        for (size_t col = 0; col < matrix->columns; ++col)
          matrix->set(r, col, isWhole ? whole(random) : real(random));
    for (size_t i = 0; i < m * n; ++i)
      d.set(i / n, i % n, -77);

    const GemmProblem problem{shape.m,     shape.n, shape.k, a.base, b.base,
                              c.base,      d.base,  2.0f,    -1.0f,  shape.multiprocessors,
                              shape.splits};
    GemmLaunch launch{};
    if (int code = prepare(&problem, &launch); code != 0)
      fail("CUTLASS does not take the shape, code " + std::to_string(code));
    tilewright_vgpu_config config{};
    for (int i = 0; i < 3; ++i) {
      config.grid[i] = launch.grid[i];
      config.block[i] = launch.block[i];
      config.cluster[i] = launch.cluster[i];
    }
    config.dynamic_shared_bytes = launch.shared_bytes;
    config.hopper_arithmetic = isHopper;
    config.threads = threads;
    config.completion = completion;
    config.seed = seed;
    // Blocks of stream-K wait for each other's partial sums, so all must be resident at once.
    config.cooperative = shape.splits > 1 || description.has_relu;
    const void *arguments[] = {launch.parameters};
    char *error = nullptr;
    if (!record.empty())
      writeDown(config, launch);
    const auto begin = std::chrono::steady_clock::now();
    if (start(config, arguments, &error) != 0)
      fail(error);
    const double milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();

    double worst = 0;
    size_t wrong = 0;
    for (size_t r = 0; r < m; ++r)
      for (size_t col = 0; col < n; ++col) {
        double sum = 0, magnitude = 0;
        for (size_t l = 0; l < k; ++l) {
          const double product = a.values[r * k + l] * b.values[l * n + col];
          sum += product;
          magnitude += std::fabs(product);
        }
        double expected = 2 * sum - c.values[r * n + col];
        if (description.has_relu && expected < 0)
          expected = 0;
        const uint64_t bits = d.bits(r, col);
        const double got = tilewright::numerics::decode(d.element.type, bits);
        bool isFine;
        if (isWhole) {
          const uint64_t rounded = tilewright::numerics::encode(d.element.type, expected);
          isFine = tilewright::numerics::decode(d.element.type, rounded) == got;
        } else {
          // Half an ulp of the result, and of f32 for every sum of the tensor cores; with the
          // Hopper profile the sums truncate, to 13 bits for 8-bit factors.
          const double half = d.element.bytes == 4                  ? 0x1p-24
                              : d.element.type == ElementType::bf16 ? 0x1p-8
                                                                    : 0x1p-11;
          const double step = isHopper ? (a.element.bytes == 1 ? 0x1p-12 : 0x1p-22) : 0x1p-23;
          const double steps = static_cast<double>(k) / 8 + 4;
          const double bound = std::fabs(expected) * half + 0x1p-25 +
                               2 * step * steps * (magnitude + std::fabs(c.values[r * n + col]));
          const double off = std::fabs(got - expected);
          worst = std::max(worst, off / bound);
          isFine = off <= bound;
        }
        if (!isFine && wrong++ == 0)
          std::fprintf(stderr, "at (%zu, %zu): expected %.9g, got %.9g\n", r, col, expected, got);
      }
    std::printf("%dx%dx%d grid %ux%ux%u cluster %ux%ux%u block %u shared %u %s%s checks %s: %zu "
                "wrong of %zu, "
                "%.0f %% of the bound, %.0f ms\n",
                shape.m, shape.n, shape.k, config.grid[0], config.grid[1], config.grid[2],
                config.cluster[0], config.cluster[1], config.cluster[2], config.block[0],
                config.dynamic_shared_bytes, isWhole ? "whole" : "real", isHopper ? " hopper" : "",
                checks.c_str(), wrong, m * n, 100 * worst, milliseconds);
    if (wrong != 0)
      fail("results are wrong");
  }
};

/// The name of the file's only kernel.
std::string entryOf(const std::string &text) {
  const size_t at = text.find(".entry ");
  if (at == text.npos)
    fail("the PTX has no kernel");
  return text.substr(at + 7, text.find_first_of("(\n", at) - at - 7);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4)
    fail("usage: GemmRunner gemm.so gemm.ptx [--hopper] [--threads N] [--completion 0|1|2] "
         "[--seed N] [--check LIST] [--record PATH] M,N,K[,PROCESSORS[,SPLITS]]…");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(dlerror());
  std::ifstream in(argv[2]);
  std::stringstream text;
  text << in.rdbuf();
  if (!in.good())
    fail(std::string("cannot read ") + argv[2]);
  Runner runner;
  runner.kernel = entryOf(text.str());
  runner.prepare = reinterpret_cast<decltype(&gemm_prepare)>(dlsym(library, "gemm_prepare"));
  auto describe = reinterpret_cast<decltype(&gemm_describe)>(dlsym(library, "gemm_describe"));
  if (!runner.prepare || !describe)
    fail("the library is not gemm.cu");
  describe(&runner.description);
  runner.text = text.str();
  char *error = nullptr;
  runner.module = tilewright_vgpu_load(text.str().c_str(), "sm_90a", &error);
  if (!runner.module)
    fail(error);
  for (int i = 3; i < argc; ++i) {
    if (std::strcmp(argv[i], "--hopper") == 0) {
      runner.isHopper = true;
      continue;
    }
    if (std::strcmp(argv[i], "--completion") == 0 && i + 1 < argc) {
      runner.completion = std::atoi(argv[++i]);
      continue;
    }
    if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      runner.seed = static_cast<uint64_t>(std::atoll(argv[++i]));
      continue;
    }
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      runner.threads = static_cast<uint32_t>(std::atoi(argv[++i]));
      continue;
    }
    if (std::strcmp(argv[i], "--record") == 0 && i + 1 < argc) {
      runner.record = argv[++i];
      continue;
    }
    if (std::strcmp(argv[i], "--check") == 0 && i + 1 < argc) {
      runner.checks = argv[++i];
      continue;
    }
    Shape shape;
    if (std::sscanf(argv[i], "%d,%d,%d,%d,%d", &shape.m, &shape.n, &shape.k, &shape.multiprocessors,
                    &shape.splits) < 3)
      fail(std::string("not a shape: ") + argv[i]);
    for (bool isWhole : {true, false})
      runner.run(shape, isWhole);
  }
  tilewright_vgpu_unload(runner.module);
  if (runner.findings != 0)
    fail("the checks report " + std::to_string(runner.findings) + " places");
  return 0;
}
