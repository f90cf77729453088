#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/mpi/MpiEngine.h"

namespace tilewright::collective::conformance {

namespace {
class MpiJob final : public ConnectedJob<MpiJob, mpi::MpiEngine> {};

/// All carriers of a job are in one process of MPI here, which sends to itself; several processes
/// of MPI are in MpiProcessTest.
MpiJob::Connect connectWith(std::chrono::nanoseconds patience) {
  return [=](const Membership &members, KeyValueStore &store) {
    mpi::MpiEngine::Options options;
    options.library = TILEWRIGHT_TEST_MPI_LIBRARY;
    options.canSpin = false; // ranks are threads of one process, and not alone
    options.patience = patience;
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
