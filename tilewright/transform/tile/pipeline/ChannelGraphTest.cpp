#include "tilewright/transform/tile/pipeline/ChannelGraph.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>
#include <vector>

namespace tilewright::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Simulates the graph with mbarriers: each slot has a full and an empty barrier, each with a
/// phase, and a waiting role sees only the parity of the phase.
class Simulation {
public:
  Simulation(const ChannelGraph &graph, uint32_t seed) : graph(graph), random(seed) {
    for (const RoleProgram &role : graph.roles) {
      std::vector<Action> actions;
      for (const Segment &segment : role.segments)
        for (int64_t time = 0; time < segment.times; ++time)
          actions.insert(actions.end(), segment.actions.begin(), segment.actions.end());
      programs.push_back(actions);
    }
    counters.assign(programs.size(),
                    std::vector<std::array<int64_t, 4>>(graph.channels.size(), {0, 0, 0, 0}));
    next = counters;
    for (unsigned channel = 0; channel < graph.channels.size(); ++channel) {
      unsigned drainers = 0;
      for (const std::vector<Action> &program : programs)
        for (const Action &action : program)
          if (action.channel == channel && action.point == Point::free) {
            ++drainers;
            break;
          }
      for (int64_t slot = 0; slot < graph.channels[channel].depth; ++slot) {
        bool full = slot < graph.channels[channel].filled;
        slots.push_back({});
        slots.back().drainers = slots.back().pending = drainers;
        slots.back().fullPhase = full ? 1 : 0;
        slots.back().content = full ? slot : -1;
        // As if the previous round had been drained: the first acquire of a free slot passes, and
        // the first acquire of a full slot waits for the next phase.
        slots.back().emptyPhase = 1;
      }
    }
  }

  enum Outcome { done, stuck, wrong };

  /// Runs `rounds` rounds of every role, in a random order. With `beginsAnew`, a role resets its
  /// slot and phase at the end of each round.
  Outcome run(int rounds, bool beginsAnew = false) {
    std::vector<size_t> at(programs.size(), 0);
    while (true) {
      std::vector<unsigned> able;
      bool all = true;
      for (unsigned role = 0; role < programs.size(); ++role) {
        if (at[role] == programs[role].size() * rounds)
          continue;
        all = false;
        if (canGo(role, programs[role][at[role] % programs[role].size()]))
          able.push_back(role);
      }
      if (all)
        return done;
      if (able.empty())
        return stuck;
      unsigned role = able[random() % able.size()];
      if (!go(role, programs[role][at[role] % programs[role].size()]))
        return wrong;
      if (++at[role] % programs[role].size() == 0 && beginsAnew)
        next[role] = std::vector<std::array<int64_t, 4>>(graph.channels.size(), {0, 0, 0, 0});
    }
  }

private:
  struct Slot {
    int64_t drainers, pending;
    int fullPhase, emptyPhase; // completed phases; a waiting role sees them modulo 2
    int64_t content;
  };

  const ChannelGraph &graph;
  std::mt19937 random;
  std::vector<std::vector<Action>> programs;
  /// [role][channel][point]: how often it was done, and the count that the role itself keeps.
  std::vector<std::vector<std::array<int64_t, 4>>> counters, next;
  std::vector<Slot> slots;

  Slot &slotOf(unsigned channel, int64_t number) {
    int64_t base = 0;
    for (unsigned i = 0; i < channel; ++i)
      base += graph.channels[i].depth;
    return slots[base + number % graph.channels[channel].depth];
  }
  // Slots are numbered starting from those that are full at the start.
  int64_t number(unsigned role, Action action,
                 const std::vector<std::vector<std::array<int64_t, 4>>> &from) {
    int64_t count = from[role][action.channel][unsigned(action.point)];
    bool fills = action.point == Point::acquire || action.point == Point::publish;
    return fills ? count + graph.channels[action.channel].filled : count;
  }
  bool canGo(unsigned role, Action action) {
    if (graph.channels[action.channel].depth == 0)
      return action.point == Point::publish || action.point == Point::free;
    int64_t n = number(role, action, next), depth = graph.channels[action.channel].depth;
    Slot &slot = slotOf(action.channel, n);
    // Waits for a phase to complete, which flips its parity bit.
    if (action.point == Point::acquire)
      return slot.emptyPhase % 2 == (n / depth + 1) % 2;
    if (action.point == Point::take)
      return slot.fullPhase % 2 == (n / depth + 1) % 2;
    return true;
  }
  bool go(unsigned role, Action action) {
    int64_t n = number(role, action, counters);
    Slot &slot = slotOf(action.channel, number(role, action, next));
    ++counters[role][action.channel][unsigned(action.point)];
    ++next[role][action.channel][unsigned(action.point)];
    switch (action.point) {
    case Point::acquire:
      return slot.pending == slot.drainers;
    case Point::publish:
      slot.content = n;
      ++slot.fullPhase;
      return true;
    case Point::take:
      return slot.content == n;
    case Point::free:
      if (slot.content != n)
        return false;
      if (--slot.pending == 0) {
        slot.pending = slot.drainers;
        ++slot.emptyPhase;
      }
      return true;
    }
    return false;
  }
};

