// What every engine between processes must show with real ones: they are killed, stopped, late, and
// leave nothing behind. Each is the body of a test.
#ifndef TILEWRIGHT_COLLECTIVE_TEST_ENGINEPROCESSES_H
#define TILEWRIGHT_COLLECTIVE_TEST_ENGINEPROCESSES_H

#include "tilewright/collective/Driver.h"

#include <functional>
#include <string>

namespace tilewright::collective::test {

/// Connects the caller's process to the others of a job.
using Connect = std::function<Result<std::unique_ptr<Engine>>(
    const Membership &, KeyValueStore &, std::chrono::nanoseconds patience,
    std::chrono::nanoseconds connectPatience)>;

/// One of three is killed after `rounds` sums of `count` numbers: the others say so within 50 ms,
/// in the words `died`, and sum again within 200 ms.
void expectKilledRankIsNamed(const Connect &connect, size_t count, int rounds,
                             const std::string &died);
/// One of two is stopped: the other's deadline passes, and what the first comes back to has failed.
void expectStoppedRankIsFenced(const Connect &connect, int rounds);
/// `gone`: what is said of one that was there and is not any more.
void expectMissingRanksAreNamed(const Connect &connect,
                                const std::string &gone = "in vain for rank 1");
/// Who has the address of rank 0 in epoch 5 and comes from epoch 4 is not
/// let in; who comes from epoch 5 is, all the same.
void expectStaleEpochIsFenced(const Connect &connect);
/// So many connects leave no descriptor and no thread, nor a mapping where these are counted.
void expectNothingIsLeftBehind(const Connect &connect, bool countsMappings, int rounds = 1000);

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TEST_ENGINEPROCESSES_H
