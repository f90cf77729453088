// How fast the virtual GPU runs kernels, beside a plain loop of the host that does
// the same work, in one run, in turns.
//
//   cmake --build build/dev --target bench_vgpu
//   build/dev/bench/vgpu/bench_vgpu [--runs 9] [--json out.json] [--only softmax]
//
// Kernels: the softmax of test/vgpu/ptx/corpus as Triton made it, the tiled fp32
// matmul and the fp16 GEMM (TMA, mbarriers, wgmma) of vgpu/machine/kernels as nvcc
// made them. Results are verified before anything is measured.
//
// One thread: time of that thread (CLOCK_THREAD_CPUTIME_ID), the least of all runs,
// so that other work on the machine does not count. Two threads: the wall time of one
// over that of two, the least of each; and, since walls need two free cores, twice the
// CPU time of one thread over that of both, which is what two free cores would give
// if the work is split evenly.
#include "bench/vgpu/HostLoops.h"
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/machine/Launch.h"
#include "tilewright/vgpu/machine/TensorMap.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace tilewright;
using namespace tilewright::vgpu;
using namespace tilewright::vgpu::machine;

static double secondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

[[noreturn]] static void giveUp(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

static std::unique_ptr<LoadedModule> load(const std::string &file) {
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/" + file);
  if (!in)
    giveUp(file + " is missing");
  std::stringstream text;
  text << in.rdbuf();
  auto module = LoadedModule::create(text.str(), "sm_90a");
  if (!module.isOk())
    giveUp(std::move(module).takeStatus().toString());
  return *std::move(module);
}

template <typename... Values>
static void run(LoadedModule &module, const char *name, const LaunchConfig &config,
                const Values &...values) {
  const void *arguments[] = {&values...};
  if (Status status = launch(module, name, config, arguments); !status.isOk())
    giveUp(status.toString());
}

/// Hears everything and does nothing: what telling alone costs.
class Deaf final : public Observer {
public:
  void access(const MemoryEvent &) override {}
  void synchronise(const SyncEvent &) override {}
};

struct Workload {
  std::string name;
  double prototype[2]; // milliseconds, checks off and on
  std::function<void(ThreadPool *, Observer *)> kernel;
  std::function<void()> host;
  std::function<void()> verify; // what the kernel left
};

/// The least of several runs, in seconds.
struct Least {
  double value = 1e9;
  void add(double one) { value = std::min(value, one); }
};

struct Row {
  std::string name;
  double prototype[2];
  double host, off, told, on; // one thread, milliseconds
  double wallRatio, cpuRatio; // two threads, checks off
  double wallRatioOn, cpuRatioOn;
};

static Row measure(const Workload &work, int runs) {
  const check::Options options = *check::Options::parse("all");
  Deaf deaf;
  ThreadPool pool(2);
  // Once with every check: the result is right and nothing is reported. The checker
  // stays, as a driver's does.
  check::Checker checker(options);
  work.kernel(nullptr, &checker);
  work.verify();
  work.kernel(&pool, nullptr);
  work.verify();
  work.kernel(nullptr, nullptr);
  work.verify();
  Least host, off, told, on, wallOne[2], wallTwo[2], cpuTwo[2];
  auto timed = [](clockid_t clock, const std::function<void()> &body) {
    const double begin = secondsOf(clock);
    body();
    return secondsOf(clock) - begin;
  };
  for (int i = 0; i < runs; ++i) {
    host.add(timed(CLOCK_THREAD_CPUTIME_ID, work.host));
    for (bool isChecked : {false, true}) {
      auto launchOnce = [&](ThreadPool *threads) {
        work.kernel(threads, isChecked ? &checker : nullptr);
      };
      const double wall = secondsOf(CLOCK_MONOTONIC);
      (isChecked ? on : off).add(timed(CLOCK_THREAD_CPUTIME_ID, [&] { launchOnce(nullptr); }));
      wallOne[isChecked].add(secondsOf(CLOCK_MONOTONIC) - wall);
      const double begin = secondsOf(CLOCK_MONOTONIC);
      cpuTwo[isChecked].add(timed(CLOCK_PROCESS_CPUTIME_ID, [&] { launchOnce(&pool); }));
      wallTwo[isChecked].add(secondsOf(CLOCK_MONOTONIC) - begin);
    }
    told.add(timed(CLOCK_THREAD_CPUTIME_ID, [&] { work.kernel(nullptr, &deaf); }));
  }
  if (!checker.report().isEmpty())
    giveUp(work.name + ": the checker reports\n" + checker.report().text());
  Row row{work.name, {work.prototype[0], work.prototype[1]}, 0, 0, 0, 0, 0, 0, 0, 0};
  row.host = 1e3 * host.value, row.off = 1e3 * off.value, row.told = 1e3 * told.value;
  row.on = 1e3 * on.value;
  row.wallRatio = wallOne[0].value / wallTwo[0].value;
  row.cpuRatio = 2 * off.value / cpuTwo[0].value;
  row.wallRatioOn = wallOne[1].value / wallTwo[1].value;
  row.cpuRatioOn = 2 * on.value / cpuTwo[1].value;
  return row;
}

/// Memory as a driver gives it out, at a multiple of 256.
template <typename T> struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <typename U> Aligned(const Aligned<U> &) {}
  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(256)));
  }
  void deallocate(T *at, size_t) { ::operator delete(at, std::align_val_t(256)); }
  bool operator==(const Aligned &) const { return true; }
};
using Floats = std::vector<float, Aligned<float>>;

