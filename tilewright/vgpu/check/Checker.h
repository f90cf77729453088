// Finds what hardware never tells: races, missing fences, reads of memory that
// nobody wrote, accesses out of bounds, barriers that are used wrongly.
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

struct GroupState;
struct LaunchState;

/// What is checked and how it is told.
struct Options {
  bool races = false;    // accesses without order, missing proxy fences, registers of wgmma
  bool uninit = false;   // reads of what nobody wrote
  bool bounds = false;   // accesses outside of allocations
  bool barriers = false; // misuse of barriers, operations that nobody waited for
  /// Takes PTX by the letter where compilers do not: a copy needs a fence after the
  /// init of an mbarrier, not only what orders the two.
  bool strict = false;
  /// Accesses to memory that no allocation covers are errors; else only to red zones.
  bool strictBounds = false;
  size_t limit = 100; // places that are described
  ReportFormat format = ReportFormat::text;
  std::string path; // of the report; empty: stderr
  // For whoever launches: the checks need no particular order.
  machine::Completion completion = machine::Completion::eager;
  uint64_t seed = 0;

  bool any() const { return races || uninit || bounds || barriers; }

  /// "races,uninit,bounds,barriers", "all" or "off"; "strict" beside them.
  ///  - checkOption: a word is not known.
  static Result<Options> parse(std::string_view checks);
  /// "eager", "latest" or "seed:7".
  ///  - checkOption: it is none of them.
  Status setOrder(std::string_view order);
  /// TILEWRIGHT_VGPU_CHECK, _REPORT (a path) and _REPORT_FORMAT (text, json, sarif;
  /// else by the path's ending), _CHECK_LIMIT.
  ///  - checkOption: a variable has a value that is not known.
  static Result<Options> fromEnvironment();
};

/// Watches launches and keeps what it finds.
///
///   check::Checker checker(*check::Options::parse("all"));
///   LaunchConfig config{.block = {256, 1, 1}, .observer = &checker};
///   TILEWRIGHT_TRY(launch(*module, "scale", config, arguments));
///   if (!checker.report().isEmpty())
///     std::fputs(checker.report().text().c_str(), stderr);
///
/// Launches that follow each other are ordered; accesses of one are not compared
/// with those of another. Thread-safe; outlives the launches.
class Checker final : public machine::Observer {
public:
  explicit Checker(const Options &options);
  ~Checker() override;

  const Options &options() const { return settings; }
  const Report &report() const { return found; }
  Report &report() { return found; }
  /// A driver tells here what it allocates, frees and copies.
  GlobalMemory &memory() { return global; }

  void launchBegin(const machine::Grid &grid) override;
  void launchEnd(const machine::Grid &grid) override;
  void groupBegin(const machine::Group &group) override;
  void groupEnd(const machine::Group &group) override;
  void access(const machine::MemoryEvent &event) override;
  machine::SharedReads *sharedReads(const machine::Block &block) override;
  void synchronise(const machine::SyncEvent &event) override;
  void touchInFlight(const machine::Warp &warp, const machine::Op *op, uint32_t mask, uint32_t slot,
                     machine::AsyncId operation) override;

private:
  LaunchState &launchOf(const machine::Grid &grid);
  GroupState &groupOf(const machine::Warp &warp);

  const Options settings;
  const uint64_t serial; // tells checkers apart that had the same address
  Report found;
  GlobalMemory global;
  std::mutex mutex;
  std::unordered_map<uint64_t, std::unique_ptr<LaunchState>> launches; // guarded, by id of the grid
  std::unordered_map<const machine::Group *, std::unique_ptr<GroupState>> groups; // guarded
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_CHECKER_H
