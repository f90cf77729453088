// Neighbours: the processes of a host find each other, show their memory, and notice who goes.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_NEIGHBOURS_H
#define TILEWRIGHT_COLLECTIVE_SHM_NEIGHBOURS_H

#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/shm/Arena.h"

namespace tilewright::collective::shm {

/// A socket to every other process of the host. Arenas come through it, and it ends when the
/// process at its other end does, however that ends.
class Neighbours {
public:
  /// Publishes an address under `<job>/shm/<epoch>/<process>` and waits for all the others.
  ///  - ranksNotConnected (E6032): somebody did not come, or died on the way; says who.
  ///  - rankFenced (E6033): somebody has another epoch.
  static Result<std::unique_ptr<Neighbours>> meet(const Membership &membership, const Mapping &own,
                                                  KeyValueStore &store,
                                                  std::chrono::nanoseconds patience);
  ~Neighbours();

  struct Neighbour {
    int64_t process = 0;
    int pid = 0; // as this process sees it; 0 if it cannot
    int socket = -1;
    std::shared_ptr<Mapping> memory;
    bool isGone = false;
  };
  /// In the order of their numbers, without the caller.
  std::vector<Neighbour> &all() { return neighbours; }
  /// Marks those whose socket has ended. True if there are new ones. Not thread-safe.
  bool look();

private:
  Neighbours() = default;
  Status meetAll(int listener, const Membership &membership, const Mapping &own,
                 KeyValueStore &store, Rendezvous &meeting);
  Status connectTo(Neighbour &neighbour, const Membership &membership, const Mapping &own,
                   Rendezvous &meeting);
  Status acceptOne(int listener, const Membership &membership, const Mapping &own,
                   Rendezvous &meeting);

  std::vector<Neighbour> neighbours;
  int watch = -1; // epoll of all sockets
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_NEIGHBOURS_H
