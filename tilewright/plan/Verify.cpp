#include "tilewright/plan/Verify.h"

#include "tilewright/plan/Instances.h"
#include "tilewright/plan/Uniform.h"
#include "tilewright/support/Concat.h"

#include <numeric>

namespace tilewright::collective {
namespace {

using Verdict = std::variant<Proof, Counterexample>;

/// Finds two choices that contradict each other: the same branch, iteration and coordinates, but
/// different arms.
const Choice *findConflict(const CommPlan &plan, const Counterexample &found) {
  for (size_t i = 0; i < found.choices.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Choice &a = found.choices[i], &b = found.choices[j];
      if (plan.guards[a.guard].kind == Guard::Kind::branch && a.guard == b.guard &&
          a.iterations == b.iterations && a.place == b.place && a.arm != b.arm)
        return &a;
    }
  return nullptr;
}

/// Simulates all arms of run-time choices, one after the other. If this deadlocks only because of
/// mutually exclusive arms, simulates each of these arms separately.
class Cases {
public:
  Cases(const ProgramTree &tree, const std::vector<std::vector<PlanIndex>> &collectives,
        const VerifyOptions &options)
      : tree(tree), collectives(collectives), options(options) {}

  /// Decides whether the plan can deadlock. A counterexample is that of a real run with as few loop
  /// iterations as possible, unless finding one takes too long.
  Result<Verdict> judge() {
    TILEWRIGHT_ASSIGN(Verdict verdict, run({}));
    if (std::holds_alternative<Proof>(verdict))
      return verdict;
    for (maxIterations = 1; *maxIterations < 1 << 10; maxIterations = *maxIterations * 2) {
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
          concat("verification would have to simulate more than ", options.maxCases,
                 " combinations of branches, because ranks call the same collective at different "
                 "sites in mutually exclusive branches"));
    Unroller unroller(tree, collectives, fixed, maxIterations);
    Instances instances(tree, unroller);
    TILEWRIGHT_TRY(instances.run(options.maxEvents));
    if (instances.isOver())
      return Verdict(Proof{Proof::Method::instances, tree.coordinates.ranks(),
                           instances.instances(), instances.events(), instances.order()});
    Counterexample found = instances.findDeadlock();
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
  const std::vector<std::vector<PlanIndex>> &collectives;
  const VerifyOptions &options;
  std::optional<int64_t> maxIterations;
  int64_t cases = 0;
};

} // namespace

Result<Verdict> verify(const CommPlan &plan, const VerifyOptions &options) {
  const ProgramTree tree(plan);
  const std::vector<std::vector<PlanIndex>> collectives = sitesByCollective(tree);
  if (std::optional<Counterexample> uneven = findUneven(tree, collectives)) {
    if (uneven->reason == Counterexample::Reason::varies)
      return Verdict(*std::move(uneven));
    // A rank never reaches an exchange. A simulated run shows where ranks stop first; if the plan
    // is too large to simulate, return this counterexample.
    Result<Verdict> shown = Cases(tree, collectives, options).judge();
    if (shown.isOk() && std::holds_alternative<Counterexample>(*shown))
      return shown;
    return Verdict(*std::move(uneven));
  }
  bool hasOnePlaceEach = true;
  for (const std::vector<PlanIndex> &sites : collectives)
    hasOnePlaceEach &= sites.size() == 1;
  if (hasOnePlaceEach && !options.runsInstances) {
    // Each rank reaches its exchanges in program order, iteration by iteration. So all members of
    // the first incomplete exchange have reached it or will reach it.
    Proof proof;
    proof.ranks = tree.coordinates.ranks();
    proof.order.resize(plan.sites.size());
    std::iota(proof.order.begin(), proof.order.end(), 0);
    return Verdict(std::move(proof));
  }
  return Cases(tree, collectives, options).judge();
}

} // namespace tilewright::collective
