// The conformance suite of engines between processes: real processes that are killed, stopped or
// late, and that must leave no resources behind.
#ifndef TILEWRIGHT_COLLECTIVE_CONFORMANCE_ENGINEPROCESSES_H
#define TILEWRIGHT_COLLECTIVE_CONFORMANCE_ENGINEPROCESSES_H

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

/// An engine as the suite in EngineProcesses.cpp needs it. Each test program of an engine between
/// processes links that file and defines processKit().
struct ProcessKit {
  Connect connect;
  int rounds = 20;                            // sums before a process is killed or stopped
  std::string died;                           // expected text about rank 2, which is killed
  std::string missing = "waiting for rank 1"; // … about rank 1, which never connects
  int connects = 1000;                        // after so many, no descriptor or thread is left
  bool countsMappings = false;                // and no mapping
};
const ProcessKit &processKit();

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_CONFORMANCE_ENGINEPROCESSES_H
