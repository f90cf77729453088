// HandleExchange: passes file descriptors between the processes of a host.
#ifndef TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_HANDLEEXCHANGE_H
#define TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_HANDLEEXCHANGE_H

#include "tilewright/collective/Connecting.h"

#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace tilewright::runtime::cuda {

/// A thread answers requests of other processes for a descriptor by its name, so processes may
/// offer and get descriptors in any order. Thread-safe.
class HandleExchange {
public:
  /// Publishes an address under `<job>/symmetric/<epoch>/<process>`.
  static Result<std::unique_ptr<HandleExchange>> open(const collective::Membership &membership,
                                                      tilewright::KeyValueStore &store);
  ~HandleExchange();

  /// Takes ownership of the descriptor and keeps it open for the lifetime of this object.
  void offer(const std::string &name, int descriptor);
  /// Waits until the process offers the descriptor, which the caller must close.
  ///  - ranksNotConnected (E6032): the process did not offer it before the deadline, or cannot be
  ///    reached.
  ///  - unimplemented: the process is on another host.
  ///  - any failure of `check`, which is called repeatedly
  Result<int> get(int64_t process, const std::string &name, Deadline deadline,
                  const std::function<Status()> &check);

private:
  HandleExchange(const collective::Membership &membership, tilewright::KeyValueStore &store)
      : membership(membership), store(store) {}
  Status listen();
  void serve();
  void answer(int socket);
  Result<std::string> addressOf(int64_t process, Deadline deadline,
                                const std::function<Status()> &check);

  const collective::Membership membership;
  tilewright::KeyValueStore &store;
  Descriptor listener, wake; // an event of `wake` ends the thread
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Descriptor>> offered; // guarded by mutex
  std::thread thread;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_HANDLEEXCHANGE_H
