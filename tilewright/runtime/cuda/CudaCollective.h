// CudaCollective: a collective among the commands of a GPU program.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDACOLLECTIVE_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDACOLLECTIVE_H

#include "tilewright/runtime/cuda/CollectiveLane.h"
#include "tilewright/runtime/cuda/CudaCall.h"

#include <map>
#include <memory>
#include <vector>

namespace tilewright::runtime::cuda {

/// A collective of the plan, for all devices of the program.
class CudaCollective {
public:
  ///  - collectiveGroups (E6002): results do not have the types of the operands.
  static Result<std::unique_ptr<CudaCollective>> prepare(const artifact::Executable &executable,
                                                         const artifact::Step &step, size_t clique);

  /// Starts the collective on the device's lane, after everything that was submitted before.
  Status start(CudaRun &run) const;
  /// Later commands run after it.
  Status finish(CudaRun &run) const;

private:
  CudaCollective() = default;
  /// Waits for the program, copies the lists of a ragged_all_to_all to the host, and copies the
  /// initial value to the result.
  Result<std::vector<int64_t>> beginRagged(CudaRun &run) const;

  const artifact::CollectiveStartStep *step = nullptr;
  std::vector<artifact::TensorType> listTypes; // of a ragged_all_to_all
  size_t clique = 0;
  collective::Call call; // without the pointers of a run
  std::shared_ptr<const CollectiveLane::Label> label;
};

/// The collectives of a program.
class CudaCollectives {
public:
  Status prepare(const artifact::Executable &executable);
  bool isEmpty() const { return byId.empty(); }
  std::span<const collective::DeviceClique> cliques() const { return all; }
  /// Null if no rank exchanges anything: then each device only copies.
  const CudaCollective *at(uint32_t id) const;

  /// Whether every rank is alone in its group, so that each result is a copy of its operand.
  static bool isLocal(const artifact::CollectiveStartStep &step, int64_t ranks);

private:
  std::vector<collective::DeviceClique> all;
  std::map<uint32_t, std::unique_ptr<CudaCollective>> byId;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDACOLLECTIVE_H
