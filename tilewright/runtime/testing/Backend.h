// A backend for tests: programs are C++ functions, devices are in this process.
#ifndef TILEWRIGHT_RUNTIME_TESTING_BACKEND_H
#define TILEWRIGHT_RUNTIME_TESTING_BACKEND_H

#include "tilewright/runtime/Client.h"
#include "tilewright/runtime/cpu/HostMemory.h"
#include "tilewright/runtime/testing/ClientFixture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace tilewright::runtime {

using ProgramFunction = std::function<Status(const ProgramRun &)>;

/// Programs by the name of their executable.
struct TestPrograms {
  struct Definition {
    ProgramFunction function;
    int64_t estimate = 0;
  };
  std::map<std::string, Definition> byName;
  /// If set, copies before a program are not made at once, as on a GPU: awaitCopiesInOrder() makes
  /// them after it has called this.
  std::function<void()> beforeCopies;
};

class TestBackend final : public Backend {
public:
  TestBackend(int64_t devices, std::shared_ptr<TestPrograms> programs)
      : deviceCount(devices), programs(std::move(programs)) {}
  std::string name() const override { return "test"; }
  std::string version() const override { return "1"; }
  std::vector<DeviceDescription> devices() const override {
    return std::vector<DeviceDescription>(static_cast<size_t>(deviceCount), {"test", {}});
  }
  std::unique_ptr<RawMemory> rawMemory(std::string_view, size_t) override {
    return std::make_unique<cpu::HostMemory>(false);
  }
  bool isHostMemory(std::string_view) const override { return true; }
  int64_t defaultMemoryLimit(std::string_view, size_t) const override { return int64_t(1) << 30; }
  Result<std::unique_ptr<DeviceProgram>>
  load(std::shared_ptr<const artifact::Executable> executable, std::span<const ProgramPlace>,
       ThreadPool &) override {
    struct Program final : DeviceProgram {
      TestPrograms::Definition definition;
      Result<Event> run(const ProgramRun &run) override {
        TILEWRIGHT_TRY(definition.function(run));
        return Event();
      }
      int64_t estimatedNanoseconds() const override { return definition.estimate; }
    };
    auto found = programs->byName.find(executable->name);
    if (found == programs->byName.end())
      return Status(Code::notFound, "no program " + executable->name);
    auto program = std::make_unique<Program>();
    program->definition = found->second;
    return Result<std::unique_ptr<DeviceProgram>>(std::move(program));
  }

  Status copyInOrder(const Device &device, std::byte *to, const std::byte *from, size_t bytes,
                     ThreadPool &pool) override {
    if (!programs->beforeCopies)
      return Backend::copyInOrder(device, to, from, bytes, pool);
    inFlight.emplace_back([=] { std::memcpy(to, from, bytes); });
    return Status();
  }
  void awaitCopiesInOrder(const Device &) override {
    if (programs->beforeCopies)
      programs->beforeCopies();
    for (const std::function<void()> &copy : std::exchange(inFlight, {}))
      copy();
  }

private:
  const int64_t deviceCount;
  const std::shared_ptr<TestPrograms> programs;
  std::vector<std::function<void()>> inFlight;
};

/// A client with test programs, and helpers to use it.
class RuntimeFixture : public ClientFixture {
protected:
  void makeClient(const RuntimeOptions &options) {
    ClientOptions clientOptions;
    clientOptions.runtime = options;
    auto made =
        Client::create(clientOptions, std::make_unique<TestBackend>(options.devices, programs));
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    client = *std::move(made);
  }
  void makeClient() { makeClient(RuntimeOptions()); }

  /// Parameters and results have type `floats()`; `change` may modify the executable before it is
  /// loaded.
  std::shared_ptr<LoadedExecutable>
  load(const std::string &name, size_t parameters, size_t results, ProgramFunction function,
       const std::function<void(artifact::Executable &)> &change = {}, int64_t estimate = 0) {
    programs->byName[name] = {std::move(function), estimate};
    auto executable = std::make_shared<artifact::Executable>();
    executable->name = name;
    executable->parameters.resize(parameters);
    for (artifact::Parameter &parameter : executable->parameters)
      parameter.type = floats();
    executable->results.resize(results);
    for (artifact::ResultInfo &result : executable->results)
      result.type = floats();
    executable->blocks.resize(1);
    if (change)
      change(*executable);
    auto assignment = client->defaultAssignment(executable->replicas, executable->partitions);
    EXPECT_TRUE(assignment.isOk());
    auto loaded = client->load(executable, *assignment);
    EXPECT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
    return *loaded;
  }

  static float *floatsOf(std::byte *data) { return reinterpret_cast<float *>(data); }
  /// result = parameter + 1, element by element, after `before`.
  static ProgramFunction addOne(std::function<void()> before = {}) {
    return [before](const ProgramRun &run) {
      if (before)
        before();
      for (int64_t i = 0; i < length; ++i)
        floatsOf(run.results[0])[i] = floatsOf(run.parameters[0])[i] + 1;
      return Status();
    };
  }
  static void donateFirst(artifact::Executable &executable) {
    executable.parameters[0].donation = artifact::Donation::must;
    executable.results[0].aliasOf = 0;
  }

  std::shared_ptr<TestPrograms> programs = std::make_shared<TestPrograms>();
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_TESTING_BACKEND_H
