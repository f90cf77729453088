#include "Mutants.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/machine/Warp.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tilewright::vgpu::amdgcn {

namespace {
/// Ends the launch after the first finding.
class StopsAtFinding final : public machine::Observer {
public:
  explicit StopsAtFinding(check::Checker &checker) : checker(checker) {}

  void launchBegin(const machine::Grid &grid) override {
    running = const_cast<machine::Grid *>(&grid);
    checker.launchBegin(grid);
  }
  void launchEnd(const machine::Grid &grid) override { checker.launchEnd(grid); }
  void groupBegin(const machine::Group &group) override { checker.groupBegin(group); }
  void groupEnd(const machine::Group &group) override { checker.groupEnd(group); }
  void access(const machine::MemoryEvent &event) override {
    checker.access(event);
    stop();
  }
  void valueRead(const machine::MemoryEvent &event) override { checker.valueRead(event); }
  void synchronise(const machine::SyncEvent &event) override { checker.synchronise(event); }
  void accessInFlight(const machine::Warp &warp, const machine::Op *op, uint32_t mask,
                      uint32_t slot, machine::AsyncId operation) override {
    checker.accessInFlight(warp, op, mask, slot, operation);
    stop();
  }
  void hazard(const machine::HazardEvent &event) override {
    checker.hazard(event);
    stop();
  }

private:
  void stop() {
    if (!checker.report().isEmpty() && !running->failed)
      running->fail(Status(Error::vgpuFault, "found"));
  }

  check::Checker &checker;
  machine::Grid *running = nullptr;
};

struct Order {
  Completion completion;
  uint64_t seed;
};
constexpr Order orders[] = {{Completion::latest, 0},
                            {Completion::eager, 0},
                            {Completion::seeded, 1},
                            {Completion::seeded, 2},
                            {Completion::seeded, 3}};

using Contents = std::vector<std::vector<char>>;

struct Outcome {
  std::vector<check::Report::Counted> findings;
  Status status;
  Contents contents;
};

struct Mutant {
  std::string kind, change;
  uint32_t number; // of the operation
  std::function<void(std::span<Op>)> apply;
  std::string around = {}; // the instructions before and after it
};
} // namespace

static Contents contentsOf(const Case &one) {
  Contents contents;
  for (const std::span<char> buffer : one.buffers)
    contents.emplace_back(buffer.begin(), buffer.end());
  return contents;
}

static Outcome runOnce(const Case &original, const Contents &start, const Order &order,
                       const std::function<void(std::span<Op>)> &change, bool isChecked) {
  for (size_t i = 0; i < start.size(); ++i)
    std::copy(start[i].begin(), start[i].end(), original.buffers[i].begin());
  Outcome outcome;
  auto object = LoadedObject::load(std::as_bytes(std::span(original.file)));
  if (!object.isOk()) {
    outcome.status = std::move(object).takeStatus();
    return outcome;
  }
  auto program = (*object)->program(original.kernel);
  if (!program.isOk()) {
    outcome.status = std::move(program).takeStatus();
    return outcome;
  }
  if (change)
    change(const_cast<Program *>(*program)->edit());
  check::Checker checker(*check::Options::parse("all"));
  StopsAtFinding observer(checker);
  LaunchConfig config = original.config;
  config.completion = order.completion;
  config.seed = order.seed;
  config.maxBranches = 1 << 20;
  if (isChecked)
    config.observer = &observer;
  outcome.status = launch(**object, original.kernel, config, original.arguments);
  outcome.findings = checker.report().findings();
  outcome.contents = contentsOf(original);
  return outcome;
}

/// Lets what comes before an operation continue with what comes after it.
static void removeOp(std::span<Op> ops, uint32_t number) {
  for (Op &op : ops) {
    if (op.next == number)
      op.next = ops[number].next;
    if (op.target == number)
      op.target = ops[number].next;
  }
}

static void addWaits(std::vector<Mutant> &mutants, uint32_t number, const Op &op) {
  const auto counters = static_cast<uint32_t>(op.sources[0].value);
  const uint32_t vector = (counters & 15) | (counters >> 14 & 3) << 4, local = counters >> 8 & 15;
  auto setCounters = [&](std::string change, uint32_t value) {
    mutants.push_back({"waitcnt", std::move(change), number,
                       [=](std::span<Op> ops) { ops[number].sources[0].value = value; }});
  };
  if (vector != 63)
    setCounters(concat("vmcnt(", vector, ")+1"),
                (counters & ~0xc00fu) | ((vector + 1) & 15) | (vector + 1) >> 4 << 14);
  if (local != 15)
    setCounters(concat("lgkmcnt(", local, ")+1"), (counters & ~0xf00u) | (local + 1) << 8);
}

