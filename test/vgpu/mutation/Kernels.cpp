#include "Kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace tilewright::vgpu::mutation {

static const uint16_t smallHalves[] = {0x0000, 0x3c00, 0x4000, 0x4200, 0xbc00, 0xc000, 0xc200};
static float fromHalf(uint16_t bits) {
  static const std::map<uint16_t, float> values = {{0x0000, 0.f}, {0x3c00, 1.f},  {0x4000, 2.f},
                                                   {0x4200, 3.f}, {0xbc00, -1.f}, {0xc000, -2.f},
                                                   {0xc200, -3.f}};
  return values.at(bits);
}

Words inputOf(const Kernel &kernel) {
  Words in(wordCount);
  uint64_t state = 12345;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33);
  };
  for (uint32_t &word : in)
    word = kernel.arguments == Arguments::matrices
               ? smallHalves[next() % 7] | uint32_t(smallHalves[next() % 7]) << 16
               : next();
  return in;
}

/// Multiplies the first `k` columns of 64 x 384 halves by those of the 8 x 384 halves that follow.
static Words product(const Words &in, int k) {
  auto at = [&](int row, int column) {
    return fromHalf(
        static_cast<uint16_t>(in[static_cast<size_t>(row * 192 + column / 2)] >> column % 2 * 16));
  };
  Words out;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 8; ++column) {
      float sum = 0;
      for (int i = 0; i < k; ++i)
        sum += at(row, i) * at(64 + column, i);
      out.push_back(std::bit_cast<uint32_t>(sum));
    }
  return out;
}

/// out[i] = f(i) for the first `count`.
template <typename Function> static Words make(size_t count, Function &&function) {
  Words out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = function(i);
  return out;
}

