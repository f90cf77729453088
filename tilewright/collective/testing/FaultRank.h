// FaultRank: one process of a campaign's job: it works, is hit by a fault, recovers, and works
// again.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_FAULTRANK_H
#define TILEWRIGHT_COLLECTIVE_TESTING_FAULTRANK_H

#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/shm/Arena.h"
#include "tilewright/collective/testing/FaultBoard.h"
#include "tilewright/collective/testing/FaultPlan.h"
#include "tilewright/collective/testing/Workload.h"

namespace tilewright::collective::test {

class FaultRank {
public:
  FaultRank(const FaultPlan &plan, int64_t rank, std::string address, FaultBoard &board,
            KeyValueStore &store)
      : plan(plan), rank(rank), address(std::move(address)), board(board), store(store) {}

  /// Ok if the rank worked to the end, or was evicted and knows it, and leaked nothing. Failures of
  /// collectives are on the board instead.
  Status live();

private:
  using View = membership::View;
  struct Connected {
    std::unique_ptr<Engine> engine;
    shm::Arena *arena = nullptr;
  };
  Status liveThrough();
  Status liveIn(membership::Group &group, const View &view);
  Status work(Communicator &communicator, shm::Arena *arena, const View &view);
  Status doStep(Communicator &communicator, shm::Arena *arena, const View &view, uint64_t number);
  Result<bool> isEnd(Communicator &communicator, const View &view, uint64_t number);
  /// The rank was evicted: checks that no process lets it in again.
  Status stayOut(membership::Group *group, const View &view, Status why);
  Membership job() const;
  Result<Connected> connect(const View &view, KeyValueStore &store,
                            std::chrono::nanoseconds timeout) const;

  const Fault *faultOf(uint64_t epoch) const;
  bool isStruckAt(uint64_t epoch, Point point, uint64_t at);
  /// Sends itself the fault's signal, `later` from now.
  void strike(uint64_t epoch, std::chrono::microseconds later);
  Record &recordOf(uint64_t epoch) const { return board.records[static_cast<size_t>(rank)][epoch]; }
  Status note(uint64_t epoch, int step, Status status) const;

  friend class StrikingStore; // FaultRank.cpp
  const FaultPlan &plan;
  const int64_t rank;
  const std::string address;
  FaultBoard &board;
  KeyValueStore &store;
};

/// The timeout of a rank in this plan: shorter than the time within which it must report its error.
std::chrono::milliseconds timeoutOf(const FaultPlan &plan);
/// max(3 x predicted step, 500 ms)
std::chrono::milliseconds limitOf(const FaultPlan &plan);

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_FAULTRANK_H
