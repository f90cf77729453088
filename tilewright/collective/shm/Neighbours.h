// Neighbours: rendezvous of the processes of a host, exchange of their arenas, and failure
// detection.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_NEIGHBOURS_H
#define TILEWRIGHT_COLLECTIVE_SHM_NEIGHBOURS_H

#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/shm/Arena.h"

namespace tilewright::collective::shm {

/// A Unix socket to each other process of the host. It transfers the arena's file descriptor, and
/// closes when the peer process ends, for whatever reason.
class Neighbours {
public:
  /// Publishes an address under `<job>/shm/<epoch>/<process>` and waits for all other processes.
  ///  - ranksNotConnected (E6032): a process did not connect, or died meanwhile; the message names
  ///    it.
  ///  - rankFenced (E6033): a process is in another epoch.
  static Result<std::unique_ptr<Neighbours>> connect(const Membership &membership,
                                                     const Mapping &own, KeyValueStore &store,
                                                     std::chrono::nanoseconds timeout);
  ~Neighbours();

  struct Neighbour {
    int64_t process = 0;
    int pid = 0; // as this process sees it; 0 if that is not possible
    int socket = -1;
    std::shared_ptr<Mapping> memory;
    bool isGone = false;
  };
  /// Ordered by process number, without this process.
  std::vector<Neighbour> &all() { return neighbours; }
  /// Marks processes whose socket has closed. Returns true if any are new. Not thread-safe.
  bool look();

private:
  Neighbours() = default;
  Status connectAll(int listener, const Membership &membership, const Mapping &own,
                    KeyValueStore &store, Rendezvous &rendezvous);
  Status connectTo(Neighbour &neighbour, const Membership &membership, const Mapping &own,
                   Rendezvous &rendezvous);
  Status acceptOne(int listener, const Membership &membership, const Mapping &own,
                   Rendezvous &rendezvous);

  std::vector<Neighbour> neighbours;
  int watch = -1; // epoll of all sockets
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_NEIGHBOURS_H