static std::vector<Kernel> threadKernels() {
  const char *file = "threads.ptx";
  std::vector<Kernel> all;
  auto add = [&](const char *name, uint32_t grid, uint32_t block,
                 std::function<Words(const Words &)> expected, bool isCooperative = false) {
    Kernel kernel;
    kernel.file = file;
    kernel.name = name;
    kernel.grid = grid;
    kernel.block = block;
    kernel.isCooperative = isCooperative;
    kernel.expected = std::move(expected);
    all.push_back(std::move(kernel));
  };
  add("tile_reverse", 2, 128, [](const Words &in) {
    return make(256, [&](size_t i) {
      const size_t base = i / 128 * 128, t = i % 128;
      return in[base + 127 - t] + in[base + 127 - (t + 1) % 128];
    });
  });
  add("block_reduce", 2, 128, [](const Words &in) {
    return make(2, [&](size_t i) {
      uint32_t sum = 0;
      for (size_t k = 0; k < 128; ++k)
        sum += in[i * 128 + k];
      return sum;
    });
  });
  add("warp_reduce", 2, 128, [](const Words &in) {
    return make(256, [&](size_t i) {
      uint32_t sum = static_cast<uint32_t>(i % 32);
      for (size_t k = 0; k < 32; ++k)
        sum += in[i / 32 * 32 + k];
      return sum;
    });
  });
  add("transpose", 1, 256, [](const Words &in) {
    return make(4096, [&](size_t i) { return in[i % 64 * 64 + i / 64]; });
  });
  add("matmul", 4, 256, [](const Words &in) {
    return make(1024, [&](size_t i) {
      uint32_t sum = 0;
      for (size_t k = 0; k < 32; ++k)
        sum += in[i / 32 * 32 + k] * in[1024 + k * 32 + i % 32];
      return sum;
    });
  });
  add("scan", 2, 128, [](const Words &in) {
    return make(256, [&](size_t i) {
      uint32_t sum = 0;
      for (size_t k = i / 128 * 128; k <= i; ++k)
        sum += in[k];
      return sum;
    });
  });
  add("histogram", 2, 128, [](const Words &in) {
    Words out(64);
    for (size_t i = 0; i < 1024; ++i)
      ++out[in[i] % 64];
    return out;
  });
  add("stencil", 1, 128, [](const Words &in) {
    Words ring(in.begin(), in.begin() + 128);
    for (int step = 0; step < 8; ++step)
      ring = make(128, [&](size_t t) { return ring[(t + 127) % 128] + 3 * ring[(t + 1) % 128]; });
    return ring;
  });
  add("bitonic_sort", 1, 128, [](const Words &in) {
    Words out(in.begin(), in.begin() + 128);
    std::sort(out.begin(), out.end());
    return out;
  });
  add("named_barriers", 1, 128, [](const Words &in) {
    return make(576, [&](size_t i) { return in[i / 96 * 96 + 95 - i % 96] * 5; });
  });
  add("sub_barriers", 1, 128, [](const Words &in) {
    auto value = [&](size_t t) { return in[t / 64 * 64 + 63 - t % 64] * 2; };
    return make(128, [&](size_t t) { return value(127 - t) + value((t + 64) % 128); });
  });
  add("barrier_votes", 1, 128, [](const Words &in) {
    uint32_t odd = 0, any = 0;
    for (size_t t = 0; t < 128; ++t) {
      odd += in[t] % 100 & 1;
      any |= in[t] % 100 > 98;
    }
    return make(128, [&](size_t t) { return in[(127 - t) ^ 64] % 100 + odd + any * 1000 + 10000; });
  });
  add("flag_fences", 2, 64,
      [](const Words &in) { return make(64, [&](size_t t) { return in[63 - t] * 3; }); });
  add("flag_release", 2, 64,
      [](const Words &in) { return make(64, [&](size_t t) { return in[63 - t] + 9; }); });
  add(
      "lookback_scan", 6, 64,
      [](const Words &in) {
        uint32_t sum = 0;
        return make(384, [&](size_t i) { return sum += in[i]; });
      },
      true);
  add("last_block", 6, 64, [](const Words &in) {
    return make(6, [&](size_t i) {
      uint32_t sum = 0;
      for (size_t k = 0; k < 64; ++k)
        sum += in[i * 64 + k];
      return sum * 2;
    });
  });
  add(
      "grid_barrier", 4, 64,
      [](const Words &in) {
        Words from(in.begin(), in.begin() + 256);
        for (int i = 0; i < 3; ++i)
          from = make(256, [&](size_t t) { return from[(t + 1) % 256] + from[(t + 97) % 256]; });
        return from;
      },
      true);
  add(
      "spin_lock", 4, 32,
      [](const Words &in) { return Words{4 * (in[0] + in[1] + in[2] + in[3]), 16}; }, true);
  add("shared_flags", 1, 128, [](const Words &in) {
    Words buffer(in.begin(), in.begin() + 32);
    for (uint32_t warp = 0; warp < 4; ++warp)
      buffer = make(32, [&](size_t lane) { return buffer[31 - lane] * 3 + warp; });
    return buffer;
  });
  return all;
}

