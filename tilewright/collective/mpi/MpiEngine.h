// MpiEngine: collectives between processes without shared memory, over the site's MPI.
#ifndef TILEWRIGHT_COLLECTIVE_MPI_MPIENGINE_H
#define TILEWRIGHT_COLLECTIVE_MPI_MPIENGINE_H

#include "tilewright/collective/messages/MessageEngine.h"

namespace tilewright::collective::mpi {

/// An engine for processes started by the same mpiexec. MPI only transports messages; as with all
/// engines, we compute the reductions, in group order and for every type. The first engine that
/// connects loads the library, and initializes MPI unless the program has done so.
///
/// MPI reports the death of a process late or never. So ranks notice a death only when they time
/// out, unless a caller that detects it (for example, through membership::Group) calls revoke().
class MpiEngine final : public messages::MessageEngine {
public:
  struct Options : messages::MessageEngine::Options {
    std::string library = "libmpi_abi.so.1";
    std::chrono::nanoseconds connectTimeout = std::chrono::seconds(60);
  };
  ///  - carrierUnavailable (E6060): no MPI with the standard ABI was found.
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<MpiEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);

private:
  using MessageEngine::MessageEngine;
};

/// Connects the transport alone, for engines that combine several transports.
Result<std::unique_ptr<messages::Messages>> connectCarrier(const Membership &membership,
                                                           KeyValueStore &store,
                                                           const MpiEngine::Options &options,
                                                           FailureBox &failure);

} // namespace tilewright::collective::mpi

#endif // TILEWRIGHT_COLLECTIVE_MPI_MPIENGINE_H
