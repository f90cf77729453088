#include "tilewright/plan/testing/ExhaustiveRun.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <set>

namespace tilewright::collective {
namespace {

/// One step of a rank: it issues an exchange, or waits for one.
struct Action {
  bool isWait;
  PlanIndex site;
  std::vector<uint32_t> iterations;
  uint32_t exchange; // filled in by Explorer
};
using RankProgram = std::vector<Action>;
/// Makes a run-time choice: the number of iterations of a loop, or the arm of a branch.
using Decide = std::function<uint32_t(PlanIndex guard, const std::vector<uint32_t> &iterations,
                                      const std::vector<int64_t> &place)>;

/// A rank's coordinates on every axis.
std::vector<int64_t> placeOf(const Mesh &mesh, int64_t rank) {
  int64_t index = rank;
  if (!mesh.order.empty())
    index = std::find(mesh.order.begin(), mesh.order.end(), rank) - mesh.order.begin();
  std::vector<int64_t> place(mesh.axes.size());
  for (size_t i = place.size(); i-- > 0;) {
    place[i] = index % mesh.axes[i].size;
    index /= mesh.axes[i].size;
  }
  return place;
}

/// Keeps the coordinates on these axes, and replaces all others by -1.
std::vector<int64_t> onAxes(std::vector<int64_t> place, AxisSet axes) {
  for (size_t i = 0; i < place.size(); ++i)
    if (!(axes >> i & 1))
      place[i] = -1;
  return place;
}

/// Lists the actions of one rank, given all run-time choices.
class Writer {
public:
  Writer(const CommPlan &plan, int64_t rank, const Decide &decide)
      : plan(plan), rank(rank), place(placeOf(plan.mesh, rank)), decide(decide) {}

  RankProgram write() {
    arm(nothing, 0);
    return std::move(program);
  }

private:
  void arm(PlanIndex guard, uint32_t number) {
    // The items of this arm by position, each with its type and index.
    std::map<uint32_t, std::pair<char, PlanIndex>> things;
    for (PlanIndex i = 0; i < plan.sites.size(); ++i)
      if (const Site &site = plan.sites[i]; site.guard == guard && site.arm == number) {
        things[site.start] = {'s', i};
        things[site.done] = {'w', i};
      }
    for (PlanIndex i = 0; i < plan.guards.size(); ++i)
      if (plan.guards[i].parent == guard && plan.guards[i].arm == number)
        things[plan.guards[i].position] = {'g', i};
    for (const auto &[position, thing] : things)
      if (thing.first == 'g')
        enter(thing.second);
      else
        act(thing.first == 'w', thing.second);
  }

  bool isMember(const CliqueSpec &clique) const {
    if (clique.form == CliqueSpec::Form::axes)
      return true;
    for (const std::vector<int64_t> &list : clique.lists)
      if (std::find(list.begin(), list.end(), rank) != list.end())
        return true;
    return false;
  }

  void act(bool isWait, PlanIndex site) {
    if (isMember(plan.cliques[plan.sites[site].clique]))
      program.push_back({isWait, site, iterations, 0});
  }

  void enter(PlanIndex number) {
    const Guard &guard = plan.guards[number];
    if (guard.kind == Guard::Kind::branch) {
      uint32_t choice = 0;
      if (!guard.choices.empty()) {
        size_t index = 0;
        for (size_t i = 0; i < place.size(); ++i)
          if (guard.varies >> i & 1)
            index =
                index * static_cast<size_t>(plan.mesh.axes[i].size) + static_cast<size_t>(place[i]);
        choice = guard.choices[index];
      } else if (guard.arms > 1) {
        choice = decide(number, iterations, onAxes(place, guard.varies));
      }
      arm(number, choice);
      return;
    }
    const bool counts = guard.tripCount >= 0;
    const uint32_t rounds = counts ? static_cast<uint32_t>(guard.tripCount)
                                   : decide(number, iterations, onAxes(place, guard.varies));
    iterations.push_back(0);
    for (uint32_t round = 0; round < rounds; ++round) {
      iterations.back() = round;
      if (!counts)
        arm(number, 0);
      arm(number, 1);
    }
    iterations.back() = rounds;
    if (!counts)
      arm(number, 0);
    iterations.pop_back();
  }

