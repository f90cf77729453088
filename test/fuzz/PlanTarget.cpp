#include "test/fuzz/PlanTarget.h"

#include "tilewright/plan/PlanBytes.h"
#include "tilewright/plan/Verify.h"
#include "tilewright/plan/testing/RandomPlan.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace tilewright::fuzz {

using namespace collective;

static void require(bool holds, const char *what, const std::string &detail = {}) {
  if (holds)
    return;
  std::fprintf(stderr, "the reader of plans broke its word: %s %s\n", what, detail.c_str());
  std::abort();
}

static std::string textOf(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// For every plan there must be a verdict with an explanation, or the plan is too large.
static void checkProof(const CommPlan &plan) {
  VerifyOptions options;
  options.maxEvents = 1 << 14;
  options.maxCases = 8;
  auto verdict = verify(plan, options);
  if (!verdict.isOk()) {
    require(std::move(verdict).takeStatus().error() == Error::commUnproven,
            "a proof fails with another error");
    return;
  }
  if (const auto *found = std::get_if<Counterexample>(&*verdict)) {
    require(!found->waits.empty(), "nobody waits in a counterexample");
    require(!toStatus(plan, *found).message().empty(), "a counterexample has no words");
  } else {
    require(!describe(plan, std::get<Proof>(*verdict)).empty(), "a proof has no words");
  }
  options.runsInstances = true;
  auto again = verify(plan, options);
  if (again.isOk())
    require(again->index() == verdict->index(), "two ways to prove disagree");
}

bool checkPlanBytes(std::string_view bytes) {
  const std::clock_t begin = std::clock();
  Result<CommPlan> plan = readPlan(std::as_bytes(std::span(bytes)));
  const bool isRead = plan.isOk();
  if (isRead) {
    require(checkPlan(*plan).isOk(), "what was read breaks a rule");
    require(textOf(writePlan(*plan)) == bytes, "what was read is written differently");
    require(firstDifference(*plan, *plan, "a", "b").empty(), "a plan differs from itself");
    // Where choices depend on the rank, a proof visits all ranks; so many ranks are for a
    // benchmark.
    if (plan->mesh.size() <= 1024)
      checkProof(*plan);
  } else {
    const Status status = std::move(plan).takeStatus();
    require(status.error() == Error::commPlanEncoding || status.error() == Error::commPlanInvalid,
            "a failure has another error", status.toString());
  }
  require(std::clock() - begin < 2 * CLOCKS_PER_SEC, "an input takes more than two seconds");
  return isRead;
}

namespace {

/// Numbers that often break readers and provers.
int64_t number(Random &random) {
  constexpr int64_t known[] = {0,
                               1,
                               2,
                               3,
                               7,
                               8,
                               -1,
                               -2,
                               64,
                               255,
                               256,
                               65536,
                               int64_t(1) << 24,
                               int64_t(1) << 40,
                               INT64_MAX,
                               INT64_MIN};
  return known[random.below(std::size(known))];
}

void change(CommPlan &plan, Random &random) {
  auto any = [&](auto &list) -> auto & { return list[random.below(list.size())]; };
  const auto value = number(random);
  switch (random.below(12)) {
  case 0:
    if (!plan.mesh.axes.empty())
      any(plan.mesh.axes).size = static_cast<int64_t>(random.below(5));
    break;
  case 1:
    if (!plan.cliques.empty())
      any(plan.cliques).axes = {static_cast<uint8_t>(random.below(3))};
    break;
  case 2:
    if (!plan.cliques.empty() && !any(plan.cliques).lists.empty())
      for (CliqueSpec &clique : plan.cliques)
        if (!clique.lists.empty() && !clique.lists[0].empty())
          clique.lists[0][0] = value;
    break;
  case 3:
    if (!plan.guards.empty())
      any(plan.guards).tripCount = value;
    break;
  case 4:
    if (!plan.guards.empty())
      any(plan.guards).varies = static_cast<AxisSet>(random.below(8));
    break;
  case 5:
    if (!plan.guards.empty())
      any(plan.guards).arms = static_cast<uint32_t>(value);
    break;
  case 6:
    if (!plan.guards.empty())
      any(plan.guards).parent = static_cast<PlanIndex>(value);
    break;
  case 7:
    if (!plan.sites.empty())
      any(plan.sites).collectiveId = static_cast<uint32_t>(random.below(8));
    break;
  case 8:
    if (!plan.sites.empty())
      any(plan.sites).clique = static_cast<PlanIndex>(random.below(4));
    break;
  case 9:
    if (!plan.sites.empty())
      any(plan.sites).lane = static_cast<uint8_t>(value);
    break;
  case 10:
    if (!plan.sites.empty())
      std::swap(any(plan.sites).done, any(plan.sites).done);
    break;
  case 11:
    if (!plan.guards.empty() && !any(plan.guards).choices.empty())
      for (Guard &guard : plan.guards)
        if (!guard.choices.empty())
          any(guard.choices) = static_cast<uint32_t>(random.below(3));
    break;
  }
}

} // namespace

std::string mutatePlan(std::string_view bytes, Random &random) {
  Result<CommPlan> plan = readPlan(std::as_bytes(std::span(bytes)));
  if (plan.isOk() && random.below(3) > 0) {
    for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
      change(*plan, random);
    return textOf(writePlan(*plan));
  }
  std::string changed(bytes);
  for (uint64_t changes = 1 + random.below(4); changes > 0 && !changed.empty(); --changes)
    changed[random.below(changed.size())] = static_cast<char>(random.below(256));
  return changed;
}

std::string seedPlan(uint64_t seed) { return textOf(writePlan(randomPlan(seed))); }

} // namespace tilewright::fuzz
