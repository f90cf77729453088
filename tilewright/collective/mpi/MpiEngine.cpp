#include "tilewright/collective/mpi/MpiEngine.h"
#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/mpi/Port.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Fingerprint.h"
#include "tilewright/support/text/Number.h"

#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace tilewright::collective::mpi {

using namespace std::chrono_literals;
using messages::Header;
using messages::Messages;
using messages::Sent;

namespace {

uint64_t hashOf(const std::string &job) {
  const Fingerprint whole = fingerprintOf(std::as_bytes(std::span(job)));
  uint64_t first;
  std::memcpy(&first, &whole, sizeof first);
  return first;
}

/// The MPI transport of one process in one epoch of a job. All transports of a process share its
/// port.
class Carrier final : public Messages, private Receiver {
public:
  Carrier(const Membership &membership, FailureBox &failure, Port &port)
      : Messages(membership, failure), port(port), job(hashOf(membership.job)),
        bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (int64_t process : membership.processes())
      if (process != membership.process)
        peers[process];
  }
  ~Carrier() override;
  Status connect(KeyValueStore &store, const MpiEngine::Options &options);

  void progress(std::chrono::milliseconds longest) override;
  void wake() override {
    const uint64_t one = 1;
    if (sleepers.load() > 0)
      (void)!write(bell.get(), &one, sizeof one);
  }

private:
  struct Peer {
    int rank = -1;                 // in MPI_COMM_WORLD
    std::optional<uint64_t> epoch; // from its hello
  };

  Address addressOf(int64_t process) const { return {job, membership.epoch, process}; }
  std::string keyOf(int64_t process) const {
    return concat(membership.job, "/mpi/", membership.epoch, "/", process);
  }
  Status connectAll(KeyValueStore &store, Rendezvous &rendezvous);
  Result<int> rankIn(const std::string &note, int64_t process) const;
  Status sayHello(int64_t process, int rank);

  void take(const Header &header, std::span<const std::byte> bytes) override;
  void broken(const std::string &why) override;
  void post(int64_t process, const Header &header, std::span<const std::byte> bytes,
            Sent *sent) override;
  void withdraw(Sent &) override {} // post() copies
  void flushFor(std::chrono::milliseconds longest) override;

  Port &port;
  const uint64_t job;
  const Descriptor bell;
  std::atomic<int> sleepers = 0;
  bool isAttached = false;
  std::map<int64_t, Peer> peers; // by process; guarded by mutex
};

Result<int> Carrier::rankIn(const std::string &note, int64_t process) const {
  const std::optional<int> number = numberIn<int>(note);
  if (!number)
    return Status(Error::ranksNotConnected, concat("key '", keyOf(process), "' has value '", note,
                                                   "', expected an MPI rank"));
  const int rank = *number;
  if (rank < 0 || rank >= port.size())
    return Status(Error::ranksNotConnected,
                  concat(membership.ranksText(process), " (process ", process, ") has MPI rank ",
                         rank, ", but MPI_COMM_WORLD of process ", membership.process, " has ",
                         port.size(), " ranks; start all processes with the same mpiexec command"));
  return rank;
}

Status Carrier::sayHello(int64_t process, int rank) {
  Header header;
  header.type = Header::hello;
  header.process = membership.process;
  header.site = membership.epoch;
  if (Status status = port.send(rank, addressOf(process), header, {}); !status.isOk())
    return Status(Error::ranksNotConnected,
                  concat(membership.ranksText(process), " (process ", process,
                         ") cannot be reached by MPI: ", status.message()));
  return Status();
}

Status Carrier::connect(KeyValueStore &store, const MpiEngine::Options &options) {
  if (bell.get() < 0)
    return systemFailure("eventfd");
  Rendezvous rendezvous(membership, store, after(options.connectTimeout), [this]() -> Status {
    port.progress();
    return failure.isSet() ? Status(Error::ranksNotConnected,
                                    concat("while the job was connecting, ", failure.text()))
                           : Status();
  });
  Status status = connectAll(store, rendezvous);
  return status.isOk() ? std::move(status) : rendezvous.giveUp(std::move(status));
}