static std::vector<Kernel> copyKernels() {
  std::vector<Kernel> all;
  auto add = [&](const char *name, uint32_t grid, uint32_t block,
                 std::function<Words(const Words &)> expected) {
    Kernel kernel;
    kernel.file = "copies.ptx";
    kernel.name = name;
    kernel.grid = grid;
    kernel.block = block;
    kernel.expected = std::move(expected);
    all.push_back(std::move(kernel));
  };
  auto chain = [](const Words &in, size_t t, size_t width, size_t steps, uint32_t factor) {
    uint32_t sum = 0;
    for (size_t i = 0; i < steps; ++i)
      sum = sum * factor + in[i * width + width - 1 - t];
    return sum;
  };
  add("copy_once", 2, 128, [](const Words &in) {
    return make(1024, [&](size_t i) { return in[i / 512 * 512 + 511 - i % 512]; });
  });
  add("copy_stages", 1, 128, [chain](const Words &in) {
    return make(128, [&](size_t t) { return chain(in, t, 128, 8, 3); });
  });
  add("copy_loop", 1, 128, [](const Words &in) {
    return make(128, [&](size_t t) {
      uint32_t sum = 0;
      for (size_t i = 0; i < 12; ++i)
        sum += in[i * 128 + (t ^ 33)] * static_cast<uint32_t>(i + 1);
      return sum;
    });
  });
  add("copy_tail", 1, 128, [](const Words &in) {
    auto at = [&](size_t t) { return t < 100 ? in[t] : 0; };
    return make(128, [&](size_t t) { return at(127 - t) + at(t); });
  });
  add("copy_mbarrier", 1, 128, [](const Words &in) {
    return make(128, [&](size_t t) { return in[127 - t] * 2 + in[255 - t] * 3; });
  });
  add("mbarrier_ring", 1, 128, [](const Words &in) {
    return make(576, [&](size_t i) { return in[i / 96 * 96 + 95 - i % 96] + 11; });
  });
  add("mbarrier_elected", 1, 128, [](const Words &in) {
    return make(128, [&](size_t t) {
      uint32_t sum = 0;
      for (size_t i = 0; i < 9; ++i)
        sum += in[i * 32 + 31 - t % 32] * static_cast<uint32_t>(t / 32);
      return sum;
    });
  });
  add("mbarrier_state", 1, 128, [](const Words &in) {
    Words values(in.begin(), in.begin() + 128);
    for (int i = 0; i < 3; ++i)
      values = make(128, [&](size_t t) { return values[t] + values[(t + 41) % 128]; });
    return values;
  });
  add("bulk_once", 2, 64, [](const Words &in) {
    return make(512, [&](size_t i) { return in[i / 256 * 256 + 255 - i % 256] * 7; });
  });
  add("bulk_ring", 1, 128, [chain](const Words &in) {
    return make(96, [&](size_t t) { return chain(in, t, 96, 8, 5); });
  });
  add("bulk_stores", 1, 64, [](const Words &in) {
    return make(320, [&](size_t i) { return in[i] ^ static_cast<uint32_t>(i / 64); });
  });
  add("bulk_reduce", 3, 64, [](const Words &in) {
    return make(64, [&](size_t t) { return in[t] + in[64 + t] + in[128 + t]; });
  });
  add("bulk_round_trip", 1, 64,
      [](const Words &in) { return make(64, [&](size_t t) { return in[63 - t] * 13; }); });
  add("bulk_warps", 1, 128, [](const Words &in) {
    return make(512, [&](size_t i) {
      return in[i / 128 * 128 + 127 - i % 128] + static_cast<uint32_t>(i / 128);
    });
  });
  return all;
}

static std::vector<Kernel> clusterKernels() {
  std::vector<Kernel> all;
  auto add = [&](const char *name, uint32_t grid, std::function<Words(const Words &)> expected) {
    Kernel kernel;
    kernel.file = "clusters.ptx";
    kernel.name = name;
    kernel.grid = grid;
    kernel.block = 64;
    kernel.expected = std::move(expected);
    all.push_back(std::move(kernel));
  };
  add("cluster_reduce", 4, [](const Words &in) {
    return make(256, [&](size_t i) {
      uint32_t sum = 0;
      for (uint32_t rank = 0; rank < 4; ++rank)
        sum += in[rank * 64 + (i % 64 + rank) % 64] * (rank + 1);
      return sum;
    });
  });
  add("cluster_ring", 4, [](const Words &in) {
    Words values(in.begin(), in.begin() + 256);
    for (uint32_t i = 0; i < 3; ++i)
      values = make(256, [&](size_t k) {
        const size_t before = (k / 64 + 3) % 4;
        return (values[before * 64 + 63 - k % 64] + i) * 3;
      });
    return values;
  });
  add("cluster_split", 2, [](const Words &in) {
    return make(
        128, [&](size_t i) { return in[63 - i % 64] + 5 + in[(i / 64 ^ 1) * 64 + 63 - i % 64]; });
  });
  add("cluster_st_async", 2, [](const Words &in) {
    return make(128, [&](size_t i) { return in[(i / 64 ^ 1) * 64 + 63 - i % 64] * 3; });
  });
  add("cluster_mbarrier", 2, [](const Words &in) {
    return make(64, [&](size_t t) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < 6; ++i)
        sum = sum * 3 + in[i * 64 + 63 - t] + i;
      return sum;
    });
  });
  add("cluster_bulk", 2, [](const Words &in) {
    return make(128, [&](size_t i) { return in[(i / 64 ^ 1) * 64 + 63 - i % 64] ^ 77; });
  });
  add("cluster_multicast", 2, [](const Words &in) {
    return make(128, [&](size_t i) {
      uint32_t sum = 0;
      for (size_t k = 0; k < 4; ++k)
        sum = sum * 3 + in[k * 128 + 127 - i];
      return sum;
    });
  });
  add("cluster_histogram", 2, [](const Words &in) {
    Words out(64);
    for (size_t i = 0; i < 512; ++i)
      ++out[in[i] % 64];
    return out;
  });
  return all;
}

