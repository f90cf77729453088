// The conformance suite of devices: guarantees that programs rely on for every kind of device. Each
// kind of device links the tests of this folder with its own kit.
#ifndef TILEWRIGHT_RUNTIME_CONFORMANCE_KIT_H
#define TILEWRIGHT_RUNTIME_CONFORMANCE_KIT_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/testing/ClientFixture.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

namespace tilewright::runtime::conformance {

using artifact::BranchStep;
using artifact::CopyStep;
using artifact::Index;
using artifact::Slice;
using artifact::WhileStep;

/// The interface between the tests and a kind of device. Its code has these kernels, made for `n`
/// elements:
///
///   add_one(f32 x[n], f32 y[n])            y = x + 1; y may be x
///   add(f32 a[n], f32 b[n], f32 y[n])      y = a + b
///   slow(f32 x[n], f32 y[n])               y = x + 1, after some milliseconds
///   increment(i32 x[1], i32 y[1])          y = x + 1; y may be x
///   less(i32 a[1], i32 b[1], pred y[1])    y = a < b
class Kit {
public:
  virtual ~Kit() = default;
  virtual Result<std::unique_ptr<Client>> makeClient(const RuntimeOptions &options) = 0;
  virtual artifact::Target target() = 0;
  virtual const std::vector<std::byte> &code() = 0;
  virtual artifact::Kernel kernel(const std::string &symbol, int64_t n) = 0;
};

/// The kit that this test program is linked with.
Kit &kit();

/// Builds an executable, buffer by buffer and step by step.
class Program {
public:
  artifact::Executable executable;

  explicit Program(std::string name = "test") {
    executable.name = std::move(name);
    executable.target = kit().target();
    executable.objects.push_back(kit().code());
    executable.blocks.resize(1);
  }
  Slice parameter(const TensorType &type) {
    executable.parameters.emplace_back().type = type;
    return allocate(artifact::Storage::parameter, executable.parameters.size() - 1, bytesOf(type));
  }
  Slice result(const TensorType &type) {
    executable.results.emplace_back().type = type;
    return allocate(artifact::Storage::result, executable.results.size() - 1, bytesOf(type));
  }
  Slice temporary(int64_t bytes) {
    const int64_t offset = executable.arenaBytes[0];
    executable.arenaBytes[0] += (bytes + 63) / 64 * 64;
    return allocate(artifact::Storage::temporary, static_cast<uint64_t>(offset), bytes);
  }
  template <typename T> Slice constant(const std::vector<T> &values) {
    const size_t offset = executable.constants.size(), bytes = values.size() * sizeof(T);
    executable.constants.resize(offset + (bytes + 63) / 64 * 64);
    std::memcpy(executable.constants.data() + offset, values.data(), bytes);
    return allocate(artifact::Storage::constant, offset, static_cast<int64_t>(bytes));
  }
  Index block() {
    executable.blocks.emplace_back();
    return static_cast<Index>(executable.blocks.size() - 1);
  }
  void launch(const std::string &symbol, int64_t n, std::vector<Slice> buffers, Index block = 0) {
    executable.kernels.push_back(kit().kernel(symbol, n));
    const auto kernel = static_cast<Index>(executable.kernels.size() - 1);
    step(artifact::LaunchStep{kernel, std::move(buffers)}, block, symbol);
  }
  void step(artifact::StepAction action, Index block = 0, std::string name = "step") {
    executable.blocks[block].steps.push_back({std::move(action), std::move(name), "train.py:7"});
  }
  void donate(size_t parameter, size_t result) {
    executable.parameters[parameter].donation = artifact::Donation::must;
    executable.results[result].aliasOf = static_cast<Index>(parameter);
  }
  static int64_t bytesOf(const TensorType &type) {
    auto bytes = static_cast<int64_t>(numerics::storageBytes(type.element));
    for (int64_t dim : type.dims)
      bytes *= dim;
    return bytes;
  }

private:
  Slice allocate(artifact::Storage storage, uint64_t index, int64_t bytes) {
    executable.allocations.push_back({storage, index, bytes, 0});
    return {static_cast<Index>(executable.allocations.size() - 1), 0, bytes};
  }
};

/// A client of the kit, and helpers to use it.
class Fixture : public ClientFixture {
protected:
  void makeClient(RuntimeOptions options = {}) {
    options.threads = 2;
    auto made = kit().makeClient(options);
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    client = *std::move(made);
  }
  /// Returns false if the kit has fewer devices; the test should then be skipped.
  bool makeClientWith(int64_t devices) {
    RuntimeOptions options;
    options.devices = devices;
    makeClient(options);
    return client && client->devices().size() >= static_cast<size_t>(devices);
  }
  Memory &pinned(size_t index = 0) { return *device(index).memoryOfKind(pinnedHostKind); }
  static TensorType integer() { return {ElementType::i32, {1}}; }
  std::unique_ptr<Buffer> integer(int32_t value) {
    return *Buffer::fromHost({&value, integer(), {}}, memory());
  }

  std::shared_ptr<LoadedExecutable> load(const Program &program) {
    return load(program, *client->defaultAssignment(program.executable.replicas,
                                                    program.executable.partitions));
  }
  std::shared_ptr<LoadedExecutable> load(const Program &program, DeviceAssignment assignment) {
    auto loaded = client->load(std::make_shared<artifact::Executable>(program.executable),
                               std::move(assignment));
    EXPECT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
    return loaded.isOk() ? *loaded : nullptr;
  }
  /// Counts from the first parameter to the second; adds the number of rounds to the third. The
  /// second result is the counter.
  static Program counting() {
    Program p("count");
    Slice first = p.parameter(integer()), last = p.parameter(integer()), x = p.parameter(floats());
    Slice y = p.result(floats()), i = p.result(integer()), flag = p.temporary(1);
    p.step(CopyStep{first, i});
    p.step(CopyStep{x, y});
    const Index condition = p.block(), body = p.block();
    p.step(WhileStep{condition, body, flag, -1});
    p.launch("less", 1, {i, last, flag}, condition);
    p.launch("increment", 1, {i, i}, body);
    p.launch("add_one", length, {y, y}, body);
    return p;
  }
  /// A program that computes y = x + 1 with the kernel `symbol`.
  static Program unary(const std::string &symbol = "add_one", int64_t count = length,
                       bool isDonating = false) {
    Program program("jit_" + symbol);
    Slice x = program.parameter(floats(count)), y = program.result(floats(count));
    program.launch(symbol, count, {x, y});
    if (isDonating)
      program.donate(0, 0);
    return program;
  }
};

} // namespace tilewright::runtime::conformance

#endif // TILEWRIGHT_RUNTIME_CONFORMANCE_KIT_H
