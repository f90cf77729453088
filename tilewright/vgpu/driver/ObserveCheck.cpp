#include "tilewright/vgpu/driver/ObserveCheck.h"

#include "tilewright/vgpu/check/Checker.h"

#include <cstdio>
#include <mutex>

namespace tilewright::vgpu::driver {

/// The checker of the process; null if no check is asked for. Lives as long as the
/// process does, since streams may run until its end.
static check::Checker *processChecker() {
  static check::Checker *const checker = []() -> check::Checker * {
    Result<check::Options> options = check::Options::fromEnvironment();
    if (!options.isOk()) {
      std::fprintf(stderr, "vgpu: %s\n", std::move(options).takeStatus().toString().c_str());
      return nullptr;
    }
    return options->any() ? new check::Checker(*options) : nullptr;
  }();
  return checker;
}

namespace {
class Checking final : public Observation {
public:
  explicit Checking(check::Checker &checker)
      : checker(checker), before(checker.report().findings().size()) {}

  machine::Observer &observer() override { return checker; }

  Status finished(Status status) override {
    const check::Options &options = checker.options();
    if (checker.report().findings().size() == before)
      return status;
    if (options.path.empty()) {
      std::fputs(checker.report().text(before).c_str(), stderr);
    } else if (Status written = check::write(checker.report(), options.format, options.path);
               !written.isOk()) {
      std::fprintf(stderr, "vgpu: %s\n", written.toString().c_str());
    }
    return status;
  }

private:
  check::Checker &checker;
  const size_t before; // findings
};
} // namespace

std::unique_ptr<Observation> startChecking(const LaunchFacts &facts) {
  static std::mutex mutex;
  static uint64_t last = 0; // guarded by mutex: launches are numbered from 1
  check::Checker *checker = processChecker();
  if (!checker)
    return nullptr;
  std::lock_guard lock(mutex);
  if (facts.number != 0 && facts.number == last)
    return nullptr;
  last = facts.number;
  return std::make_unique<Checking>(*checker);
}

void checkAllocated(uint64_t begin, uint64_t bytes, machine::AllocationKind kind) {
  using machine::AllocationKind;
  check::Checker *checker = processChecker();
  // Memory of the host may be written by the program without our knowing.
  const bool isOwn = kind == AllocationKind::device || kind == AllocationKind::pool ||
                     kind == AllocationKind::managed;
  if (checker && isOwn)
    checker->memory().allocated(begin, bytes, checkRedZone, kind == AllocationKind::managed);
}

void checkFreed(uint64_t begin) {
  if (check::Checker *checker = processChecker())
    checker->memory().freed(begin);
}

void checkWritten(const void *begin, uint64_t bytes) {
  if (check::Checker *checker = processChecker())
    checker->memory().written(reinterpret_cast<uint64_t>(begin), bytes);
}

} // namespace tilewright::vgpu::driver