  const CommPlan &plan;
  const int64_t rank;
  const std::vector<int64_t> place;
  const Decide &decide;
  std::vector<uint32_t> iterations;
  RankProgram program;
};

/// Explores every interleaving of the programs of all ranks.
class Explorer {
public:
  Explorer(const CommPlan &plan, std::vector<RankProgram> all)
      : plan(plan), programs(std::move(all)) {
    std::map<std::pair<std::vector<int64_t>, size_t>, uint32_t> known;
    for (size_t rank = 0; rank < programs.size(); ++rank) {
      std::map<std::vector<int64_t>, size_t> issuedIn;
      std::map<PlanIndex, uint32_t> open;
      std::map<uint8_t, uint64_t> lanes; // the exchanges issued into each lane so far
      for (size_t at = 0; at < programs[rank].size(); ++at) {
        Action &action = programs[rank][at];
        if (action.isWait) {
          action.exchange = open.at(action.site);
          continue;
        }
        const std::vector<int64_t> group =
            groupOf(plan.cliques[plan.sites[action.site].clique], static_cast<int64_t>(rank));
        const auto [it, isNew] =
            known.try_emplace({group, issuedIn[group]++}, static_cast<uint32_t>(exchanges.size()));
        if (isNew)
          exchanges.push_back({group, plan.sites[action.site].collectiveId, true, {}});
        exchanges[it->second].fits &=
            exchanges[it->second].collectiveId == plan.sites[action.site].collectiveId;
        action.exchange = open[action.site] = it->second;
        if (it->second >= 64)
          continue; // too many exchanges; isTooLarge() tells the caller
        uint64_t &lane = lanes[plan.sites[action.site].lane];
        exchanges[it->second].members.push_back({rank, at, lane});
        lane |= uint64_t(1) << it->second;
      }
    }
  }

  size_t exchangeCount() const { return exchanges.size(); }

  /// Visits all reachable states; returns false if there are too many. An end is a state in which
  /// no step is possible.
  bool explore(size_t maxStates) {
    std::vector<State> stack = {State()};
    StateSet seen;
    seen.insert(stack[0]);
    while (!stack.empty()) {
      const State state = stack.back();
      stack.pop_back();
      bool isEnd = true;
      auto visit = [&](const State &next) {
        isEnd = false;
        if (seen.insert(next))
          stack.push_back(next);
      };
      for (size_t rank = 0; rank < programs.size(); ++rank) {
        if (state.at[rank] == programs[rank].size())
          continue;
        const Action &action = programs[rank][state.at[rank]];
        if (action.isWait && !(state.complete >> action.exchange & 1))
          continue;
        State next = state;
        ++next.at[rank];
        visit(next);
      }
      for (uint32_t i = 0; i < exchanges.size(); ++i)
        if (!(state.complete >> i & 1) && canComplete(state, i)) {
          State next = state;
          next.complete |= uint64_t(1) << i;
          visit(next);
        }
      if (isEnd)
        ends.push_back(state);
      if (seen.size() > maxStates)
        return false;
    }
    states = seen.size();
    return true;
  }

  /// Whether the end state depends on the order in which ranks run.
  bool hasRace() const { return ends.size() != 1; }
  bool hasDeadlock() const {
    for (const State &end : ends)
      for (size_t rank = 0; rank < programs.size(); ++rank)
        if (end.at[rank] < programs[rank].size())
          return true;
    return false;
  }
  /// Whether in every end state `rank` has issued an exchange at this site that is not complete.
  bool isStuckIn(int64_t rank, PlanIndex site) const {
    return std::all_of(ends.begin(), ends.end(), [&](const State &end) {
      const RankProgram &program = programs[static_cast<size_t>(rank)];
      for (size_t i = 0; i < end.at[static_cast<size_t>(rank)]; ++i)
        if (!program[i].isWait && program[i].site == site &&
            !(end.complete >> program[i].exchange & 1))
          return true;
      return false;
    });
  }
  size_t states = 0;

private:
  struct State {
    std::array<uint8_t, 8> at = {}; // by rank
    uint64_t complete = 0;          // exchanges
    bool operator==(const State &) const = default;
  };
  /// A hash table with open addressing, because the exploration spends most of its time on lookups.
  class StateSet {
  public:
    /// Returns true if the state is new.
    bool insert(const State &state) {
      if (++count * 2 > table.size())
        grow();
      return put(state) || (--count, false);
    }
    size_t size() const { return count; }

  private:
    bool put(const State &state) {
      uint64_t hash = std::bit_cast<uint64_t>(state.at) * 0x9E3779B97F4A7C15u;
      hash = (hash ^ hash >> 32 ^ state.complete) * 0xD6E8FEB86659FD93u;
      for (size_t i = hash >> 32;; ++i) {
        std::optional<State> &place = table[i & (table.size() - 1)];
        if (!place) {
          place = state;
          return true;
        }
        if (*place == state)
          return false;
      }
    }
    void grow() {
      std::vector<std::optional<State>> old(table.empty() ? 64 : table.size() * 4);
      old.swap(table);
      for (const std::optional<State> &state : old)
        if (state)
          put(*state);
    }
    std::vector<std::optional<State>> table;
    size_t count = 0;
  };
  struct Exchange {
    std::vector<int64_t> group;
    uint32_t collectiveId;
    bool fits;
    struct Member {
      size_t rank, issue; // index of the issue in the rank's program
      uint64_t before;    // exchanges that the rank issued earlier into the same lane
    };
    std::vector<Member> members; // ranks that issue it at some point
  };