static std::vector<Kernel> tensorKernels() {
  std::vector<Kernel> all;
  auto add = [&](const char *name, uint32_t grid, uint32_t block, Arguments arguments,
                 uint32_t dynamicBytes, std::function<Words(const Words &)> expected) {
    Kernel kernel;
    kernel.file = "tensors.ptx";
    kernel.name = name;
    kernel.grid = grid;
    kernel.block = block;
    kernel.arguments = arguments;
    kernel.dynamicSharedBytes = dynamicBytes;
    kernel.expected = std::move(expected);
    all.push_back(std::move(kernel));
  };
  add("tma_transpose", 4, 128, Arguments::numbers, 0, [](const Words &in) {
    return make(4096, [&](size_t i) { return in[i % 64 * 64 + i / 64]; });
  });
  add("tma_ring", 1, 128, Arguments::numbers, 0, [](const Words &in) {
    return make(96, [&](size_t t) {
      uint32_t sum = 0;
      for (size_t i = 0; i < 8; ++i)
        for (size_t k = t; k < 1024; k += 96) {
          const size_t word = 1023 - k;
          sum = sum * 3 + in[(i / 2 % 2 * 32 + word / 32) * 64 + i % 2 * 32 + word % 32];
        }
      return sum;
    });
  });
  add("tma_reduce", 2, 128, Arguments::numbers, 0, [](const Words &in) {
    return make(2048, [&](size_t i) { return 2 * in[i / 64 * 32 + i % 32] + 1; });
  });
  add("tma_device_map", 1, 32, Arguments::numbers, 0, [](const Words &in) {
    return make(1024, [&](size_t i) {
      const size_t word = 1023 - i;
      return in[1024 + word / 32 * 64 + word % 32];
    });
  });
  const uint32_t both = 64 * 128 + 8 * 128;
  auto wide = [](const Words &in) { return product(in, 384); };
  add("wgmma_single", 1, 128, Arguments::matrices, both, wide);
  add("wgmma_double", 1, 128, Arguments::matrices, 2 * both, wide);
  add("wgmma_specialised", 1, 160, Arguments::matrices, 3 * both, wide);
  add("wgmma_written", 1, 128, Arguments::matrices, 0,
      [](const Words &in) { return product(in, 64); });
  add("wgmma_registers", 1, 128, Arguments::matrices, 0,
      [](const Words &in) { return product(in, 48); });
  return all;
}

const std::vector<Kernel> &kernels() {
  static const std::vector<Kernel> all = [] {
    std::vector<Kernel> result = threadKernels();
    for (std::vector<Kernel> more : {copyKernels(), clusterKernels(), tensorKernels()})
      result.insert(result.end(), more.begin(), more.end());
    return result;
  }();
  return all;
}

} // namespace tilewright::vgpu::mutation
