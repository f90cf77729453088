// Proofs and counterexamples in words.
#include "tilewright/collective/plan/ProgramTree.h"
#include "tilewright/collective/plan/Verify.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective {
namespace {

std::string nounOf(const Guard &guard) {
  return concat(guard.kind == Guard::Kind::loop ? "loop" : "branch",
                guard.location.empty() ? "" : concat(" at ", guard.location));
}

std::string turnsText(const std::vector<uint32_t> &turns) {
  if (turns.empty() || std::all_of(turns.begin(), turns.end(), [](uint32_t t) { return t == 0; }))
    return "";
  std::vector<uint32_t> counted = turns;
  for (uint32_t &turn : counted)
    ++turn;
  return concat(" (turn ", listed(counted), ")");
}

/// "x=1, y=0": where on these axes.
std::string placeText(const RankMesh &mesh, AxisSet axes, uint32_t place) {
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
  std::string text = concat("the ", nounOf(guard), turnsText(choice.turns));
  text += guard.kind == Guard::Kind::loop
              ? concat(" turns ", choice.arm, choice.arm == 1 ? " time" : " times")
              : concat(" takes arm ", choice.arm);
  text += guard.varies == 0 ? " on all ranks"
                            : concat(" where ", placeText(plan.mesh, guard.varies, choice.place));
  return text;
}

std::string waitText(const CommPlan &plan, const Wait &wait) {
  return concat("rank ", wait.rank, " waits in ", describe(plan, plan.sites[wait.site]),
                turnsText(wait.turns), " for rank ", wait.forRank);
}

/// The branch on the way to a site at which two ranks part, if the rank alone decides it.
std::string partingText(const CommPlan &plan, const Wait &wait) {
  const ProgramTree tree(plan);
  for (const auto &[guard, arm] : tree.pathOf(plan.sites[wait.site]))
    if (!tree.takes(wait.forRank, guard, arm))
      return concat(", which takes another arm of the ", nounOf(plan.guards[guard]));
  return ", which comes to its end without it";
}

std::string guardText(const CommPlan &plan, const Guard &guard) {
  std::string text = nounOf(guard);
  if (guard.kind == Guard::Kind::loop)
    return concat(text, guard.tripCount >= 0 ? concat(", ", guard.tripCount, " turns")
                        : guard.varies == 0
                            ? std::string(", as often on all ranks")
                            : concat(", may differ along ", nameOf(plan.mesh, guard.varies)));
  text += concat(", ", guard.arms, guard.arms == 1 ? " arm, " : " arms, ");
  if (!guard.choices.empty())
    return text + concat("decided by the place along ", nameOf(plan.mesh, guard.varies));
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
    text = concat(waitText(plan, first), ", which does not come, because the ", nounOf(guard),
                  " around it may choose differently along ", nameOf(plan.mesh, guard.varies));
    break;
  }
  case Counterexample::Reason::missed:
    text = waitText(plan, first) + partingText(plan, first);
    break;
  case Counterexample::Reason::differs:
    text = concat("ranks ", first.rank, " and ", found.waits[1].rank,
                  " come to the same exchange of their group with different collectives: rank ",
                  first.rank, " with ", describe(plan, plan.sites[first.site]),
                  turnsText(first.turns), ", rank ", found.waits[1].rank, " with ",
                  describe(plan, plan.sites[found.waits[1].site]), turnsText(found.waits[1].turns));
    break;
  case Counterexample::Reason::cycle:
    text = concat(found.waits.size(), " ranks wait for each other in a circle");
    for (const Wait &wait : found.waits)
      text += concat("\n  ", waitText(plan, wait));
    break;
  }
  const bool isLong = found.choices.size() > 12;
  for (size_t i = 0; i < found.choices.size() && i < 12; ++i)
    text += concat(i == 0 ? "\n  when " : "\n   and ", choiceText(plan, found.choices[i]));
  if (isLong)
    text += concat("\n   and ", found.choices.size() - 12, " choices more");
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
          ? "proven    every exchange has one place, which all its ranks pass, and every choice "
            "around it is the same within its clique: the order of the program is the order of "
            "all ranks\n"
          : concat("proven    all ranks come to their end: ", proof.instances, " exchanges, ",
                   proof.events, " starts and waits run through\n");
  return text;
}

Status toStatus(const CommPlan &plan, const Counterexample &found) {
  switch (found.reason) {
  case Counterexample::Reason::varies:
    return Status(
        Error::controlVaries,
        concat(describe(plan, found),
               "\n  note: reduce the condition over the clique first (psum, pmax), or move "
               "the collective out of it"));
  case Counterexample::Reason::missed:
    return Status(Error::collectiveMissed,
                  concat(describe(plan, found),
                         "\n  note: all ranks of a clique have to call it, those without data with "
                         "zeros"));
  case Counterexample::Reason::differs:
    return Status(
        Error::collectiveOrder,
        concat(describe(plan, found), "\n  note: call them in the same order in every branch"));
  case Counterexample::Reason::cycle:
    break;
  }
  return Status(Error::collectiveCycle,
                concat(describe(plan, found),
                       "\n  note: one order of all collectives, the same on every rank, has no "
                       "circle"));
}

} // namespace tilewright::collective