ChannelGraph gemm(int64_t depth, int64_t iterations, bool lag) {
  ChannelGraph graph{{{"in", depth}}, {}};
  graph.roles.push_back({"load", {{iterations, {{Point::acquire, 0}, {Point::publish, 0}}}}});
  if (lag)
    graph.roles.push_back({"math",
                           {{1, {{Point::take, 0}}},
                            {iterations - 1, {{Point::take, 0}, {Point::free, 0}}},
                            {1, {{Point::free, 0}}}}});
  else
    graph.roles.push_back({"math", {{iterations, {{Point::take, 0}, {Point::free, 0}}}}});
  return graph;
}

TEST(ChannelGraph, ProducerAndConsumerAreLive) {
  EXPECT_EQ(findDeadlock(gemm(4, 64, true)), std::nullopt);
  EXPECT_EQ(findDeadlock(gemm(1, 64, false)), std::nullopt);
}

/// The roles of a persistent kernel carry slot and phase from point to point. Resetting them would
/// be wrong, except if a round passes through all slots an even number of times and so ends where
/// it began.
TEST(ChannelGraph, SlotsAndPhasesGoOnFromRoundToRound) {
  for (int64_t depth : {2, 3, 4})
    for (int64_t iterations = 1; iterations <= 16; ++iterations)
      for (bool lag : {false, true}) {
        ChannelGraph graph = gemm(depth, iterations, lag);
        ASSERT_EQ(findDeadlock(graph), std::nullopt);
        bool isAlwaysRight = true;
        for (uint32_t seed = 0; seed < 32; ++seed) {
          EXPECT_EQ(Simulation(graph, seed).run(5), Simulation::done);
          isAlwaysRight &= Simulation(graph, seed).run(5, /*beginsAnew=*/true) == Simulation::done;
        }
        EXPECT_EQ(isAlwaysRight, iterations % (2 * depth) == 0)
            << depth << " slots, " << iterations << " iterations";
      }
}

TEST(ChannelGraph, OneSlotIsTooFewForOneThatFreesTheSlotBefore) {
  EXPECT_THAT(*findDeadlock(gemm(1, 8, true)),
              AllOf(HasSubstr("load waits in acquire 1 of `in` for math's free 0"),
                    HasSubstr("math waits in take 1 of `in` for load's publish 1")));
}

TEST(ChannelGraph, ChannelWithoutSlotsIsNamed) {
  EXPECT_THAT(*findDeadlock(gemm(0, 8, false)),
              HasSubstr("load waits in acquire 0 of `in` for math's free 0"));
}

/// Two roles that alternate (ping-pong), as in FlashAttention-3.
ChannelGraph pingPong(int64_t filled) {
  ChannelGraph graph{{{"ping", 1, filled}, {"pong", 1}}, {}};
  for (unsigned role : {0u, 1u})
    graph.roles.push_back({role ? "softmax1" : "softmax0",
                           {{5,
                             {{Point::take, role},
                              {Point::free, role},
                              {Point::acquire, 1 - role},
                              {Point::publish, 1 - role}}}}});
  return graph;
}

TEST(ChannelGraph, TurnsNeedATokenToStart) {
  EXPECT_EQ(findDeadlock(pingPong(1)), std::nullopt);
  EXPECT_THAT(*findDeadlock(pingPong(0)),
              AllOf(HasSubstr("softmax0 waits in take 0 of `ping` for softmax1's publish 0"),
                    HasSubstr("softmax1 waits in take 0 of `pong` for softmax0's publish 0")));
}

