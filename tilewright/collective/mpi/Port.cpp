#include "tilewright/collective/mpi/Port.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace tilewright::collective::mpi {

using namespace std::chrono_literals;
using messages::Header;

namespace {
constexpr int ours = 0x7469; // the tag; MPI guarantees tags up to 32767
/// How long an exiting process waits for the other processes before MPI_Finalize. If a process
/// exits without MPI_Finalize, mpiexec kills the others, so it waits a minute for processes that
/// are only slow to exit. After a failure it waits for a shorter time, because the others may be
/// dead. That time must suffice for slow exits too: a process that leaves the job stops the engines
/// of the others, which to them is a failure. On a busy machine 5 s were not enough.
constexpr auto endTimeout = 60s, endTimeoutAfterFailure = 20s;
} // namespace

/// The lifetime of MPI in this process, from MPI_Init to MPI_Finalize. A separate thread calls
/// both: the same thread must call them, and MPI_Init waits without a timeout for all processes of
/// the world, but the caller must be able to time out. Never destroyed, because a thread that hangs
/// in MPI_Init cannot be stopped.
class Port::Life {
public:
  explicit Life(const Library &library) : port(library) {}

  void live() {
    const bool isOurs = !port.isBegun();
    Status status = port.begin();
    if (isOurs && status.isOk()) {
      process = getpid();
      static Life *self = nullptr;
      self = this;
      std::atexit([] { self->endWithProcess(); }); // runs before MPI's own exit handlers
    }
    std::unique_lock lock(mutex);
    began = std::move(status);
    changed.notify_all();
    if (!isOurs || !began->isOk())
      return;
    changed.wait(lock, [&] { return isEnding; });
    lock.unlock();
    port.end();
    lock.lock();
    hasEnded = true;
    changed.notify_all();
  }

  /// Waits for MPI_Init; empty if it has not returned by the deadline.
  std::optional<Status> awaitBegin(Deadline deadline) {
    std::unique_lock lock(mutex);
    if (!changed.wait_until(lock, deadline, [&] { return began.has_value(); }))
      return std::nullopt;
    return copyOf(*began);
  }

  Port port;

private:
  void endWithProcess() {
    std::unique_lock lock(mutex);
    if (process != getpid() || !began || !began->isOk())
      return; // a forked child, or there is nothing to finalize
    isEnding = true;
    changed.notify_all();
    changed.wait_for(lock, 2 * endTimeout, [&] { return hasEnded; });
  }

  pid_t process = 0; // the process that initialized MPI through this class
  std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::optional<Status> began;
  bool isEnding = false, hasEnded = false;
};

Result<Port *> Port::open(const std::string &file, Deadline deadline) {
  static std::mutex mutex;
  static Life *only = nullptr; // guarded by mutex
  std::lock_guard lock(mutex);
  TILEWRIGHT_ASSIGN(const Library *library, Library::load(file));
  if (!only) {
    only = new Life(*library);
    std::thread([] { only->live(); }).detach();
  }
  std::optional<Status> began = only->awaitBegin(deadline);
  if (!began)
    return Status(Error::ranksNotConnected,
                  concat("mpi: MPI_Init_thread of '", file,
                         "' did not return in time: it waits for all processes that mpiexec "
                         "started; check that all of them run and use MPI"));
  TILEWRIGHT_TRY(*std::move(began));
  if (only->port.isOver())
    return Status(Error::carrierUnavailable,
                  "mpi: MPI has been finalized in this process (MPI_Finalize) and cannot be "
                  "initialized again; connect before that, or let Tilewright initialize it");
  return &only->port;
}

bool Port::isBegun() const {
  int isBegun = 0;
  mpi.Initialized(&isBegun);
  return isBegun != 0;
}

