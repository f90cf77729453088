// Builds small executables step by step, with buffers to run them on.
#ifndef TILEWRIGHT_RUNTIME_CPU_TESTING_PROGRAM_H
#define TILEWRIGHT_RUNTIME_CPU_TESTING_PROGRAM_H

#include "tilewright/runtime/cpu/Program.h"
#include "tilewright/runtime/cpu/object/testing/Object.h"

#include "gtest/gtest.h"

#include <cstring>
#include <deque>
#include <string_view>

namespace tilewright::runtime::cpu {

using namespace artifact;

/// Builds an executable and runs it; every buffer can be read afterwards.
///
///   TestProgram p("void twice(void **b, long begin, long end, char *s) { … }");
///   Slice x = p.parameter<float>({1, 2}), y = p.result<float>(2);
///   p.step(LaunchStep{p.kernel("twice", 2), {x, y}});
///   EXPECT_TRUE(p.run().isOk());
///   EXPECT_EQ(p.values<float>(0), …);
class TestProgram {
public:
  Executable executable;
  LoadOptions options;
  ThreadPool pool{2};
  RunContext context{.pool = pool};
  std::deque<AlignedBytes> parameters, results;
  AlignedBytes arenas[2];

  explicit TestProgram(std::string_view source = "") {
    executable.name = "test";
    executable.target.triple = "x86_64-unknown-linux-gnu";
    executable.blocks.resize(1);
    if (!source.empty())
      executable.objects.push_back(compileForTest(source));
  }

  template <typename T> static constexpr ElementType elementOf() {
    return std::is_same_v<T, float>      ? ElementType::f32
           : std::is_same_v<T, int32_t>  ? ElementType::i32
           : std::is_same_v<T, uint32_t> ? ElementType::ui32
                                         : ElementType::pred;
  }
  template <typename T> Slice parameter(const std::vector<T> &values) {
    const auto count = static_cast<int64_t>(values.size());
    executable.parameters.emplace_back().type = {elementOf<T>(), {count}};
    parameters.emplace_back(values.size() * sizeof(T));
    std::memcpy(parameters.back().data(), values.data(), values.size() * sizeof(T));
    return allocate(Storage::parameter, parameters.size() - 1, count * int64_t(sizeof(T)));
  }
  template <typename T> Slice result(int64_t count) {
    executable.results.emplace_back().type = {elementOf<T>(), {count}};
    results.emplace_back(count * sizeof(T), std::byte(0xAA));
    return allocate(Storage::result, results.size() - 1, count * int64_t(sizeof(T)));
  }
  Slice temporary(int64_t bytes, uint8_t space = 0) {
    const int64_t offset = executable.arenaBytes[space];
    executable.arenaBytes[space] += (bytes + 63) / 64 * 64;
    return allocate(Storage::temporary, static_cast<uint64_t>(offset), bytes, space);
  }
  template <typename T> Slice constant(const std::vector<T> &values) {
    const size_t offset = executable.constants.size(), bytes = values.size() * sizeof(T);
    executable.constants.resize(offset + (bytes + 63) / 64 * 64);
    std::memcpy(executable.constants.data() + offset, values.data(), bytes);
    return allocate(Storage::constant, offset, static_cast<int64_t>(bytes));
  }
  template <typename T> Operand operand(const Slice &slice) {
    executable.types.push_back({elementOf<T>(), {slice.bytes / int64_t(sizeof(T))}});
    return {slice, static_cast<Index>(executable.types.size() - 1)};
  }
  Index kernel(std::string symbol, int64_t grid, int64_t itemCost = 1, int64_t scratch = 0) {
    executable.kernels.push_back({std::move(symbol), grid, scratch, itemCost});
    return static_cast<Index>(executable.kernels.size() - 1);
  }
  Index block() {
    executable.blocks.emplace_back();
    return static_cast<Index>(executable.blocks.size() - 1);
  }
  void step(StepAction action, Index block = 0, std::string name = "step.1") {
    executable.blocks[block].steps.push_back({std::move(action), std::move(name), "train.py:7"});
  }

  Result<std::shared_ptr<Program>> load() { return Program::load(executable, options); }
  /// Loads on the first call; the executable must not be changed after that.
  Status run() {
    if (!program) {
      TILEWRIGHT_ASSIGN(program, load());
      for (int space = 0; space < 2; ++space) {
        arenas[space].resize(static_cast<size_t>(executable.arenaBytes[space]));
        context.arenas[space] = arenas[space].empty() ? nullptr : arenas[space].data();
      }
    }
    std::vector<std::byte *> in, out;
    for (AlignedBytes &buffer : parameters)
      in.push_back(buffer.data());
    for (AlignedBytes &buffer : results)
      out.push_back(buffer.data());
    return program->run(in, out, context);
  }
  template <typename T> std::vector<T> values(size_t result) const {
    std::vector<T> values(results[result].size() / sizeof(T));
    std::memcpy(values.data(), results[result].data(), results[result].size());
    return values;
  }

  std::shared_ptr<Program> program;

private:
  Slice allocate(Storage storage, uint64_t index, int64_t bytes, uint8_t space = 0) {
    executable.allocations.push_back({storage, index, bytes, space});
    return {static_cast<Index>(executable.allocations.size() - 1), 0, bytes};
  }
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_TESTING_PROGRAM_H
