// Test bodies for all engines between processes, with real processes that are killed, stopped or
// late, and that must leave no resources behind.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_ENGINEPROCESSES_H
#define TILEWRIGHT_COLLECTIVE_TESTING_ENGINEPROCESSES_H

#include "tilewright/collective/ProgressEngine.h"

#include <functional>
#include <string>

namespace tilewright::collective::test {

/// Connects the caller's process to the others of a job.
using Connect = std::function<Result<std::unique_ptr<Engine>>(
    const Membership &, KeyValueStore &, std::chrono::nanoseconds timeout,
    std::chrono::nanoseconds connectTimeout)>;

/// Connects an engine with these options; the tests choose the two timeouts.
template <typename AnyEngine> Connect connectWith(typename AnyEngine::Options options) {
  return [options = std::move(options)](
             const Membership &membership, KeyValueStore &store, std::chrono::nanoseconds timeout,
             std::chrono::nanoseconds connectTimeout) -> Result<std::unique_ptr<Engine>> {
    typename AnyEngine::Options chosen = options;
    chosen.timeout = timeout;
    chosen.connectTimeout = connectTimeout;
    TILEWRIGHT_ASSIGN(std::unique_ptr<Engine> engine,
                      AnyEngine::connect(membership, store, chosen));
    return engine;
  };
}

/// Kills one of three processes after `rounds` sums of `count` numbers. The others report that
/// within 50 ms, with the text `died`, and sum again within 200 ms.
void expectKilledRankIsNamed(const Connect &connect, size_t count, int rounds,
                             const std::string &died);
/// Stops one of two processes: the other one times out, and the stopped one finds a failed engine
/// when it resumes.
void expectStoppedRankIsFenced(const Connect &connect, int rounds);
/// `gone` is the expected text about a rank that was there and has given up.
void expectMissingRanksAreNamed(const Connect &connect,
                                const std::string &gone = "waiting for rank 1");
/// A process of epoch 4 that has the address of rank 0 in epoch 5 is rejected; a process of epoch 5
/// is still admitted afterwards.
void expectStaleEpochIsFenced(const Connect &connect);
/// After `rounds` connects no descriptor or thread is left, and no mapping if `countsMappings`.
void expectNothingIsLeftBehind(const Connect &connect, bool countsMappings, int rounds = 1000);

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_ENGINEPROCESSES_H