  std::vector<int64_t> groupOf(const CliqueSpec &clique, int64_t rank) const {
    if (clique.form == CliqueSpec::Form::groups) {
      for (const std::vector<int64_t> &list : clique.lists)
        if (std::find(list.begin(), list.end(), rank) != list.end())
          return list;
      return {};
    }
    if (clique.form == CliqueSpec::Form::pairs) {
      std::set<int64_t> all;
      for (const std::vector<int64_t> &pair : clique.lists)
        all.insert(pair.begin(), pair.end());
      return {all.begin(), all.end()};
    }
    // All ranks that differ from this rank only along the clique's axes, ordered by their
    // coordinates in the clique's order of axes.
    AxisSet axes = 0;
    for (uint8_t axis : clique.axes)
      axes |= AxisSet(1) << axis;
    std::map<std::vector<int64_t>, int64_t> members;
    for (int64_t other = 0; other < static_cast<int64_t>(programs.size()); ++other) {
      const std::vector<int64_t> here = placeOf(plan.mesh, other);
      if (onAxes(here, ~axes) != onAxes(placeOf(plan.mesh, rank), ~axes))
        continue;
      std::vector<int64_t> key;
      for (uint8_t axis : clique.axes)
        key.push_back(here[axis]);
      members[key] = other;
    }
    std::vector<int64_t> group;
    for (const auto &[key, member] : members)
      group.push_back(member);
    return group;
  }

  /// Whether all members have issued the exchange and have it at the head of its lane.
  bool canComplete(const State &state, uint32_t number) const {
    const Exchange &exchange = exchanges[number];
    return exchange.fits && exchange.members.size() == exchange.group.size() &&
           std::all_of(exchange.members.begin(), exchange.members.end(), [&](const auto &member) {
             return state.at[member.rank] > member.issue && !(member.before & ~state.complete);
           });
  }

  const CommPlan &plan;
  std::vector<RankProgram> programs;
  std::vector<Exchange> exchanges;
  std::vector<State> ends;
};

std::vector<RankProgram> writeAll(const CommPlan &plan, const Decide &decide) {
  std::vector<RankProgram> programs;
  for (int64_t rank = 0; rank < plan.mesh.size(); ++rank)
    programs.push_back(Writer(plan, rank, decide).write());
  return programs;
}

bool isTooLarge(const std::vector<RankProgram> &programs, const Explorer &explorer) {
  return explorer.exchangeCount() > 64 ||
         std::any_of(programs.begin(), programs.end(),
                     [](const RankProgram &program) { return program.size() > 250; });
}

} // namespace

std::optional<ExhaustiveVerdict> runExhaustively(const CommPlan &plan,
                                                 const ExhaustiveLimits &limits) {
  ExhaustiveVerdict verdict;
  // The run-time choices in the order in which they occur, counted up like an odometer.
  std::vector<std::pair<uint32_t, uint32_t>> digits; // value, number of values
  while (true) {
    std::map<std::tuple<PlanIndex, std::vector<uint32_t>, std::vector<int64_t>>, uint32_t> made;
    size_t used = 0;
    const std::vector<RankProgram> programs =
        writeAll(plan, [&](PlanIndex guard, const std::vector<uint32_t> &iterations,
                           const std::vector<int64_t> &place) {
          const auto [it, isNew] = made.try_emplace({guard, iterations, place}, 0);
          if (isNew) {
            const Guard &one = plan.guards[guard];
            if (used == digits.size())
              digits.push_back(
                  {0, one.kind == Guard::Kind::loop ? limits.iterations + 1 : one.arms});
            it->second = digits[used++].first;
          }
          return it->second;
        });
    digits.resize(used);
    if (++verdict.combinations > limits.combinations)
      return std::nullopt;
    Explorer explorer(plan, programs);
    if (isTooLarge(programs, explorer) || !explorer.explore(limits.states - verdict.states))
      return std::nullopt;
    verdict.hasRace |= explorer.hasRace();
    verdict.states += explorer.states;
    verdict.canDeadlock |= explorer.hasDeadlock();
    while (!digits.empty() && digits.back().first + 1 == digits.back().second)
      digits.pop_back();
    if (digits.empty())
      return verdict;
    ++digits.back().first;
  }
}

bool replays(const CommPlan &plan, const Counterexample &counterexample) {
  const std::vector<RankProgram> programs =
      writeAll(plan,
               [&](PlanIndex guard, const std::vector<uint32_t> &iterations,
                   const std::vector<int64_t> &place) -> uint32_t {
                 uint32_t index = 0;
                 for (size_t i = 0; i < place.size(); ++i)
                   if (plan.guards[guard].varies >> i & 1)
                     index = index * static_cast<uint32_t>(plan.mesh.axes[i].size) +
                             static_cast<uint32_t>(place[i]);
                 for (const Choice &choice : counterexample.choices)
                   if (choice.guard == guard && choice.place == index &&
                       (choice.iterations.empty() || choice.iterations == iterations))
                     return choice.arm;
                 return 0;
               });
  Explorer explorer(plan, programs);
  if (isTooLarge(programs, explorer) || !explorer.explore(2'000'000) || explorer.hasRace() ||
      !explorer.hasDeadlock())
    return false;
  if (counterexample.reason == Counterexample::Reason::varies)
    return true; // the rank left alone may get stuck earlier, in another exchange
  return std::all_of(counterexample.waits.begin(), counterexample.waits.end(),
                     [&](const Wait &wait) { return explorer.isStuckIn(wait.rank, wait.site); });
}

} // namespace tilewright::collective
