#include "Run.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/machine/Launch.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"

#include <cstring>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::vgpu::mutation {

using machine::Completion;
using machine::LaunchConfig;
using machine::LoadedModule;
using machine::TensorElement;
using machine::TensorMap;
using machine::TensorSwizzle;

const char *nameOf(Outcome outcome) {
  switch (outcome) {
  case Outcome::clean:
    return "clean";
  case Outcome::refused:
    return "refused";
  case Outcome::reported:
    return "reported";
  case Outcome::stopped:
    return "stopped";
  case Outcome::wrong:
    return "wrong result";
  case Outcome::crashed:
    return "crashed";
  }
  return "";
}

namespace {
/// Words at an address that is aligned for copies, with padding before and after.
class Buffer {
public:
  explicit Buffer(size_t count) : storage(count + 128) {
    const auto at = reinterpret_cast<uintptr_t>(storage.data() + 32);
    words = reinterpret_cast<uint32_t *>((at + 127) & ~uintptr_t(127));
  }
  uint32_t *data() const { return words; }

private:
  std::vector<uint32_t> storage;
  uint32_t *words;
};

struct alignas(64) EncodedMap {
  std::byte bytes[TensorMap::encodedBytes];
};

EncodedMap encode(const void *data, TensorElement element, TensorSwizzle swizzle, uint64_t columns,
                  uint64_t rows, uint32_t boxColumns, uint32_t boxRows) {
  TensorMap map;
  map.address = reinterpret_cast<uint64_t>(data);
  map.rank = 2;
  map.element = element;
  map.swizzle = swizzle;
  map.size = {columns, rows, 1, 1, 1};
  map.stride = {0, columns * groupOf(element).inGlobal, 0, 0, 0};
  map.box = {boxColumns, boxRows, 1, 1, 1};
  EncodedMap encoded;
  map.encode(encoded.bytes);
  return encoded;
}

Ran runOnce(LoadedModule &module, const Kernel &kernel, Completion completion, uint64_t seed,
            bool withChecks, Log *log = nullptr) {
  const Words input = inputOf(kernel);
  const Buffer in(wordCount), out(wordCount), scratch(wordCount);
  std::memcpy(in.data(), input.data(), wordCount * 4);
  std::memset(out.data(), 0, wordCount * 4);
  std::memset(scratch.data(), 0, wordCount * 4);
  check::Options options = *check::Options::parse(withChecks ? "all,strict" : "off");
  check::Checker checker(options);
  LaunchConfig config{.grid = {kernel.grid, 1, 1},
                      .block = {kernel.block, 1, 1},
                      .dynamicSharedBytes = kernel.dynamicSharedBytes,
                      .cooperative = kernel.isCooperative,
                      .completion = completion,
                      .seed = seed,
                      .maxSteps = 200'000};
  if (withChecks)
    config.observer = &checker;
  if (log)
    config.observer = log;
  const uint32_t *pin = in.data();
  uint32_t *pout = out.data(), *pscratch = scratch.data();
  EncodedMap mapA{}, mapB{};
  if (kernel.arguments == Arguments::numbers) {
    mapA = encode(pin, TensorElement::u32, TensorSwizzle::none, 64, 64, 32, 32);
    mapB = encode(pout, TensorElement::u32, TensorSwizzle::none, 64, 64, 32, 32);
  } else if (kernel.arguments == Arguments::matrices) {
    mapA = encode(pin, TensorElement::f16, TensorSwizzle::bytes128, 384, 64, 64, 64);
    mapB = encode(pin + 64 * 192, TensorElement::f16, TensorSwizzle::bytes128, 384, 8, 64, 8);
  }
  std::vector<const void *> arguments;
  if (kernel.arguments != Arguments::words)
    arguments = {&mapA, &mapB};
  arguments.insert(arguments.end(), {&pin, &pout, &pscratch});
  const Status status = machine::launch(module, kernel.name, config, arguments);
  Ran ran;
  if (!checker.report().isEmpty())
    return {Outcome::reported, "", checker.report().text()};
  if (!status.isOk())
    return {Outcome::stopped, "", status.toString()};
  Words expected = kernel.expected(input);
  expected.resize(wordCount);
  for (size_t i = 0; i < wordCount; ++i)
    if (pout[i] != expected[i])
      return {Outcome::wrong, "", concat("out[", i, "] is ", pout[i], ", not ", expected[i])};
  return ran;
}

/// Like runOnce(), for a recorded launch.
Ran runRecorded(LoadedModule &module, const Recording &recording, Completion completion,
                uint64_t seed, bool withChecks, Log *log = nullptr) {
  if (Status status = recording.restore(); !status.isOk())
    return {Outcome::crashed, "", status.toString()};
  check::Checker checker(*check::Options::parse(withChecks ? recording.checks : "off"));
  LaunchConfig config{.grid = recording.grid,
                      .block = recording.block,
                      .cluster = recording.cluster,
                      .dynamicSharedBytes = recording.dynamicSharedBytes,
                      .cooperative = recording.isCooperative,
                      .completion = completion,
                      .seed = seed,
                      .maxSteps = 200'000,
                      .catchesFaults = true};
  if (withChecks)
    config.observer = &checker;
  if (log)
    config.observer = log;
  std::vector<const void *> arguments;
  for (const std::vector<std::byte> &parameter : recording.parameters)
    arguments.push_back(parameter.data());
  const Status status = machine::launch(module, recording.kernel, config, arguments);
  if (!checker.report().isEmpty())
    return {Outcome::reported, "", checker.report().text()};
  if (!status.isOk())
    return {Outcome::stopped, "", status.toString()};
  for (size_t i = 0; i < recording.after.size(); ++i)
    if (recording.memory()[i] != recording.after[i])
      return {Outcome::wrong, "",
              concat("byte ", i, " of the memory is ", int(recording.memory()[i]), ", not ",
                     int(recording.after[i]))};
  return {};
}

Ran runUnder(LoadedModule &module, const Kernel &kernel, Completion completion, uint64_t seed,
             bool withChecks, Log *log = nullptr) {
  return kernel.recording
             ? runRecorded(module, *kernel.recording, completion, seed, withChecks, log)
             : runOnce(module, kernel, completion, seed, withChecks, log);
}

Result<std::unique_ptr<LoadedModule>> load(const Kernel &kernel, const std::string &text) {
  return LoadedModule::create(text, kernel.recording ? kernel.recording->chip : "sm_90a");
}

/// The completion order of run `i`: eager, latest, then seeded ones.
Completion completionOf(uint32_t i) {
  return i == 0 ? Completion::eager : i == 1 ? Completion::latest : Completion::seeded;
}

Ran runAll(const Kernel &kernel, const std::string &text, uint32_t seeds, bool withChecks) {
  Result<std::unique_ptr<LoadedModule>> module = load(kernel, text);
  if (!module.isOk())
    return {Outcome::refused, "", std::move(module).takeStatus().toString()};
  for (uint32_t i = 0; i < 2 + seeds; ++i) {
    Ran ran = runUnder(**module, kernel, completionOf(i), i < 2 ? 0 : i, withChecks);
    if (ran.outcome != Outcome::clean) {
      ran.order = i == 0 ? "eager" : i == 1 ? "latest" : concat("seed:", i);
      return ran;
    }
  }
  return {};
}
} // namespace

Status establish(const Kernel &kernel, const std::string &text, uint32_t seeds) {
  TILEWRIGHT_ASSIGN(std::unique_ptr<LoadedModule> module, load(kernel, text));
  Recording &recording = *kernel.recording;
  for (uint32_t i = 0; i < 2 + seeds; ++i) {
    const Ran ran = runRecorded(*module, recording, completionOf(i), i < 2 ? 0 : i, false);
    if (ran.outcome == Outcome::wrong) {
      recording.after.clear();
      break;
    }
    if (ran.outcome != Outcome::clean)
      return Status(Code::internal, concat(kernel.name, " does not run: ", ran.text));
    if (i == 0)
      recording.after.assign(recording.memory(), recording.memory() + recording.before.size());
  }
  return Status();
}

std::vector<Logged> logOf(const Kernel &kernel, const std::string &text, uint32_t order) {
  Result<std::unique_ptr<LoadedModule>> module = load(kernel, text);
  Log log;
  if (!module.isOk() ||
      runUnder(**module, kernel, completionOf(order), order < 2 ? 0 : order, false, &log).outcome !=
          Outcome::clean)
    return {};
  return std::move(log.events);
}

Ran runIsolated(const Kernel &kernel, const std::string &text, uint32_t seeds, bool withChecks) {
  int ends[2];
  if (pipe(ends) != 0)
    return {Outcome::crashed, "", "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(60);
    const Ran ran = runAll(kernel, text, seeds, withChecks);
    std::string message(1, static_cast<char>(ran.outcome));
    message += ran.order + "\n" + ran.text;
    size_t done = 0;
    while (done < message.size()) {
      const ssize_t wrote = write(ends[1], message.data() + done, message.size() - done);
      if (wrote <= 0)
        break;
      done += static_cast<size_t>(wrote);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string message;
  char chunk[4096];
  for (ssize_t got; (got = read(ends[0], chunk, sizeof chunk)) > 0;)
    message.append(chunk, static_cast<size_t>(got));
  close(ends[0]);
  int state = 0;
  if (child > 0)
    waitpid(child, &state, 0);
  if (child < 0 || message.empty())
    return {Outcome::crashed, "", concat("the process ended with ", state)};
  const size_t line = message.find('\n');
  return {static_cast<Outcome>(message[0]), message.substr(1, line - 1), message.substr(line + 1)};
}

} // namespace tilewright::vgpu::mutation