Status Port::begin() {
  if (isOver())
    return Status(); // open() reports this
  const bool isOurs = !isBegun();
  int provided = 0;
  const int code = isOurs ? mpi.Init_thread(nullptr, nullptr, abi::threadMultiple, &provided)
                          : mpi.Query_thread(&provided);
  if (code != abi::success)
    return Status(Error::carrierUnavailable,
                  concat("mpi: ", isOurs ? "MPI_Init_thread" : "MPI_Query_thread", " of '",
                         mpi.file, "' failed: ", mpi.errorText(code)));
  // If only Tilewright uses MPI, its own lock serializes all calls.
  const int needed = isOurs ? abi::threadSerialized : abi::threadMultiple;
  if (provided < needed)
    return Status(Error::carrierUnavailable,
                  concat("mpi: MPI was initialized with thread level ", provided, ", but ", needed,
                         " is needed; initialize it with MPI_THREAD_MULTIPLE"));
  // By default MPI aborts the process when a peer has died.
  mpi.Comm_set_errhandler(abi::world(), abi::errorsReturn());
  mpi.Comm_rank(abi::world(), &ownRank);
  mpi.Comm_size(abi::world(), &worldSize);
  sentTo.resize(static_cast<size_t>(worldSize));
  return Status();
}

/// MPI_Finalize waits without a timeout for all processes of the world, and fails if messages were
/// not received. So all processes first exchange how many messages they sent to each other, with a
/// deadline. If a process is dead, MPI is not finalized.
void Port::end() {
  std::lock_guard lock(mutex);
  abi::Request request;
  int64_t sentHere = 0;
  if (isOver() || mpi.Ireduce_scatter_block(sentTo.data(), &sentHere, 1, abi::int64(), abi::sum(),
                                            abi::world(), &request) != abi::success)
    return;
  const Deadline deadline = after(hasFailed ? endTimeoutAfterFailure : endTimeout);
  for (int isDone = 0; !isDone || taken < sentHere || !sends.empty();
       std::this_thread::sleep_for(50us)) {
    abi::Status ignored;
    std::vector<std::pair<int, Receive>> unused;
    if ((!isDone && mpi.Test(&request, &isDone, &ignored) != abi::success) ||
        advance(unused) != abi::success || std::chrono::steady_clock::now() >= deadline)
      return;
  }
  mpi.Finalize();
}

bool Port::isOver() const {
  int isFinal = 0;
  mpi.Finalized(&isFinal);
  return isFinal != 0;
}

std::string Port::version() const {
  std::string text(abi::longestVersionText, '\0');
  int length = 0;
  mpi.Get_library_version(text.data(), &length);
  return text.substr(0, text.find_first_of("\n\0", 0, 2));
}

void Port::attach(const Address &address, Receiver &receiver) {
  std::lock_guard lock(delivering);
  receivers[address] = &receiver;
}

void Port::detach(const Address &address) {
  std::lock_guard lock(delivering);
  receivers.erase(address);
}

Status Port::send(int to, const Address &address, const Header &header,
                  std::span<const std::byte> bytes) {
  return post(to, {address, {address.job, address.epoch, header.process}, header}, bytes);
}

Status Port::post(int to, const Envelope &envelope, std::span<const std::byte> bytes) {
  Send send{envelope.from, std::vector<std::byte>(sizeof envelope + bytes.size()), nullptr};
  std::memcpy(send.bytes.data(), &envelope, sizeof envelope);
  if (!bytes.empty())
    std::memcpy(send.bytes.data() + sizeof envelope, bytes.data(), bytes.size());
  std::lock_guard lock(mutex);
  if (isOver())
    return Status(Error::carrierUnavailable, "MPI was finalized in this process (MPI_Finalize)");
  int code = mpi.Isend_c(send.bytes.data(), static_cast<abi::Count>(send.bytes.size()), abi::byte(),
                         to, ours, abi::world(), &send.request);
  int isDone = 0;
  abi::Status ignored;
  if (code == abi::success)
    code = mpi.Test(&send.request, &isDone, &ignored);
  if (code != abi::success)
    return Status(Error::carrierUnavailable, mpi.errorText(code));
  ++sentTo[static_cast<size_t>(to)];
  if (!isDone)
    sends.push_back(std::move(send));
  return Status();
}