static Floats randomFloats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-2, 2);
  Floats result(count);
  for (float &value : result)
    value = values(random);
  return result;
}

static Workload softmax() {
  static constexpr int rows = 4096, columns = 1024;
  struct Data {
    std::unique_ptr<LoadedModule> module = load("test/vgpu/ptx/corpus/triton-softmax-sm90.ptx");
    Floats in = randomFloats(size_t(rows) * columns, 1), out = in, plain = in;
  };
  auto data = std::make_shared<Data>();
  return {"Triton softmax 4096x1024",
          {32, 55},
          [data](ThreadPool *pool, Observer *observer) {
            float *out = data->out.data();
            const float *in = data->in.data();
            const int width = columns;
            const void *none = nullptr;
            run(*data->module, "softmax",
                {.grid = {rows, 1, 1},
                 .block = {128, 1, 1},
                 .dynamicSharedBytes = 16,
                 .observer = observer,
                 .pool = pool},
                out, in, width, none, none);
          },
          [data] { bench::hostSoftmax(data->in.data(), data->plain.data(), rows, columns); },
          [data] {
            for (int row = 0; row < rows; ++row) {
              double sum = 0;
              for (int i = 0; i < columns; ++i)
                sum += std::exp(double(data->in[row * columns + i]));
              for (int i = 0; i < columns; ++i) {
                const double wanted = std::exp(double(data->in[row * columns + i])) / sum;
                if (!(std::abs(data->out[row * columns + i] - wanted) <= 2e-6 * wanted))
                  giveUp("softmax is wrong in row " + std::to_string(row));
              }
            }
            std::fill(data->out.begin(), data->out.end(), -1.0f);
          }};
}

static Workload matmul() {
  static constexpr int n = 512;
  struct Data {
    std::unique_ptr<LoadedModule> module = load("tilewright/vgpu/machine/kernels/tiles.ptx");
    Floats a = randomFloats(n * n, 2), b = randomFloats(n * n, 3), c = a, plain = a, wanted = a;
  };
  auto data = std::make_shared<Data>();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k)
        sum = std::fma(data->a[i * n + k], data->b[k * n + j], sum);
      data->wanted[i * n + j] = sum;
    }
  return {
      "fp32 tiled matmul 512^3",
      {50, 140},
      [data](ThreadPool *pool, Observer *observer) {
        const float *a = data->a.data(), *b = data->b.data();
        float *c = data->c.data();
        run(*data->module, "matmul",
            {.grid = {n / 16, n / 16, 1}, .block = {16, 16, 1}, .observer = observer, .pool = pool},
            a, b, c, n);
      },
      [data] { bench::hostMatmul(data->a.data(), data->b.data(), data->plain.data(), n); },
      [data] {
        if (std::memcmp(data->c.data(), data->wanted.data(), 4 * data->c.size()) != 0)
          giveUp("the matmul is not the chain of fma that it should be");
        std::fill(data->c.begin(), data->c.end(), -1.0f);
      }};
}