TEST(ChannelGraph, BreachesOfTheProtocolAreNamed) {
  ChannelGraph graph = gemm(4, 8, false);
  graph.roles[1].segments[0].actions.pop_back();
  EXPECT_THAT(*findDeadlock(graph), HasSubstr("math executes take on `in` 8 times and free 0 times "
                                              "per round; the numbers must be equal"));

  graph = gemm(4, 8, false);
  graph.roles[1].segments[0].times = 7;
  EXPECT_THAT(*findDeadlock(graph),
              HasSubstr("load fills 8 slots of `in` per round and math takes 7"));

  graph = gemm(4, 8, false);
  std::swap(graph.roles[1].segments[0].actions[0], graph.roles[1].segments[0].actions[1]);
  EXPECT_THAT(*findDeadlock(graph), HasSubstr("math executes free on slot 0 of `in` before take"));

  graph = gemm(4, 8, false);
  graph.roles.push_back(graph.roles[0]);
  EXPECT_THAT(*findDeadlock(graph),
              HasSubstr("`in` is filled by load and by load; only one role may fill it"));

  graph = gemm(4, 8, false);
  graph.roles.pop_back();
  EXPECT_THAT(*findDeadlock(graph), HasSubstr("no role drains `in`"));

  graph = gemm(4, 8, false);
  graph.channels[0].filled = 5;
  EXPECT_THAT(*findDeadlock(graph), HasSubstr("`in` has 4 slots, but 5 are full at the start"));
}

/// Chains of roles with channels of random depth between any two of them, and random lags;
/// sometimes a channel back, with or without tokens.
ChannelGraph randomGraph(std::mt19937 &random) {
  auto upTo = [&](int64_t most) { return int64_t(random() % (most + 1)); };
  int roles = 2 + upTo(2);
  int64_t iterations = 1 + upTo(6);
  ChannelGraph graph;
  std::vector<std::vector<Action>> takes(roles), fills(roles), frees(roles);
  for (int role = 0; role < roles; ++role)
    graph.roles.push_back({"r" + std::to_string(role), {}});
  for (int channel = 0, count = 1 + upTo(3); channel < count; ++channel) {
    int filler = upTo(roles - 1), drainer = upTo(roles - 1);
    if (filler == drainer)
      drainer = (filler + 1) % roles;
    int64_t depth = upTo(3);
    bool back = filler > drainer;
    graph.channels.push_back({"c" + std::to_string(channel), depth, back ? upTo(depth) : 0});
    fills[filler].push_back({Point::acquire, unsigned(channel)});
    fills[filler].push_back({Point::publish, unsigned(channel)});
    takes[drainer].push_back({Point::take, unsigned(channel)});
    frees[drainer].push_back({Point::free, unsigned(channel)});
    if (upTo(2) == 0) {
      int other = upTo(roles - 1);
      if (other != filler && other != drainer) {
        takes[other].push_back({Point::take, unsigned(channel)});
        frees[other].push_back({Point::free, unsigned(channel)});
      }
    }
  }
  for (int role = 0; role < roles; ++role) {
    auto join = [](std::initializer_list<std::vector<Action>> parts) {
      llvm::SmallVector<Action> all;
      for (const std::vector<Action> &part : parts)
        all.append(part.begin(), part.end());
      return all;
    };
    auto &segments = graph.roles[role].segments;
    int64_t lag = std::min(upTo(2), iterations - 1);
    bool fillFirst = upTo(1);
    llvm::SmallVector<Action> head =
        fillFirst ? join({fills[role], takes[role]}) : join({takes[role], fills[role]});
    llvm::SmallVector<Action> body = head;
    body.append(frees[role].begin(), frees[role].end());
    segments.push_back({lag, head});
    segments.push_back({iterations - lag, body});
    segments.push_back({lag, join({frees[role]})});
  }
  return graph;
}

TEST(ChannelGraph, ProofAgreesWithRandomOrdersOfExecution) {
  std::mt19937 random(11);
  int live = 0, dead = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    ChannelGraph graph = randomGraph(random);
    std::optional<std::string> deadlock = findDeadlock(graph);
    ASSERT_TRUE(!deadlock || deadlock->find("deadlock") == 0) << *deadlock;
    (deadlock ? dead : live)++;
    for (uint32_t seed = 0; seed < 4; ++seed) {
      Simulation::Outcome outcome = Simulation(graph, seed).run(5);
      ASSERT_EQ(outcome, deadlock ? Simulation::stuck : Simulation::done) << "trial " << trial;
    }
  }
  EXPECT_GT(live, 200);
  EXPECT_GT(dead, 200);
}

} // namespace
} // namespace tilewright::pipeline
