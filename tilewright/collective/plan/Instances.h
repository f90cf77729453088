// Instances: one run through of all ranks of a plan.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_INSTANCES_H
#define TILEWRIGHT_COLLECTIVE_PLAN_INSTANCES_H

#include "tilewright/collective/plan/ProgramTree.h"
#include "tilewright/collective/plan/Verify.h"

#include <map>
#include <optional>

namespace tilewright::collective {

/// What ranks of one kind do, loops and branches unrolled. Arms that only the run chooses all stand
/// here, one after the other: leaving out whole exchanges from a run that comes to its end leaves
/// one that does.
struct Unrolled {
  struct Event {
    PlanIndex site;
    uint32_t slot : 31; // where a rank keeps the exchange while it is under way
    uint32_t isDone : 1;
    uint32_t turns; // in Unroller::turns()
  };
  std::vector<Event> events;
  uint32_t slots = 0;
};

class Unroller {
public:
  /// `fixed` are branches of the run that are decided, at their turns. Loops are run as often as
  /// it takes to find out whether ranks stand still. With `mostTurns` they are run as a run could:
  /// as often as the plan says, if it does, and else at most so often.
  Unroller(const ProgramTree &tree, const std::vector<std::vector<PlanIndex>> &meetings,
           std::vector<Choice> fixed, std::optional<int64_t> mostTurns);

  /// What `rank` does, and the same object for ranks that do the same.
  ///  - commUnproven: more than `maxEvents`.
  Result<size_t> kindOf(int64_t rank, int64_t maxEvents);
  const std::vector<Unrolled> &kinds() const { return made; }
  const std::vector<uint32_t> &turns(uint32_t number) const { return allTurns[number]; }
  /// How often a loop is run through.
  int64_t turnsOf(PlanIndex loop) const { return loopTurns[loop]; }

private:
  void unroll(const std::vector<ProgramTree::Item> &items, int64_t rank, Unrolled &into);
  void unrollGuard(PlanIndex guard, int64_t rank, Unrolled &into);
  int64_t countEvents(const std::vector<ProgramTree::Item> &items, int64_t rank) const;
  void chooseTurns(const std::vector<std::vector<PlanIndex>> &meetings,
                   std::optional<int64_t> mostTurns);

  const ProgramTree &tree;
  const std::vector<Choice> fixed;
  std::vector<int64_t> loopTurns;  // by guard
  std::vector<PlanIndex> deciding; // guards by which ranks differ
  std::map<std::vector<uint32_t>, size_t> kindOfKey;
  std::vector<Unrolled> made;
  std::vector<std::vector<uint32_t>> allTurns;
  // while unrolling:
  std::vector<uint32_t> current;
  uint32_t currentNumber = 0;
  std::vector<uint32_t> freeSlots, slotOfSite;
};

/// Runs all ranks until nobody can go on.
class Instances {
public:
  Instances(const ProgramTree &tree, Unroller &unroller);

  /// - commUnproven: more than `maxEvents`.
  Status run(int64_t maxEvents);

  /// Everybody reached the end.
  bool isOver() const { return unfinished == 0; }
  int64_t instances() const { return static_cast<int64_t>(states.size()); }
  int64_t events() const { return passed; }
  /// The sites in the order of their first completion; those of nobody last.
  std::vector<PlanIndex> order() const;

  /// Where it stands still: the fewest ranks that wait for each other, or one that waits for
  /// somebody who never comes. Choices that exclude each other may be among those it depends on.
  Counterexample standstill() const;

private:
  struct Group {
    uint32_t first; // of `members`
    uint32_t size;
    PlanIndex clique; // the first that has it: where ranks count
    uint32_t base;    // its first instance
    uint32_t count;   // of instances
  };
  struct State {
    uint32_t arrived = 0; // members that have it at the head of its lane
    uint32_t meeting = 0;
    uint32_t group = 0;
    bool isIssued = false, isMixed = false, isComplete = false;
  };
  /// An exchange that a rank has issued and that has not left its lane.
  struct Issue {
    uint32_t rank, slot, head; // the instance at the head of the lane
  };
  static constexpr uint32_t nobody = ~uint32_t(0);

  std::vector<uint32_t> makeGroups();
  Status prepare(int64_t maxEvents);
  void advance(uint32_t rank);
  void issue(uint32_t *block, const Unrolled::Event &event, const Group &group);
  void arrive(uint32_t instance);
  void complete(uint32_t instance);
  const Group &groupAt(uint32_t instance) const { return groups[states[instance].group]; }
  std::vector<std::pair<uint32_t, Issue>> issues() const;
  PlanIndex siteOf(const Issue &issue) const;
  Wait waitOf(const Issue &issue, int64_t forRank) const;
  void addChoices(Counterexample &result, const Issue &issue) const;
  std::optional<Counterexample> findMixed(const std::vector<std::pair<uint32_t, Issue>> &all) const;
  std::optional<Counterexample>
  findMissed(const std::vector<std::pair<uint32_t, Issue>> &all) const;
  Counterexample findCircle(const std::vector<std::pair<uint32_t, Issue>> &all) const;

  /// What one rank has, in one place of memory: a run goes from rank to rank all the time.
  uint32_t *blockOf(uint32_t rank) { return blocks.data() + rank * stride; }
  const uint32_t *blockOf(uint32_t rank) const { return blocks.data() + rank * stride; }
  enum Field : size_t { at, waitsFor, kind, heads }; // heads of lanes, then the rest
  size_t tails() const { return heads + lanes; }
  size_t slotAt(uint32_t slot) const { return heads + 2 * lanes + slot * slotFields; }
  size_t issuedIn(PlanIndex clique) const { return slotAt(0) + slotCount * slotFields + clique; }
  size_t groupIn(PlanIndex clique) const { return issuedIn(0) + cliques + clique; }
  enum SlotField : size_t { instance, next, event, slotFields };
  const Unrolled &programOf(uint32_t rank) const { return unroller.kinds()[blockOf(rank)[kind]]; }

  const ProgramTree &tree;
  Unroller &unroller;
  const size_t ranks, cliques;
  size_t lanes = 1, slotCount = 1, stride = 0;
  std::vector<uint32_t> blocks;
  struct Place { // what is needed of a site
    PlanIndex clique;
    uint32_t meeting, lane;
  };
  std::vector<Place> places; // by site
  std::vector<Group> groups;
  std::vector<uint32_t> members;
  std::vector<State> states;             // by instance
  std::vector<uint32_t> ready, arriving; // ranks; instances
  std::vector<uint32_t> firstDone;       // by site: which completion was its first
  uint32_t completions = 0;
  size_t unfinished = 0;
  int64_t passed = 0;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_INSTANCES_H
