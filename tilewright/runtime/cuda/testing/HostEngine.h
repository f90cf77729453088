// HostEngine: a test double of an engine for collectives on devices. The streams of the virtual
// driver call functions of the host, in which the ranks of this process meet; the bytes are those
// of the virtual devices, which the host can access.
#ifndef TILEWRIGHT_RUNTIME_CUDA_TESTING_HOSTENGINE_H
#define TILEWRIGHT_RUNTIME_CUDA_TESTING_HOSTENGINE_H

#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/collective/local/LocalCollectives.h"
#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/hip-api/HipTypes.h"

#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tilewright::runtime::cuda {

/// Waits for ranks that do not arrive for as long as the engine is not revoked.
class HostEngine final : public collective::DeviceEngine {
public:
  std::string name() const override { return "host"; }
  std::string version() const override { return "1"; }
  bool canReduce(numerics::ReductionKind, collective::ElementType) const override { return true; }
  Result<std::vector<std::unique_ptr<collective::DeviceCommunicator>>>
  prepare(const std::vector<int64_t> &members, std::span<const collective::DeviceClique> cliques,
          Deadline) override {
    std::vector<std::unique_ptr<collective::DeviceCommunicator>> made;
    const int64_t run = ++shared->runs;
    for (size_t rank = 0; rank < members.size(); ++rank) {
      TILEWRIGHT_ASSIGN(auto inner,
                        shared->local.join({run, static_cast<int64_t>(rank),
                                            static_cast<int64_t>(members.size()), members}));
      made.push_back(std::make_unique<Rank>(
          shared, std::move(inner),
          std::vector<collective::DeviceClique>(cliques.begin(), cliques.end())));
    }
    ++prepared;
    return made;
  }
  Result<std::byte *> allocate(int64_t, size_t) override {
    return Status(Code::unimplemented, "no windows");
  }
  void free(int64_t, std::byte *) override {}
  void revoke(const std::string &why) override { shared->fail(why); }
  Result<std::unique_ptr<collective::DeviceEngine>> shrink(const std::vector<int64_t> &, uint64_t,
                                                           KeyValueStore &, Deadline) override {
    return Status(Code::unimplemented, "all ranks are in one process");
  }

  static inline std::atomic<int> prepared = 0; // calls of prepare() in the process

private:
  struct Shared {
    collective::LocalCollectives local{std::chrono::hours(1)};
    std::atomic<int64_t> runs = 0;
    std::mutex mutex;
    std::string why;                                             // guarded by mutex
    std::vector<std::shared_ptr<collective::Communicator>> open; // guarded by mutex

    Status check() {
      std::lock_guard lock(mutex);
      return why.empty() ? Status() : Status(Error::collectiveAborted, why);
    }
    void fail(const std::string &reason) {
      std::vector<std::shared_ptr<collective::Communicator>> all;
      {
        std::lock_guard lock(mutex);
        if (!why.empty())
          return;
        why = reason;
        all = open;
      }
      for (const auto &one : all)
        one->abandon(Status(Error::collectiveAborted, reason));
    }
  };

  /// Queues `function` on `stream` with the driver that the process has loaded. Each driver's
  /// function is called by its own type: UBSan refuses a result of another enum.
  static bool callFromStream(cuda_api::CUstream stream, cuda_api::CUhostFn function, void *data) {
    if (void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
      using Launch = cuda_api::CUresult(cuda_api::CUstream, cuda_api::CUhostFn, void *);
      auto *launch = reinterpret_cast<Launch *>(dlsym(cuda, "cuLaunchHostFunc"));
      return launch && launch(stream, function, data) == cuda_api::CUDA_SUCCESS;
    }
    if (void *hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD)) {
      using Launch = hip_api::hipError_t(cuda_api::CUstream, cuda_api::CUhostFn, void *);
      auto *launch = reinterpret_cast<Launch *>(dlsym(hip, "hipLaunchHostFunc"));
      return launch && launch(stream, function, data) == hip_api::hipSuccess;
    }
    return false;
  }

  class Rank final : public collective::DeviceCommunicator {
  public:
    Rank(std::shared_ptr<Shared> shared, std::unique_ptr<collective::Communicator> given,
         std::vector<collective::DeviceClique> cliques)
        : shared(std::move(shared)), inner(std::move(given)), cliques(std::move(cliques)) {
      std::lock_guard lock(this->shared->mutex);
      this->shared->open.push_back(inner);
    }
    int64_t rank() const override { return inner->rank(); }
    int64_t size() const override { return inner->size(); }
    Status enqueue(const collective::Call &call, size_t clique,
                   collective::DeviceStream stream) override {
      TILEWRIGHT_TRY(shared->check());
      auto *work = new Work{shared, inner, call, cliques[clique].groups, std::string(call.name)};
      work->call.groups = &work->groups;
      work->call.name = work->name;
      if (!callFromStream(static_cast<cuda_api::CUstream>(stream), &Work::run, work)) {
        delete work;
        return Status(Code::internal, "the driver refuses a call of the host");
      }
      return Status();
    }
    Status beginGroup() override { return Status(); }
    Status endGroup() override { return Status(); }
    Status check() override { return shared->check(); }
    Status registerMemory(std::byte *, size_t) override { return Status(); }
    Status deregisterMemory(std::byte *) override { return Status(); }
    Result<void *> registerWindow(size_t, std::byte *, size_t, Deadline) override {
      return static_cast<void *>(nullptr);
    }

  private:
    struct Work {
      std::shared_ptr<Shared> shared;
      std::shared_ptr<collective::Communicator> inner;
      collective::Call call;
      std::vector<std::vector<int64_t>> groups;
      std::string name;
      static void run(void *data) {
        std::unique_ptr<Work> work(static_cast<Work *>(data));
        if (!work->shared->check().isOk())
          return;
        if (Status status = work->inner->run(work->call); !status.isOk())
          work->shared->fail(status.message());
      }
    };
    const std::shared_ptr<Shared> shared;
    const std::shared_ptr<collective::Communicator> inner;
    const std::vector<collective::DeviceClique> cliques;
  };
  const std::shared_ptr<Shared> shared = std::make_shared<Shared>();
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_TESTING_HOSTENGINE_H