void Port::noteFailure() {
  std::lock_guard lock(mutex);
  hasFailed = true;
}

size_t Port::underWay(const Address &from) const {
  std::lock_guard lock(mutex);
  return static_cast<size_t>(std::count_if(sends.begin(), sends.end(),
                                           [&](const Send &send) { return send.from == from; }));
}

/// Advances all sends and receives. The caller holds `mutex`. Returns MPI's error code.
int Port::advance(std::vector<std::pair<int, Receive>> &whole) {
  abi::Status status;
  for (auto send = sends.begin(); send != sends.end();) {
    int isDone = 0;
    // An error means that the peer has died and will not read the message.
    if (mpi.Test(&send->request, &isDone, &status) != abi::success || isDone)
      send = sends.erase(send);
    else
      ++send;
  }
  for (int i = 0; i < 64; ++i) { // bounded, so that what has arrived is delivered in between
    int isThere = 0;
    abi::Message message;
    if (int code = mpi.Improbe(abi::anySource, ours, abi::world(), &isThere, &message, &status))
      return code;
    if (!isThere)
      break;
    abi::Count bytes = 0;
    if (int code = mpi.Get_count_c(&status, abi::byte(), &bytes))
      return code;
    Receive receive{std::vector<std::byte>(static_cast<size_t>(bytes)), nullptr};
    if (int code =
            mpi.Imrecv_c(receive.bytes.data(), bytes, abi::byte(), &message, &receive.request))
      return code;
    receives[status.source].push_back(std::move(receive));
  }
  for (auto &[source, queue] : receives) {
    // Advance all receives, but deliver them in the order in which they were sent.
    for (Receive &receive : queue)
      if (int isDone = 0; !receive.isDone) {
        if (int code = mpi.Test(&receive.request, &isDone, &status))
          return code;
        receive.isDone = isDone != 0;
      }
    for (; !queue.empty() && queue.front().isDone; queue.pop_front(), ++taken)
      whole.emplace_back(source, std::move(queue.front()));
  }
  return abi::success;
}

bool Port::progress() {
  std::unique_lock delivery(delivering, std::try_to_lock);
  if (!delivery)
    return false;
  std::vector<std::pair<int, Receive>> whole;
  std::string broken;
  {
    std::lock_guard lock(mutex);
    if (isOver())
      broken = "MPI was finalized in this process (MPI_Finalize)";
    else if (int code = advance(whole))
      broken = mpi.errorText(code);
  }
  for (const auto &[source, receive] : whole)
    give(source, receive);
  if (!broken.empty())
    for (auto &[address, receiver] : receivers)
      receiver->broken(broken);
  return !whole.empty();
}

void Port::give(int source, const Receive &receive) {
  Envelope envelope;
  if (receive.bytes.size() < sizeof envelope)
    return; // not from our processes
  std::memcpy(&envelope, receive.bytes.data(), sizeof envelope);
  const auto bytes = std::span(receive.bytes).subspan(sizeof envelope);
  if (!envelope.header.isRight() || envelope.header.bytes != bytes.size())
    return;
  if (auto found = receivers.find(envelope.to); found != receivers.end())
    found->second->take(envelope.header, bytes);
  else if (envelope.header.type == Header::hello)
    answer(source, envelope);
}

/// Called for a hello to an epoch that this process has left; replies with the current epoch.
void Port::answer(int source, const Envelope &hello) {
  for (auto &[address, receiver] : receivers)
    if (address.job == hello.to.job && address.process == hello.to.process) {
      Header header;
      header.type = Header::hello;
      header.process = address.process;
      header.site = address.epoch;
      (void)post(source, {hello.from, address, header}, {});
    }
}

} // namespace tilewright::collective::mpi
