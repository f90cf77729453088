#include "tilewright/collective/plan/ExhaustiveRun.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <set>

namespace tilewright::collective {
namespace {

/// One thing that a rank does: issues an exchange, or waits for it.
struct Action {
  bool isWait;
  PlanIndex site;
  std::vector<uint32_t> turns;
  uint32_t exchange; // filled in by Machine
};
using RankProgram = std::vector<Action>;
/// Decides a guard of the run: how many turns, or which arm.
using Decide = std::function<uint32_t(PlanIndex guard, const std::vector<uint32_t> &turns,
                                      const std::vector<int64_t> &place)>;

/// Where a rank is on every axis.
std::vector<int64_t> placeOf(const RankMesh &mesh, int64_t rank) {
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

/// Only the axes of the set; -1 for the others.
std::vector<int64_t> onAxes(std::vector<int64_t> place, AxisSet axes) {
  for (size_t i = 0; i < place.size(); ++i)
    if (!(axes >> i & 1))
      place[i] = -1;
  return place;
}

/// Writes down what one rank does under given decisions.
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
    // Everything of this arm by position: what it is, which.
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

  bool isMember(const Clique &clique) const {
    if (clique.form == Clique::Form::axes)
      return true;
    for (const std::vector<int64_t> &list : clique.lists)
      if (std::find(list.begin(), list.end(), rank) != list.end())
        return true;
    return false;
  }

  void act(bool isWait, PlanIndex site) {
    if (isMember(plan.cliques[plan.sites[site].clique]))
      program.push_back({isWait, site, turns, 0});
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
        choice = decide(number, turns, onAxes(place, guard.varies));
      }
      arm(number, choice);
      return;
    }
    const bool counts = guard.tripCount >= 0;
    const uint32_t rounds = counts ? static_cast<uint32_t>(guard.tripCount)
                                   : decide(number, turns, onAxes(place, guard.varies));
    turns.push_back(0);
    for (uint32_t round = 0; round < rounds; ++round) {
      turns.back() = round;
      if (!counts)
        arm(number, 0);
      arm(number, 1);
    }
    turns.back() = rounds;
    if (!counts)
      arm(number, 0);
    turns.pop_back();
  }

  const CommPlan &plan;
  const int64_t rank;
  const std::vector<int64_t> place;
  const Decide &decide;
  std::vector<uint32_t> turns;
  RankProgram program;
};

/// All ranks with their programs; explores every order.
class Machine {
public:
  Machine(const CommPlan &plan, std::vector<RankProgram> all)
      : plan(plan), programs(std::move(all)) {
    std::map<std::pair<std::vector<int64_t>, size_t>, uint32_t> known;
    for (size_t rank = 0; rank < programs.size(); ++rank) {
      std::map<std::vector<int64_t>, size_t> issuedIn;
      std::map<PlanIndex, uint32_t> open;
      std::map<uint8_t, uint64_t> lanes; // what was issued into each
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
          exchanges.push_back({group, plan.sites[action.site].meeting, true, {}});
        exchanges[it->second].fits &=
            exchanges[it->second].meeting == plan.sites[action.site].meeting;
        action.exchange = open[action.site] = it->second;
        if (it->second >= 64)
          continue; // too large; the caller looks
        uint64_t &lane = lanes[plan.sites[action.site].lane];
        exchanges[it->second].members.push_back({rank, at, lane});
        lane |= uint64_t(1) << it->second;
      }
    }
  }

  size_t exchangeCount() const { return exchanges.size(); }

  /// False if there are too many states. Ends are states in which nothing can happen.
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

  /// There must be one end, whoever is faster.
  bool hasRace() const { return ends.size() != 1; }
  bool standsStill() const {
    for (const State &end : ends)
      for (size_t rank = 0; rank < programs.size(); ++rank)
        if (end.at[rank] < programs[rank].size())
          return true;
    return false;
  }
  /// In every end, `rank` has not finished an exchange of this site that it issued.
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
  /// Open addressing: most of the time of a judgement is spent here.
  class StateSet {
  public:
    /// Whether it is new.
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
    uint32_t meeting;
    bool fits;
    struct Member {
      size_t rank, issue; // where in its program
      uint64_t before;    // exchanges that it issued before into the same lane
    };
    std::vector<Member> members; // those that ever issue it
  };

  std::vector<int64_t> groupOf(const Clique &clique, int64_t rank) const {
    if (clique.form == Clique::Form::groups) {
      for (const std::vector<int64_t> &list : clique.lists)
        if (std::find(list.begin(), list.end(), rank) != list.end())
          return list;
      return {};
    }
    if (clique.form == Clique::Form::pairs) {
      std::set<int64_t> all;
      for (const std::vector<int64_t> &pair : clique.lists)
        all.insert(pair.begin(), pair.end());
      return {all.begin(), all.end()};
    }
    // Everybody who differs along the axes alone, by their places in the clique's order of axes.
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

  /// All members have it at the head of its lane.
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

bool isTooLarge(const std::vector<RankProgram> &programs, const Machine &machine) {
  return machine.exchangeCount() > 64 ||
         std::any_of(programs.begin(), programs.end(),
                     [](const RankProgram &program) { return program.size() > 250; });
}

} // namespace

