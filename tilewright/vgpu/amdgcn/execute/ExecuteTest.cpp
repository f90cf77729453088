#include "tilewright/vgpu/amdgcn/execute/Launch.h"
#include "tilewright/vgpu/amdgcn/testing/MakeObject.h"
#include "tilewright/vgpu/amdgcn/testing/RandomInstruction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace tilewright::vgpu::amdgcn {
namespace {

using ::testing::HasSubstr;

/// A kernel made of dwords, loaded.
std::unique_ptr<LoadedObject> loaded(std::vector<uint32_t> code, Chip chip = Chip::gfx942) {
  code.push_back(0xBF810000); // s_endpgm
  const std::string bytes = testing::makeObject({.machine = chip == Chip::gfx942 ? 0x4cu : 0x4fu,
                                                 .code = code,
                                                 .metadata = testing::makeMetadata("add")});
  auto object = LoadedObject::load(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(object.isOk());
  return std::move(*object);
}

// makeObject's kernels have the argument pointer in s[0:1], then six preloaded dwords.
constexpr uint32_t laneTimesFour = 0x24000082;           // v_lshlrev_b32 v0, 2, v0
constexpr uint32_t loadV1[] = {0xDC508000, 0x01020000};  // global_load_dword v1, v0, s[2:3]
constexpr uint32_t storeV1[] = {0xDC708000, 0x00020100}; // global_store_dword v0, v1, s[2:3]
constexpr uint32_t waitForAll = 0xBF8C0000, addOne = 0x68020281u; // v_add_u32 v1, 1, v1

TEST(Execute, AKernelReadsAndWritesABuffer) {
  auto object =
      loaded({laneTimesFour, loadV1[0], loadV1[1], waitForAll, addOne, storeV1[0], storeV1[1]});
  std::vector<uint32_t> buffer(64, 41);
  const auto begin = reinterpret_cast<uint64_t>(buffer.data());
  const LaunchConfig config = {.memory = {{begin, begin + 256}}};
  ASSERT_TRUE(launch(*object, "add", config, std::as_bytes(std::span(&begin, 1))).isOk());
  EXPECT_THAT(buffer, ::testing::Each(42));

  LaunchConfig partial = {.block = {3, 1, 1}, .memory = {{begin, begin + 256}}};
  ASSERT_TRUE(launch(*object, "add", partial, std::as_bytes(std::span(&begin, 1))).isOk());
  EXPECT_THAT(std::span(buffer).first(4), ::testing::ElementsAre(43, 43, 43, 42));

  partial = {.memory = {{begin, begin + 200}}};
  const Status status = launch(*object, "add", partial, std::as_bytes(std::span(&begin, 1)));
  EXPECT_EQ(status.error(), Error::vgpuAccess);
  EXPECT_THAT(status.toString(), HasSubstr("'global_load_dword v1, v0, s[2:3]' at 4356"));
  EXPECT_THAT(status.toString(), HasSubstr("lane 50 of wave 0 in workgroup (0, 0, 0)"));
}

TEST(Execute, AMissingWaitIsReported) {
  auto object = loaded({laneTimesFour, loadV1[0], loadV1[1], addOne, storeV1[0], storeV1[1]});
  std::vector<uint32_t> buffer(64, 41);
  const auto begin = reinterpret_cast<uint64_t>(buffer.data());
  const auto arguments = std::as_bytes(std::span(&begin, 1));
  EXPECT_TRUE(launch(*object, "add", {}, arguments).isOk()); // the load is performed at once
  const Status status = launch(*object, "add", {.completion = Completion::latest}, arguments);
  EXPECT_EQ(status.error(), Error::vgpuFault);
  EXPECT_THAT(status.toString(),
              HasSubstr("'v_add_u32_e32 v1, 1, v1' at 4364 of the code object reads v1 while "
                        "'global_load_dword v1, v0, s[2:3]' at 4356 of the code object, which "
                        "writes it, is in flight "
                        "(wave 0 of workgroup (0, 0, 0)); wait for it with s_waitcnt before"));
}

TEST(Execute, AWaitForAllButTheLastLoadsIsEnoughForTheFirst) {
  // v1 and v2 are loaded from the same place; v2 is waited for later.
  constexpr uint32_t loadV2[] = {0xDC508000, 0x02020000}, waitForAllButOne = 0xBF8C0F71,
                     addV2 = 0x68020501; // v_add_u32 v1, v1, v2
  const std::vector<uint32_t> before = {laneTimesFour, loadV1[0],        loadV1[1], loadV2[0],
                                        loadV2[1],     waitForAllButOne, addOne};
  std::vector<uint32_t> buffer(64, 41);
  const auto begin = reinterpret_cast<uint64_t>(buffer.data());
  auto statusOf = [&](std::vector<uint32_t> rest, Completion completion) {
    std::vector<uint32_t> code = before;
    code.insert(code.end(), rest.begin(), rest.end());
    return launch(*loaded(code), "add", {.completion = completion, .seed = 3},
                  std::as_bytes(std::span(&begin, 1)));
  };
  for (Completion completion : {Completion::eager, Completion::latest, Completion::seeded}) {
    buffer.assign(64, 41);
    ASSERT_TRUE(statusOf({waitForAll, addV2, storeV1[0], storeV1[1]}, completion).isOk());
    EXPECT_THAT(buffer, ::testing::Each(83));
  }
  EXPECT_THAT(statusOf({addV2}, Completion::latest).toString(), HasSubstr("reads v2 while"));
}

TEST(Execute, SizesThatAKernelCannotHaveAreRefused) {
  auto object = loaded({});
  auto messageOf = [&](const LaunchConfig &config, size_t argumentBytes) {
    return launch(*object, "add", config, std::vector<std::byte>(argumentBytes)).toString();
  };
  EXPECT_THAT(messageOf({.block = {1025, 1, 1}}, 8), HasSubstr("1 to 1024 work-items, got 1025"));
  EXPECT_THAT(messageOf({.block = {0, 1, 1}}, 8), HasSubstr("got 0"));
  EXPECT_THAT(messageOf({.dynamicLdsBytes = 65536}, 8),
              HasSubstr("needs 67584 bytes of LDS, but gfx942 has 65536"));
  EXPECT_THAT(messageOf({.grid = {1, 1 << 22, 1}, .block = {1, 1024, 1}}, 8),
              HasSubstr("a launch has at most 4294967295 work-items in each dimension, got "
                        "4294967296 of kernel 'add' in dimension 1 (4194304 workgroups of 1024)"));
  EXPECT_THAT(messageOf({}, 100), HasSubstr("takes 24 bytes of arguments, got 100"));
}

TEST(Execute, AnEndlessLoopEnds) {
  auto object = loaded({0xBF82FFFF}); // s_branch to itself
  const Status status = launch(*object, "add", {.maxBranches = 100000}, {});
  EXPECT_EQ(status.error(), Error::vgpuLivelock);
}

TEST(Execute, AnInstructionWithoutAMeaningIsRefusedWhenTheKernelIsLoaded) {
  auto object = loaded({0xD9330000, 0}); // ds_gws_init v0 gds
  const Status status = launch(*object, "add", {}, {});
  EXPECT_EQ(status.error(), Error::vgpuUnimplemented);
  EXPECT_THAT(status.toString(), HasSubstr("cannot execute 'ds_gws_init v0 gds'"));
}

/// Bits of which many are special as a float, an index or an address.
class RandomState {
public:
  explicit RandomState(std::span<std::byte> buffer) : buffer(buffer) {}

  uint64_t operator()(uint64_t limit) { return engine() % limit; }
  uint32_t dword() {
    constexpr uint32_t special[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                                    1, 0x007fffff, 0xffffffff, 0x7fffffff, 0x3f800000, 64};
    return (*this)(3) == 0 ? special[(*this)(std::size(special))] : static_cast<uint32_t>(engine());
  }
  uint64_t address() { return reinterpret_cast<uint64_t>(buffer.data()) + (*this)(buffer.size()); }
  void fill(Wave &wave) {
    for (unsigned slot = 0; slot < vectorSlots; slot += 2)
      for (unsigned lane = 0; lane < laneCount; ++lane) {
        const bool isAddress = slot % 8 == 0;
        const uint64_t value = isAddress ? address() : dword() | uint64_t(dword()) << 32;
        wave.vectors[slot].lanes[lane] =
            slot % 8 == 2 ? static_cast<uint32_t>((*this)(64)) : static_cast<uint32_t>(value);
        wave.vectors[slot + 1].lanes[lane] = static_cast<uint32_t>(value >> 32);
      }
    for (unsigned slot = 0; slot < scalarSlots; slot += 2)
      wave.setScalar64(slot, (*this)(2) == 0 ? address() : dword() | uint64_t(dword()) << 32);
  }

private:
  std::mt19937_64 engine{1};
  std::span<std::byte> buffer;
};

/// Executes random instructions of every form. Returns how many forms are executed and refused.
std::map<std::string, unsigned> executeEveryForm(Chip chip, unsigned times) {
  auto object = loaded({}, chip);
  std::vector<std::byte> buffer(1 << 12);
  const MemoryRange memory[] = {{reinterpret_cast<uint64_t>(buffer.data()),
                                 reinterpret_cast<uint64_t>(buffer.data()) + buffer.size()}};
  const Dispatch dispatch = {
      .program = *object->program("add"), .memory = memory, .scratchBytesPerLane = 64};
  Workgroup group = {.dispatch = &dispatch, .lds = std::vector<std::byte>(1 << 12)};
  RandomState random(buffer);
  std::map<std::string, unsigned> counts;
  for (const testing::RowForm &form : testing::formsOf(chip)) {
    bool isExecuted = false;
    Wave start;
    random.fill(start);
    for (unsigned i = 0; i < times; ++i) {
      const auto instruction = decode(testing::randomEncoding(form, chip, std::ref(random)), chip);
      Result<Op> op = makeOp(*instruction, 0x1100, chip);
      if (!op.isOk()) {
        EXPECT_THAT(std::move(op).takeStatus().toString(), HasSubstr(toText(*instruction)));
        continue;
      }
      isExecuted = true;
      Wave wave;
      std::copy_n(start.vectors.get(), vectorSlots, wave.vectors.get());
      wave.scalars = start.scalars;
      wave.group = &group;
      wave.scratch.resize(64 * laneCount);
      if (i % 2 == 0) {
        op->run(wave, *op);
      } else {
        InFlight late(Completion::latest, 0);
        late.execute(wave, *op);
        late.performAll(wave);
      }
      if (wave.state == WaveState::failed) {
        EXPECT_FALSE(wave.failure.isOk()) << toText(*instruction);
      }
    }
    ++counts[isExecuted ? "executed" : "refused"];
  }
  return counts;
}

TEST(Execute, EveryInstructionEndsWithAResultOrAnErrorWhateverTheRegistersAre) {
  for (Chip chip : {Chip::gfx942, Chip::gfx950}) {
    auto counts = executeEveryForm(chip, 2);
    std::printf("%s: %u forms executed, %u refused\n", std::string(nameOf(chip)).c_str(),
                counts["executed"], counts["refused"]);
    EXPECT_GE(counts["executed"], 1420u);
  }
}

} // namespace
} // namespace tilewright::vgpu::amdgcn
