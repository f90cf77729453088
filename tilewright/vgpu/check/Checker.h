// Finds errors that hardware does not report: races, missing fences, reads of uninitialised memory,
// accesses out of bounds, misuse of barriers.
#ifndef TILEWRIGHT_VGPU_CHECK_CHECKER_H
#define TILEWRIGHT_VGPU_CHECK_CHECKER_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/check/GlobalMemory.h"
#include "tilewright/vgpu/check/Report.h"
#include "tilewright/vgpu/machine/Launch.h"
#include "tilewright/vgpu/machine/Observer.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tilewright::vgpu::check {

class Launches;
struct GroupState;
struct LaunchState;

/// What to check, and how to report it.
struct Options {
  bool races = false;    // unordered accesses, missing proxy fences, registers of a wgmma in flight
  bool uninit = false;   // reads of uninitialised memory
  bool bounds = false;   // accesses outside of allocations
  bool barriers = false; // misuse of barriers, operations that no thread waited for
  /// Applies the rules of the PTX specification even where compilers rely on less. For example, an
  /// asynchronous copy then needs a fence after the initialisation of its mbarrier; a
  /// happens-before order is not enough.
  bool strict = false;
  /// Checks 16-byte chunks by page (SharedShadow.h), which is faster and finds the same errors.
  /// Tests turn it off to compare.
  bool byPages = true;
  size_t limit = 100; // maximum number of findings to describe
  ReportFormat format = ReportFormat::text;
  std::string path; // where the report goes; empty: stderr
  // When asynchronous operations complete. The code that launches kernels reads this option; the
  // checks themselves work with any order of completion.
  machine::Completion completion = machine::Completion::eager;
  uint64_t seed = 0;

  bool any() const { return races || uninit || bounds || barriers; }

  /// Parses "races,uninit,bounds,barriers", "all" or "off"; the list may also contain "strict".
  ///  - checkOption: unknown name.
  static Result<Options> parse(std::string_view checks);
  /// Parses "eager", "latest" or "seed:7".
  ///  - checkOption: any other value.
  Status setOrder(std::string_view order);
  /// Reads TILEWRIGHT_VGPU_CHECK, _REPORT (a path), _REPORT_FORMAT (text, json or sarif; by default
  /// derived from the path's extension) and _CHECK_LIMIT.
  ///  - checkOption: a variable has an invalid value.
  static Result<Options> fromEnvironment();
};

/// Observes launches and collects findings.
///
///   check::Checker checker(*check::Options::parse("all"));
///   LaunchConfig config{.block = {256, 1, 1}, .observer = &checker};
///   TILEWRIGHT_TRY(launch(*module, "scale", config, arguments));
///   if (!checker.report().isEmpty())
///     std::fputs(checker.report().text().c_str(), stderr);
///
/// Launches without a HostOrder happen one after the other. Launches with a HostOrder are compared
/// if neither happens before the other. Thread-safe; must outlive the launches.
class Checker final : public machine::Observer {
public:
  explicit Checker(const Options &options);
  ~Checker() override;

  const Options &options() const { return settings; }
  const Report &report() const { return found; }
  Report &report() { return found; }
  /// The driver reports its allocations, frees and copies to this object.
  GlobalMemory &memory() { return global; }

  void launchBegin(const machine::Grid &grid) override;
  void launchEnd(const machine::Grid &grid) override;
  void groupBegin(const machine::Group &group) override;
  void groupEnd(const machine::Group &group) override;
  void access(const machine::MemoryEvent &event) override;
  void valueRead(const machine::MemoryEvent &event) override;
  machine::SharedReads *sharedReads(const machine::Block &block) override;
  void synchronise(const machine::SyncEvent &event) override;
  void accessInFlight(const machine::Warp &warp, const machine::Op *op, uint32_t mask,
                      uint32_t slot, machine::AsyncId operation) override;
  void hazard(const machine::HazardEvent &event) override;

private:
  LaunchState &launchOf(const machine::Grid &grid);
  GroupState &groupOf(const machine::Warp &warp);

  const Options settings;
  const uint64_t serial; // distinguishes checkers that had the same address
  Report found;
  GlobalMemory global;
  std::unique_ptr<Launches> launches;
  std::mutex mutex;
  std::unordered_map<const machine::Group *, std::unique_ptr<GroupState>>
      groups; // guarded by mutex
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_CHECKER_H
