#include "tilewright/collective/plan/Agree.h"

#include "tilewright/collective/plan/PlanBytes.h"
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
    // The word of the first who has something to say: oneself, then those below.
    for (int64_t below : {2 * self.process + 1, 2 * self.process + 2})
      if (below < self.processes)
        TILEWRIGHT_TRY(hear(below, word));
    const std::string mine = word.empty() ? std::string(agreed) : word;
    TILEWRIGHT_TRY(store.put(key(self.process == 0 ? "verdict" : saidBy(self.process)), mine));
    Result<std::string> verdict = store.get(key("verdict"), deadline);
    if (!verdict.isOk())
      return Status(Error::keyValueMissing,
                    concat("process ", self.process, " of ", self.processes,
                           " waited for the verdict about the communication plan of '", self.load,
                           "', which process 0 gives when all others have come; look there for who "
                           "is late: ",
                           std::move(verdict).takeStatus().message()));
    return toStatus(*verdict);
  }

private:
  std::string key(std::string_view what) const {
    return concat("comm-plan/", self.load, "/", what);
  }
  static std::string saidBy(int64_t process) { return concat("said/", process); }

  /// Sets `word` if this process has another plan than process 0.
  Status compare(std::string &word) const {
    if (self.process == 0)
      return Status();
    Result<std::string> theirs = store.get(key("fingerprint"), deadline);
    if (!theirs.isOk())
      return Status(Error::keyValueMissing,
                    concat("process ", self.process, " of ", self.processes,
                           " waited for process 0 to publish the communication plan of '",
                           self.load, "': ", std::move(theirs).takeStatus().message()));
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

  /// Who is far from process 0 gives up earlier, so that its word about who is late arrives in
  /// time.
  Deadline patience() const {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline)
      return deadline;
    const auto slack = (deadline - now) / 4;
    const int depth = std::bit_width(static_cast<uint64_t>(self.process) + 1),
              deepest = std::bit_width(static_cast<uint64_t>(self.processes));
    return deadline - slack * depth / (deepest + 1);
  }

  Status hear(int64_t below, std::string &word) const {
    Result<std::string> said = store.get(key(saidBy(below)), patience());
    if (said.isOk()) {
      if (word.empty() && *said != agreed)
        word = *said;
      return Status();
    }
    // Told upwards too, so that process 0 can name who is late.
    if (word.empty())
      word = concat(missing, "process ", below, " of ", self.processes,
                    " did not come, and process ", self.process, " waited for it");
    return Status();
  }

  Status toStatus(const std::string &verdict) const {
    if (verdict == agreed)
      return Status();
    if (verdict.starts_with(missing))
      return Status(Error::keyValueMissing,
                    concat("the processes of '", self.load,
                           "' cannot compare their plans: ", verdict.substr(missing.size()),
                           "; look at that process's log, or give it more time"));
    return Status(Error::commPlanDiffers,
                  concat("the processes do not run the same program '", self.load,
                         "': ", verdict.substr(differs.size()),
                         "; start all with the same script, options and versions"));
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
