#include "tilewright/collective/plan/Verify.h"

#include "tilewright/collective/plan/Instances.h"
#include "tilewright/collective/plan/Uniform.h"
#include "tilewright/support/Concat.h"

#include <numeric>

namespace tilewright::collective {
namespace {

using Verdict = std::variant<Proof, Counterexample>;

/// Two choices of one rank's place at one time that exclude each other.
const Choice *findConflict(const CommPlan &plan, const Counterexample &found) {
  for (size_t i = 0; i < found.choices.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Choice &a = found.choices[i], &b = found.choices[j];
      if (plan.guards[a.guard].kind == Guard::Kind::branch && a.guard == b.guard &&
          a.turns == b.turns && a.place == b.place && a.arm != b.arm)
        return &a;
    }
  return nullptr;
}

/// Runs with all arms that the run could choose, one after the other. If that stands still only
/// because of arms that exclude each other, each of them alone.
class Cases {
public:
  Cases(const ProgramTree &tree, const std::vector<std::vector<PlanIndex>> &meetings,
        const VerifyOptions &options)
      : tree(tree), meetings(meetings), options(options) {}

  /// The verdict; a counterexample as a run would show it, with as few turns as it takes, if that
  /// is not too long.
  Result<Verdict> judge() {
    TILEWRIGHT_ASSIGN(Verdict verdict, run({}));
    if (std::holds_alternative<Proof>(verdict))
      return verdict;
    for (mostTurns = 1; *mostTurns < 1 << 10; mostTurns = *mostTurns * 2) {
      cases = 0;
      Result<Verdict> shown = run({});
      if (!shown.isOk())
        break;
      if (std::holds_alternative<Counterexample>(*shown))
        return shown;
    }
    return verdict;
  }

private:
  Result<Verdict> run(const std::vector<Choice> &fixed) {
    if (++cases > options.maxCases)
      return Status(
          Error::commUnproven,
          concat("more than ", options.maxCases,
                 " combinations of branches would have to be tried, because ranks come to "
                 "collectives from different places and branches between exclude each "
                 "other"));
    Unroller unroller(tree, meetings, fixed, mostTurns);
    Instances instances(tree, unroller);
    TILEWRIGHT_TRY(instances.run(options.maxEvents));
    if (instances.isOver())
      return Verdict(Proof{Proof::Method::instances, tree.coordinates.ranks(),
                           instances.instances(), instances.events(), instances.order()});
    Counterexample found = instances.standstill();
    found.choices.insert(found.choices.end(), fixed.begin(), fixed.end());
    const Choice *conflict = findConflict(tree.plan, found);
    if (!conflict)
      return Verdict(std::move(found));
    std::vector<Choice> narrower = fixed;
    narrower.push_back(*conflict);
    Proof last;
    for (uint32_t arm = 0; arm < tree.plan.guards[conflict->guard].arms; ++arm) {
      narrower.back().arm = arm;
      TILEWRIGHT_ASSIGN(Verdict verdict, run(narrower));
      if (std::holds_alternative<Counterexample>(verdict))
        return verdict;
      last = std::get<Proof>(std::move(verdict));
    }
    return Verdict(std::move(last));
  }

  const ProgramTree &tree;
  const std::vector<std::vector<PlanIndex>> &meetings;
  const VerifyOptions &options;
  std::optional<int64_t> mostTurns;
  int64_t cases = 0;
};

} // namespace

Result<Verdict> verify(const CommPlan &plan, const VerifyOptions &options) {
  const ProgramTree tree(plan);
  const std::vector<std::vector<PlanIndex>> meetings = meetingsOf(tree);
  if (std::optional<Counterexample> uneven = findUneven(tree, meetings)) {
    if (uneven->reason == Counterexample::Reason::varies)
      return Verdict(*std::move(uneven));
    // Somebody never comes; a run shows where it stops first. If that is too large, this is enough.
    Result<Verdict> shown = Cases(tree, meetings, options).judge();
    if (shown.isOk() && std::holds_alternative<Counterexample>(*shown))
      return shown;
    return Verdict(*std::move(uneven));
  }
  bool hasOnePlaceEach = true;
  for (const std::vector<PlanIndex> &sites : meetings)
    hasOnePlaceEach &= sites.size() == 1;
  if (hasOnePlaceEach && !options.runsInstances) {
    // Each rank comes to its exchanges in the order of the program, turn by turn, so the first of
    // all that is not complete has all its members there or on the way.
    Proof proof;
    proof.ranks = tree.coordinates.ranks();
    proof.order.resize(plan.sites.size());
    std::iota(proof.order.begin(), proof.order.end(), 0);
    return Verdict(std::move(proof));
  }
  return Cases(tree, meetings, options).judge();
}

} // namespace tilewright::collective
