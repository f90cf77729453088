// Describes proofs and counterexamples as text.
#include "tilewright/plan/ProgramTree.h"
#include "tilewright/plan/Verify.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective {
namespace {

std::string nounOf(const Guard &guard) {
  return concat(guard.kind == Guard::Kind::loop ? "loop" : "branch",
                guard.location.empty() ? "" : concat(" at ", guard.location));
}

std::string iterationsText(const std::vector<uint32_t> &iterations) {
  if (iterations.empty() ||
      std::all_of(iterations.begin(), iterations.end(), [](uint32_t t) { return t == 0; }))
    return "";
  std::vector<uint32_t> counted = iterations;
  for (uint32_t &iteration : counted)
    ++iteration;
  return concat(" (iteration ", listed(counted), ")");
}

/// The coordinates along these axes: "x=1, y=0".
std::string placeText(const Mesh &mesh, AxisSet axes, uint32_t place) {
  std::vector<std::string> parts;
  for (size_t i = mesh.axes.size(); i-- > 0;)
    if (axes >> i & 1) {
      const auto size = static_cast<uint32_t>(mesh.axes[i].size);
      parts.push_back(concat(mesh.axes[i].name, "=", place % size));
      place /= size;
    }
  std::string text;
  for (size_t i = parts.size(); i-- > 0;)
    text += concat(text.empty() ? "" : ", ", parts[i]);
  return text;
}

std::string choiceText(const CommPlan &plan, const Choice &choice) {
  const Guard &guard = plan.guards[choice.guard];
  std::string text = concat("the ", nounOf(guard), iterationsText(choice.iterations));
  text += guard.kind == Guard::Kind::loop
              ? concat(" runs ", choice.arm, choice.arm == 1 ? " time" : " times")
              : concat(" takes arm ", choice.arm);
  text += guard.varies == 0 ? " on all ranks"
                            : concat(" where ", placeText(plan.mesh, guard.varies, choice.place));
  return text;
}

std::string waitText(const CommPlan &plan, const Wait &wait) {
  return concat("rank ", wait.rank, " waits in ", describe(plan, plan.sites[wait.site]),
                iterationsText(wait.iterations), " for rank ", wait.forRank);
}

/// Names the rank-dependent branch around the site at which the awaited rank takes another arm.
std::string partingText(const CommPlan &plan, const Wait &wait) {
  const ProgramTree tree(plan);
  for (const auto &[guard, arm] : tree.pathOf(plan.sites[wait.site]))
    if (!tree.takes(wait.forRank, guard, arm))
      return concat(", which takes another arm of the ", nounOf(plan.guards[guard]));
  return ", which finishes without it";
}

std::string guardText(const CommPlan &plan, const Guard &guard) {
  std::string text = nounOf(guard);
  if (guard.kind == Guard::Kind::loop)
    return concat(text, guard.tripCount >= 0 ? concat(", ", guard.tripCount, " iterations")
                        : guard.varies == 0
                            ? std::string(", same trip count on all ranks")
                            : concat(", may differ along ", nameOf(plan.mesh, guard.varies)));
  text += concat(", ", guard.arms, guard.arms == 1 ? " arm, " : " arms, ");
  if (!guard.choices.empty())
    return text + concat("decided by the coordinate along ", nameOf(plan.mesh, guard.varies));
  return text + (guard.varies == 0 ? "the same on all ranks"
                                   : concat("may differ along ", nameOf(plan.mesh, guard.varies)));
}

} // namespace

std::string describe(const CommPlan &plan, const Counterexample &found) {
  std::string text;
  const Wait &first = found.waits.front();
  switch (found.reason) {
  case Counterexample::Reason::varies: {
    const Guard &guard = plan.guards[found.choices.back().guard];
    text = concat(waitText(plan, first), ", which may never join, because the ", nounOf(guard),
                  " around it may choose differently along ", nameOf(plan.mesh, guard.varies));
    break;
  }
  case Counterexample::Reason::missed:
    text = waitText(plan, first) + partingText(plan, first);
    break;
  case Counterexample::Reason::differs:
    text = concat(
        "ranks ", first.rank, " and ", found.waits[1].rank,
        " issue different collectives at the same point of their clique's sequence: rank ",
        first.rank, " issues ", describe(plan, plan.sites[first.site]),
        iterationsText(first.iterations), ", rank ", found.waits[1].rank, " issues ",
        describe(plan, plan.sites[found.waits[1].site]), iterationsText(found.waits[1].iterations));
    break;
  case Counterexample::Reason::cycle:
    text = concat(found.waits.size(), " ranks wait for each other in a cycle");
    for (const Wait &wait : found.waits)
      text += concat("\n  ", waitText(plan, wait));
    break;
  }
  const bool isLong = found.choices.size() > 12;
  for (size_t i = 0; i < found.choices.size() && i < 12; ++i)
    text += concat(i == 0 ? "\n  when " : "\n   and ", choiceText(plan, found.choices[i]));
  if (isLong)
    text += concat("\n   and ", found.choices.size() - 12, " more choices");
  return text;
}

std::string describe(const CommPlan &plan, const Proof &proof) {
  std::string text = concat("mesh      ", describe(plan.mesh), " (", proof.ranks,
                            proof.ranks == 1 ? " rank)\n" : " ranks)\n");
  for (size_t i = 0; i < plan.cliques.size(); ++i) {
    const auto sites = std::count_if(plan.sites.begin(), plan.sites.end(),
                                     [&](const Site &site) { return site.clique == i; });
    text += concat("clique ", i, "  ", describe(plan.mesh, plan.cliques[i]), ", ", sites,
                   sites == 1 ? " site\n" : " sites\n");
  }
  for (size_t i = 0; i < plan.guards.size(); ++i)
    text += concat("guard ", i, "   ", guardText(plan, plan.guards[i]), "\n");
  text += "order\n";
  for (size_t i = 0; i < proof.order.size(); ++i) {
    const Site &site = plan.sites[proof.order[i]];
    text += concat("  ", i, "  ", describe(plan, site), ", lane ", int(site.lane), ", steps ",
                   site.start, " to ", site.done);
    for (PlanIndex guard = site.guard; guard != nothing; guard = plan.guards[guard].parent)
      text += concat(guard == site.guard ? ", in guard " : " in ", guard);
    text += "\n";
  }
  text +=
      proof.method == Proof::Method::programOrder
          ? "proven    each collective has a single site, which all its ranks reach, and all ranks "
            "of a clique take the same branches around it, so all ranks follow program order\n"
          : concat("proven    all ranks finish: ", proof.instances, " exchanges, ", proof.events,
                   " starts and waits simulated\n");
  return text;
}

Status toStatus(const CommPlan &plan, const Counterexample &found) {
  switch (found.reason) {
  case Counterexample::Reason::varies:
    return Status(
        Error::controlVaries,
        concat(describe(plan, found),
               "\n  note: reduce the condition over the clique first (psum, pmax), or move the "
               "collective out of the branch or loop"));
  case Counterexample::Reason::missed:
    return Status(Error::collectiveMissed,
                  concat(describe(plan, found), "\n  note: all ranks of a clique must call the "
                                                "collective; ranks without data can pass zeros"));
  case Counterexample::Reason::differs:
    return Status(Error::collectiveOrder,
                  concat(describe(plan, found),
                         "\n  note: call the collectives in the same order in every branch"));
  case Counterexample::Reason::cycle:
    break;
  }
  return Status(
      Error::collectiveCycle,
      concat(describe(plan, found),
             "\n  note: call all collectives in the same order on every rank to avoid the cycle"));
}

} // namespace tilewright::collective
