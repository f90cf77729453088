// MpiEngine: collectives between processes that share no memory, over the MPI of a site.
#ifndef TILEWRIGHT_COLLECTIVE_MPI_MPIENGINE_H
#define TILEWRIGHT_COLLECTIVE_MPI_MPIENGINE_H

#include "tilewright/collective/messages/MessageEngine.h"

namespace tilewright::collective::mpi {

/// For processes that were started by one mpiexec. MPI carries messages and nothing else: sums are
/// ours, in the order of the group and for every type, as with all engines. The library is loaded,
/// and MPI begun unless the program has done so, when the first engine connects.
///
/// MPI says nothing of a process that has died, or late. So a death ends in the deadline, unless
/// somebody who knows calls revoke(), as membership does.
class MpiEngine final : public messages::MessageEngine {
public:
  struct Options : messages::MessageEngine::Options {
    std::string library = "libmpi_abi.so.1";
    std::chrono::nanoseconds connectPatience = std::chrono::seconds(60);
  };
  ///  - carrierUnavailable (E6060): there is no MPI with the standard ABI.
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<MpiEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);

private:
  using MessageEngine::MessageEngine;
};

/// What carries the messages, for engines that are made of several.
Result<std::unique_ptr<messages::Messages>> connectCarrier(const Membership &membership,
                                                           KeyValueStore &store,
                                                           const MpiEngine::Options &options,
                                                           FailureBox &failure);

} // namespace tilewright::collective::mpi

#endif // TILEWRIGHT_COLLECTIVE_MPI_MPIENGINE_H
