// Instances: simulates one run of all ranks of a plan.
#ifndef TILEWRIGHT_PLAN_INSTANCES_H
#define TILEWRIGHT_PLAN_INSTANCES_H

#include "tilewright/plan/ProgramTree.h"
#include "tilewright/plan/Verify.h"

#include <map>
#include <optional>

namespace tilewright::collective {

/// The program of one kind of rank, with loops and branches unrolled. It contains all arms of a
/// run-time choice, one after the other: if this program completes, so does every run that omits
/// whole exchanges.
struct Unrolled {
  struct Event {
    PlanIndex site;
    uint32_t slot : 31; // where a rank keeps the exchange while it is in progress
    uint32_t isDone : 1;
    uint32_t iterations; // index for Unroller::iterations()
  };
  std::vector<Event> events;
  uint32_t slots = 0;
};

class Unroller {
public:
  /// `fixed` are run-time branches whose arm is already chosen, each in one iteration of the
  /// enclosing loops. Loops are unrolled as often as necessary to find a deadlock. With
  /// `maxIterations` they are unrolled as in a real run: by their trip count if it is known,
  /// otherwise at most that often.
  Unroller(const ProgramTree &tree, const std::vector<std::vector<PlanIndex>> &collectives,
           std::vector<Choice> fixed, std::optional<int64_t> maxIterations);

  /// Index into kinds() of the program of `rank`; ranks with the same behaviour share one program.
  ///  - commUnproven (E6019): the program has more than `maxEvents` events.
  Result<size_t> kindOf(int64_t rank, int64_t maxEvents);
  const std::vector<Unrolled> &kinds() const { return made; }
  const std::vector<uint32_t> &iterations(uint32_t number) const { return allIterations[number]; }
  /// The number of iterations to which a loop is unrolled.
  int64_t iterationsOf(PlanIndex loop) const { return loopIterations[loop]; }

private:
  /// Limit on the events of all kinds together; bounds memory.
  static constexpr int64_t maxUnrolled = int64_t(1) << 24;

  void unroll(const std::vector<ProgramTree::Item> &items, int64_t rank, Unrolled &into);
  bool findEmpty(const std::vector<ProgramTree::Item> &items, int64_t rank);
  void unrollGuard(PlanIndex guard, int64_t rank, Unrolled &into);
  int64_t countEvents(const std::vector<ProgramTree::Item> &items, int64_t rank) const;
  void chooseIterations(const std::vector<std::vector<PlanIndex>> &collectives,
                        std::optional<int64_t> maxIterations);

  const ProgramTree &tree;
  const std::vector<Choice> fixed;
  std::vector<int64_t> loopIterations; // by guard
  std::vector<PlanIndex> deciding;     // guards at which ranks may differ
  std::map<std::vector<uint32_t>, size_t> kindOfKey;
  std::vector<Unrolled> made;
  std::vector<std::vector<uint32_t>> allIterations;
  int64_t unrolledEvents = 0;
  // while unrolling:
  std::vector<bool> isEmpty; // by guard
  std::vector<uint32_t> current;
  uint32_t currentNumber = 0;
  std::vector<uint32_t> freeSlots, slotOfSite;
};

/// Simulates all ranks until none can continue.
class Instances {
public:
  Instances(const ProgramTree &tree, Unroller &unroller);

  ///  - commUnproven (E6019): the ranks have more than `maxEvents` events.
  Status run(int64_t maxEvents);

  /// Whether all ranks completed their programs.
  bool isOver() const { return unfinished == 0; }
  int64_t instances() const { return static_cast<int64_t>(states.size()); }
  int64_t events() const { return passed; }
  /// The sites, ordered by their first completion; sites that never complete come last.
  std::vector<PlanIndex> order() const;

  /// Explains the deadlock by the fewest ranks that wait for each other, or by one rank that waits
  /// for a rank that never joins. The choices in the result may contradict each other.
  Counterexample findDeadlock() const;

private:
  struct Group {
    uint32_t first; // index into `members`
    uint32_t size;
    PlanIndex clique; // the first clique that has this group; ranks count their issues there
    uint32_t base;    // index of its first instance
    uint32_t count;   // number of instances
  };
  struct State {
    uint32_t arrived = 0; // members that have it at the head of its lane
    uint32_t collectiveId = 0;
    uint32_t group = 0;
    bool isIssued = false, isMixed = false, isComplete = false;
  };
  /// An exchange that a rank has issued and that is still in its lane.
  struct Issue {
    uint32_t rank, slot, head; // the instance at the head of the lane
  };
  static constexpr uint32_t none = ~uint32_t(0);

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
  Counterexample findCycle(const std::vector<std::pair<uint32_t, Issue>> &all) const;

  /// All state of one rank is in one contiguous block, because the simulation switches ranks often.
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
  struct SiteFields { // the fields of a site that are needed here
    PlanIndex clique;
    uint32_t collectiveId, lane;
  };
  std::vector<SiteFields> siteFields; // by site
  std::vector<Group> groups;
  std::vector<uint32_t> members;
  std::vector<State> states;             // by instance
  std::vector<uint32_t> ready, arriving; // ranks; instances
  std::vector<uint32_t> firstDone;       // by site: number of its first completion
  uint32_t completions = 0;
  size_t unfinished = 0;
  int64_t passed = 0;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_INSTANCES_H