std::optional<ExhaustiveVerdict> runExhaustively(const CommPlan &plan,
                                                 const ExhaustiveLimits &limits) {
  ExhaustiveVerdict verdict;
  // Decisions in the order in which they are asked for; counted up like an odometer.
  std::vector<std::pair<uint32_t, uint32_t>> digits; // value, how many there are
  while (true) {
    std::map<std::tuple<PlanIndex, std::vector<uint32_t>, std::vector<int64_t>>, uint32_t> made;
    size_t used = 0;
    const std::vector<RankProgram> programs =
        writeAll(plan, [&](PlanIndex guard, const std::vector<uint32_t> &turns,
                           const std::vector<int64_t> &place) {
          const auto [it, isNew] = made.try_emplace({guard, turns, place}, 0);
          if (isNew) {
            const Guard &one = plan.guards[guard];
            if (used == digits.size())
              digits.push_back({0, one.kind == Guard::Kind::loop ? limits.turns + 1 : one.arms});
            it->second = digits[used++].first;
          }
          return it->second;
        });
    digits.resize(used);
    if (++verdict.combinations > limits.combinations)
      return std::nullopt;
    Machine machine(plan, programs);
    if (isTooLarge(programs, machine) || !machine.explore(limits.states - verdict.states))
      return std::nullopt;
    verdict.hasRace |= machine.hasRace();
    verdict.states += machine.states;
    verdict.canStandStill |= machine.standsStill();
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
               [&](PlanIndex guard, const std::vector<uint32_t> &turns,
                   const std::vector<int64_t> &place) -> uint32_t {
                 uint32_t index = 0;
                 for (size_t i = 0; i < place.size(); ++i)
                   if (plan.guards[guard].varies >> i & 1)
                     index = index * static_cast<uint32_t>(plan.mesh.axes[i].size) +
                             static_cast<uint32_t>(place[i]);
                 for (const Choice &choice : counterexample.choices)
                   if (choice.guard == guard && choice.place == index &&
                       (choice.turns.empty() || choice.turns == turns))
                     return choice.arm;
                 return 0;
               });
  Machine machine(plan, programs);
  if (isTooLarge(programs, machine) || !machine.explore(2'000'000) || machine.hasRace() ||
      !machine.standsStill())
    return false;
  if (counterexample.reason == Counterexample::Reason::varies)
    return true; // who is alone may be stopped by somebody else before
  return std::all_of(counterexample.waits.begin(), counterexample.waits.end(),
                     [&](const Wait &wait) { return machine.isStuckIn(wait.rank, wait.site); });
}

} // namespace tilewright::collective
