#include "tilewright/collective/Agree.h"

#include "tilewright/plan/PlanBytes.h"
#include "tilewright/support/Concat.h"

#include <bit>

namespace tilewright::collective {
namespace {

constexpr std::string_view agreed = "agreed", differs = "differs: ", missing = "missing: ";

class Agreement {
public:
  Agreement(const CommPlan &plan, const Participant &self, KeyValueStore &store, Deadline deadline)
      : plan(plan), self(self), store(store), deadline(deadline) {}

  Status run() {
    const std::vector<std::byte> bytes = writePlan(plan);
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    fingerprint = tilewright::fingerprintOf(std::span<const std::byte>(bytes));
    if (self.process == 0) {
      TILEWRIGHT_TRY(store.put(key("plan"), text));
      TILEWRIGHT_TRY(store.put(key("fingerprint"), toString(fingerprint)));
    }
    std::string word;
    TILEWRIGHT_TRY(compare(word));
    // Report the first problem found: this process's own if it has one, otherwise that of a child.
    for (int64_t below : {2 * self.process + 1, 2 * self.process + 2})
      if (below < self.processes)
        TILEWRIGHT_TRY(hear(below, word));
    const std::string mine = word.empty() ? std::string(agreed) : word;
    TILEWRIGHT_TRY(store.put(key(self.process == 0 ? "verdict" : saidBy(self.process)), mine));
    Result<std::string> verdict = store.get(key("verdict"), deadline);
    if (!verdict.isOk())
      return Status(
          Error::keyValueMissing,
          concat("process ", self.process, " of ", self.processes,
                 " timed out waiting for process 0 to compare the communication plans of '",
                 self.load, "'; the log of process 0 names the process that is late: ",
                 std::move(verdict).takeStatus().message()));
    return toStatus(*verdict);
  }

private:
  std::string key(std::string_view what) const {
    return concat("comm-plan/", self.load, "/", what);
  }
  static std::string saidBy(int64_t process) { return concat("said/", process); }

  /// Sets `word` to a description if this process's plan differs from that of process 0.
  Status compare(std::string &word) const {
    if (self.process == 0)
      return Status();
    Result<std::string> theirs = store.get(key("fingerprint"), deadline);
    if (!theirs.isOk())
      return Status(Error::keyValueMissing,
                    concat("process ", self.process, " of ", self.processes,
                           " did not receive the communication plan of '", self.load,
                           "' from process 0: ", std::move(theirs).takeStatus().message()));
    if (*theirs == toString(fingerprint))
      return Status();
    TILEWRIGHT_ASSIGN(std::string bytes, store.get(key("plan"), deadline));
    Result<CommPlan> other = readPlan(std::as_bytes(std::span(bytes)));
    const std::string me = concat("process ", self.process);
    word = concat(differs, me, " has plan ", toString(fingerprint), " and process 0 has ", *theirs,
                  "; ",
                  other.isOk() ? firstDifference(plan, *other, me, "process 0")
                               : std::move(other).takeStatus().message());
    return Status();
  }

  /// Processes deeper in the tree time out earlier, so that their report of a missing process
  /// reaches process 0 in time.
  Deadline staggeredDeadline() const {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline)
      return deadline;
    const auto slack = (deadline - now) / 4;
    const int depth = std::bit_width(static_cast<uint64_t>(self.process) + 1),
              deepest = std::bit_width(static_cast<uint64_t>(self.processes));
    return deadline - slack * depth / (deepest + 1);
  }

  Status hear(int64_t below, std::string &word) const {
    Result<std::string> said = store.get(key(saidBy(below)), staggeredDeadline());
    if (said.isOk()) {
      if (word.empty() && *said != agreed)
        word = *said;
      return Status();
    }
    // Pass this on to the parent, so that process 0 can name the missing process.
    if (word.empty())
      word = concat(missing, "process ", self.process, " timed out waiting for process ", below,
                    " of ", self.processes);
    return Status();
  }

  Status toStatus(const std::string &verdict) const {
    if (verdict == agreed)
      return Status();
    if (verdict.starts_with(missing))
      return Status(Error::keyValueMissing,
                    concat("the processes of '", self.load,
                           "' cannot compare their plans: ", verdict.substr(missing.size()),
                           "; check the log of that process, or raise the timeout"));
    return Status(Error::commPlanDiffers,
                  concat("the processes do not run the same program '", self.load,
                         "': ", verdict.substr(differs.size()),
                         "; start all processes with the same script, options and versions"));
  }

  const CommPlan &plan;
  const Participant &self;
  KeyValueStore &store;
  const Deadline deadline;
  Fingerprint fingerprint = {};
};

} // namespace

Status agree(const CommPlan &plan, const Participant &self, KeyValueStore &store,
             Deadline deadline) {
  return Agreement(plan, self, store, deadline).run();
}

} // namespace tilewright::collective
