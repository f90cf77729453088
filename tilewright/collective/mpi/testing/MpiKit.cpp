#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/mpi/MpiEngine.h"

namespace tilewright::collective::conformance {

namespace {
class MpiJob final : public ConnectedJob<MpiJob, mpi::MpiEngine> {};

/// Here all transports of a job are in the same MPI process, which sends to itself. MpiProcessTest
/// uses several MPI processes.
MpiJob::Connect connectWith(std::chrono::nanoseconds timeout) {
  return [=](const Membership &members, KeyValueStore &store) {
    mpi::MpiEngine::Options options;
    options.library = TILEWRIGHT_TEST_MPI_LIBRARY;
    options.canSpin = false; // ranks are threads of one process and share its cores
    options.timeout = timeout;
    return mpi::MpiEngine::connect(members, store, options);
  };
}
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {connectedKit<MpiJob>("CarrierForEach", 1, connectWith),
                                       connectedKit<MpiJob>("CarrierForTwo", 2, connectWith)};
  return all;
}

} // namespace tilewright::collective::conformance