Status Carrier::connectAll(KeyValueStore &store, Rendezvous &rendezvous) {
  // Attach first, because a peer may send as soon as it has read this process's MPI rank from the
  // store.
  port.attach(addressOf(membership.process), *this);
  isAttached = true;
  TILEWRIGHT_TRY(store.put(keyOf(membership.process), concat(port.rank())));
  for (int64_t process : membership.processes()) {
    if (process == membership.process)
      continue;
    TILEWRIGHT_ASSIGN(const std::string note, rendezvous.note(keyOf(process), process));
    Result<int> rank = rankIn(note, process);
    Status status = rank.isOk() ? sayHello(process, *rank) : std::move(rank).takeStatus();
    if (!status.isOk())
      return rendezvous.blame(process, std::move(status));
    std::lock_guard lock(mutex);
    peers[process].rank = *rank;
  }
  while (true) {
    port.progress();
    std::vector<int64_t> missing;
    {
      std::lock_guard lock(mutex);
      for (auto &[process, peer] : peers)
        if (!peer.epoch)
          missing.push_back(process);
        else if (*peer.epoch != membership.epoch)
          return fenced(membership, process, *peer.epoch);
    }
    if (missing.empty())
      return Status();
    if (std::chrono::steady_clock::now() >= rendezvous.deadline)
      return connectTimedOut(membership, missing);
    TILEWRIGHT_TRY(rendezvous.event(bell.get(), POLLIN, missing, after(1ms)).takeStatus());
  }
}

Carrier::~Carrier() {
  if (!isAttached)
    return;
  if (failure.isSet())
    port.noteFailure();
  else
    sayGoodbye();
  flushFor(200ms);
  port.detach(addressOf(membership.process));
}

void Carrier::post(int64_t process, const Header &header, std::span<const std::byte> bytes,
                   Sent *sent) {
  if (sent)
    sent->bytes.fetch_add(bytes.size(), std::memory_order_release);
  const int rank = peers.at(process).rank;
  if (rank < 0)
    return; // it never connected
  sentBytes.payload += bytes.size();
  sentBytes.headers += sizeof(Header);
  Status status = port.send(rank, addressOf(process), header, bytes);
  if (!status.isOk())
    lose(process, "", status.message());
}

void Carrier::take(const Header &header, std::span<const std::byte> bytes) {
  {
    std::lock_guard lock(mutex);
    auto peer = peers.find(header.process);
    if (peer == peers.end())
      return; // not a process of this job
    if (header.type == Header::hello)
      peer->second.epoch = header.site;
    else
      deliver(header, bytes);
  }
  wake(); // all its threads may sleep while another engine's thread drives the port
}

void Carrier::broken(const std::string &why) {
  failure.set(concat("MPI failed in process ", membership.process, ": ", why));
  wake();
}

void Carrier::flushFor(std::chrono::milliseconds longest) {
  const Deadline deadline = after(longest);
  for (const Address own = addressOf(membership.process);; std::this_thread::sleep_for(20us)) {
    port.progress();
    if (port.underWay(own) == 0 || std::chrono::steady_clock::now() >= deadline)
      return;
  }
}

/// MPI has no file descriptor to wait on, so this polls with growing pauses. A thread that is about
/// to sleep when wake() is called misses the wakeup, so pauses are short.
void Carrier::progress(std::chrono::milliseconds longest) {
  if (port.progress() || longest.count() == 0)
    return;
  ++sleepers;
  const Deadline deadline = after(std::min(longest, 1ms));
  for (timespec pause = {0, 5'000}; !port.progress() && std::chrono::steady_clock::now() < deadline;
       pause.tv_nsec = std::min<long>(2 * pause.tv_nsec, 500'000)) {
    pollfd poll = {bell.get(), POLLIN, 0};
    if (ppoll(&poll, 1, &pause, nullptr) == 1) {
      uint64_t rung;
      (void)!read(bell.get(), &rung, sizeof rung);
      break;
    }
  }
  --sleepers;
}

} // namespace

Result<std::unique_ptr<Messages>> connectCarrier(const Membership &membership, KeyValueStore &store,
                                                 const MpiEngine::Options &options,
                                                 FailureBox &failure) {
  TILEWRIGHT_ASSIGN(Port * port, Port::open(options.library, after(options.connectTimeout)));
  auto carrier = std::make_unique<Carrier>(membership, failure, *port);
  TILEWRIGHT_TRY(carrier->connect(store, options));
  return std::unique_ptr<Messages>(std::move(carrier));
}

Result<std::unique_ptr<MpiEngine>>
MpiEngine::connect(const Membership &membership, KeyValueStore &store, const Options &options) {
  TILEWRIGHT_ASSIGN(auto wire,
                    MessageEngine::connect(membership, options, [&](FailureBox &failure) {
                      return connectCarrier(membership, store, options, failure);
                    }));
  return std::unique_ptr<MpiEngine>(new MpiEngine(std::move(wire)));
}

} // namespace tilewright::collective::mpi