static Workload gemm() {
  static constexpr int n = 512;
  struct Data {
    std::unique_ptr<LoadedModule> module = load("tilewright/vgpu/machine/kernels/hopper.ptx");
    std::vector<uint16_t, Aligned<uint16_t>> a, b;
    Floats c = Floats(n * n), plain = c, wanted = c;
    std::array<std::byte, 128> mapA, mapB;
  };
  auto data = std::make_shared<Data>();
  std::mt19937 random(4);
  std::normal_distribution<float> values;
  auto fill = [&](std::vector<uint16_t, Aligned<uint16_t>> &factor, uint32_t boxRows,
                  std::array<std::byte, 128> &map) {
    factor.resize(n * n);
    for (uint16_t &bits : factor) {
      const auto half = static_cast<_Float16>(values(random));
      std::memcpy(&bits, &half, 2);
    }
    TensorMap description;
    description.address = reinterpret_cast<uint64_t>(factor.data());
    description.rank = 2;
    description.element = TensorElement::f16;
    description.swizzle = TensorSwizzle::bytes128;
    description.size = {n, n, 1, 1, 1};
    description.stride = {2, 2 * n, 0, 0, 0};
    description.box = {64, boxRows, 1, 1, 1};
    description.encode(map.data());
  };
  fill(data->a, 64, data->mapA);
  fill(data->b, 128, data->mapB);
  // Each instruction adds 16 exact products and rounds once. The products of numbers
  // like these and their sums are exact in f64, as is, but for the last bit of a tie,
  // what a long double adds to them.
  auto widen = [](uint16_t bits) {
    _Float16 value;
    std::memcpy(&value, &bits, 2);
    return static_cast<double>(value);
  };
  std::vector<double> left, right;
  for (int i = 0; i < n * n; ++i) {
    left.push_back(widen(data->a[i]));
    right.push_back(widen(data->b[i]));
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; k += 16) {
        double products = 0;
        for (int l = k; l < k + 16; ++l)
          products += left[i * n + l] * right[j * n + l];
        sum = static_cast<float>(static_cast<long double>(products) + sum);
      }
      data->wanted[i * n + j] = sum;
    }
  return {"fp16 wgmma GEMM 512^3",
          {20, 60},
          [data](ThreadPool *pool, Observer *observer) {
            float *c = data->c.data();
            run(*data->module, "gemm",
                {.grid = {n / 128, n / 64, 1},
                 .block = {128, 1, 1},
                 .dynamicSharedBytes = 2 * (8192 + 16384),
                 .observer = observer,
                 .pool = pool},
                data->mapA, data->mapB, c, n, n);
          },
          [data] { bench::hostHalfMatmul(data->a.data(), data->b.data(), data->plain.data(), n); },
          [data] {
            if (std::memcmp(data->c.data(), data->wanted.data(), 4 * data->c.size()) != 0)
              giveUp("the GEMM is not rounded once for each instruction");
            std::fill(data->c.begin(), data->c.end(), -1.0f);
          }};
}

static void print(const std::vector<Row> &rows) {
  std::puts("one thread, ms of its CPU time       plain loop   checks off  ratio to loop, prototype"
            "    told    checks on  ratio to loop, prototype");
  for (const Row &row : rows)
    std::printf("%-34s %12.1f %12.1f %14.2f %10.2f %8.1f %12.1f %14.2f %10.2f\n", row.name.c_str(),
                row.host, row.off, row.off / row.host, row.off / row.prototype[0], row.told, row.on,
                row.on / row.host, row.on / row.prototype[1]);
  std::puts("two threads, times as fast as one    off: wall   by CPU    on: wall   by CPU");
  for (const Row &row : rows)
    std::printf("%-34s %11.2f %8.2f %11.2f %8.2f\n", row.name.c_str(), row.wallRatio, row.cpuRatio,
                row.wallRatioOn, row.cpuRatioOn);
}

static void writeJson(const std::string &path, const std::vector<Row> &rows) {
  std::ofstream out(path);
  out << "{\"clock\": \"least thread CPU time, ms\", \"cores\": "
      << std::thread::hardware_concurrency() << ", \"rows\": [";
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row &row = rows[i];
    out << (i ? ",\n" : "\n") << "  {\"name\": \"" << row.name << "\", \"host\": " << row.host
        << ", \"off\": " << row.off << ", \"told\": " << row.told << ", \"on\": " << row.on
        << ", \"prototype_off\": " << row.prototype[0] << ", \"prototype_on\": " << row.prototype[1]
        << ", \"two_threads_wall\": " << row.wallRatio << ", \"two_threads_cpu\": " << row.cpuRatio
        << ", \"two_threads_wall_on\": " << row.wallRatioOn
        << ", \"two_threads_cpu_on\": " << row.cpuRatioOn << "}";
  }
  out << "\n]}\n";
  if (!out)
    giveUp("cannot write " + path);
}

int main(int argc, char **argv) {
  int runs = 9;
  std::string json, only;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--runs")
      runs = std::atoi(argv[i + 1]);
    else if (option == "--json")
      json = argv[i + 1];
    else if (option == "--only")
      only = argv[i + 1];
    else
      giveUp("unknown option " + option);
  }
  std::vector<Row> rows;
  struct {
    const char *name;
    Workload (*make)();
  } workloads[] = {{"softmax", softmax}, {"matmul", matmul}, {"gemm", gemm}};
  for (const auto &[name, make] : workloads)
    if (only.empty() || only == name)
      rows.push_back(measure(make(), runs));
  print(rows);
  if (!json.empty())
    writeJson(json, rows);
}