static std::vector<Mutant> mutantsOf(std::span<const Op> ops, const std::vector<std::string> &kinds,
                                     uint32_t ldsBytes) {
  std::vector<Mutant> mutants;
  auto wants = [&](std::string_view kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  for (uint32_t number = 0; number < ops.size(); ++number) {
    const Op &op = ops[number];
    const std::string_view name = op.instruction.row->name;
    for (const std::string_view kind : {"waitcnt", "barrier", "nop", "setprio"})
      if (name == concat("s_", kind) && wants(kind)) {
        // A wait that waits for nothing stays an instruction: wait states do not change.
        mutants.push_back({std::string(kind), "delete", number, [=](std::span<Op> all) {
                             if (kind == "waitcnt")
                               all[number].sources[0].value = 0xffff;
                             else
                               removeOp(all, number);
                           }});
        if (kind == "waitcnt")
          addWaits(mutants, number, op);
      }
    // A tile in the other half of the workgroup's LDS.
    const bool isLds = op.counter == Counter::local && op.sources[0].kind == SlotKind::vector &&
                       (name.starts_with("ds_read_b") || name.starts_with("ds_write_b"));
    if (isLds && wants("lds") && ldsBytes >= 2048) {
      const int64_t half = ldsBytes / 2 / 16 * 16;
      mutants.push_back({"lds", "other half", number, [=](std::span<Op> all) {
                           auto &offset = all[number].instruction.memory.offset;
                           offset = static_cast<std::remove_reference_t<decltype(offset)>>(
                               offset >= half ? offset - half : offset + half);
                         }});
    }
  }
  return mutants;
}

/// The instructions near one in the text, as evidence of why it has no effect.
static std::string around(std::span<const Op> ops, uint32_t number) {
  std::string text;
  for (uint32_t i = number - std::min(number, 2u); i < ops.size() && i <= number + 1; ++i)
    text += concat(text.empty() ? "" : "; ", i == number ? "*" : "", toText(ops[i].instruction));
  return text;
}

static std::string describe(const check::Finding &finding) {
  std::string text(nameOf(finding.kind));
  for (const check::Party &party : finding.parties)
    text += concat(" ", hexNumber(party.location.address));
  return text;
}

static void print(const Mutant &mutant, uint64_t address, std::string_view verdict,
                  std::string_view evidence) {
  std::printf("%s|%s|%s|%s|%.*s\n", mutant.kind.c_str(), mutant.change.c_str(),
              hexNumber(address).c_str(), std::string(verdict).c_str(),
              static_cast<int>(evidence.size()), evidence.data());
  std::fflush(stdout);
}

static bool isExecuted(const Case &original, const Contents &start, uint32_t number) {
  const Outcome outcome = runOnce(
      original, start, orders[1],
      [=](std::span<Op> ops) {
        ops[number].run = [](Wave &wave, const Op &) {
          wave.fail(Status(Error::vgpuFault, "reached"));
        };
      },
      false);
  return !outcome.status.isOk();
}

static void judge(const Case &original, const Contents &start, const Contents &expected,
                  const Mutant &mutant, uint64_t address) {
  bool isWrong = false;
  for (const Order &order : orders) {
    const Outcome outcome = runOnce(original, start, order, mutant.apply, true);
    if (!outcome.findings.empty())
      return print(mutant, address, "named", describe(outcome.findings.front().finding));
    if (!outcome.status.isOk()) {
      // The machine itself ends a launch that leaves its memory; its message has the place.
      const bool isAccess = outcome.status.error() == Error::vgpuAccess;
      std::string text = outcome.status.toString();
      std::replace(text.begin(), text.end(), '\n', ' ');
      return print(mutant, address, isAccess ? "named" : "failed",
                   concat(isAccess ? "out-of-bounds " : "", text));
    }
    isWrong |= outcome.contents != expected;
    if (&order == &orders[0] && !isWrong && !isExecuted(original, start, mutant.number))
      return print(mutant, address, "unexecuted", "");
    if (mutant.kind == "nop" || mutant.kind == "setprio")
      break; // the order of memory operations does not matter
  }
  print(mutant, address, isWrong ? "wrong" : "harmless", mutant.around);
}

Status runMutants(Case &original, const std::vector<std::string> &kinds, size_t first,
                  size_t step) {
  const Contents start = contentsOf(original);
  Contents expected;
  for (const Order &order : orders) {
    Outcome outcome = runOnce(original, start, order, nullptr, true);
    for (const check::Report::Counted &one : outcome.findings)
      return Status(Error::vgpuFault, concat("the original has a finding: ", describe(one.finding),
                                             ": ", one.finding.message));
    TILEWRIGHT_TRY(std::move(outcome.status));
    if (!expected.empty() && outcome.contents != expected)
      return Status(Error::vgpuFault, "the original's results depend on the order");
    expected = std::move(outcome.contents);
  }
  TILEWRIGHT_ASSIGN(auto object, LoadedObject::load(std::as_bytes(std::span(original.file))));
  TILEWRIGHT_ASSIGN(const Program *program, object->program(original.kernel));
  const uint32_t lds =
      object->object().find(original.kernel)->descriptor.ldsBytes + original.config.dynamicLdsBytes;
  const std::span<const Op> ops(&(*program)[0], program->size());
  std::vector<Mutant> mutants = mutantsOf(ops, kinds, lds);
  for (size_t i = first; i < mutants.size(); i += step) {
    mutants[i].around = around(ops, mutants[i].number);
    judge(original, start, expected, mutants[i], ops[mutants[i].number].address);
  }
  return Status();
}

} // namespace tilewright::vgpu::amdgcn
