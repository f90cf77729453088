// A message transport over UCX active messages.
#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/ucx/Arrivals.h"
#include "tilewright/collective/ucx/Library.h"
#include "tilewright/collective/ucx/UcxEngine.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"

#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tilewright::collective::ucx {

using namespace std::chrono_literals;
using messages::Header;
using messages::Messages;
using messages::Sent;

namespace {

/// All calls into UCX, and so all callbacks, happen with the mutex held.
///
/// UCX cannot stop accessing memory in the middle of a large message, but a caller that aborts a
/// collective frees its memory at once. So both ends copy the data.
///
/// Active messages may overtake each other. So they are numbered, and a message that announces the
/// end of a run or a job is held until all messages before it have arrived.
class Fabric final : public Messages {
public:
  Fabric(const Membership &membership, FailureBox &failure, const Library &ucp)
      : Messages(membership, failure), ucp(ucp) {}
  ~Fabric() override;
  Status connect(KeyValueStore &store, const UcxEngine::Options &options);

  void progress(std::chrono::milliseconds longest) override;
  void wake() override {
    const uint64_t one = 1;
    (void)!write(bell, &one, sizeof one);
  }

private:
  static constexpr unsigned ours = 7; // id of our active message
  struct Peer {
    Fabric *fabric = nullptr;
    int64_t process = 0;
    ucp_ep_h endpoint = nullptr;
    bool isGone = false;
    std::optional<uint64_t> epoch; // from its hello
    uint64_t posted = 0;
    Arrivals arrivals;
    std::vector<Header> held; // end messages that overtook others
  };
  /// A message that UCX is still sending.
  struct Send {
    Fabric *fabric = nullptr;
    Peer *peer = nullptr;
    Header header; // UCX reads it and `bytes` until the send completes
    std::vector<std::byte> bytes;
  };
  struct Receive {
    Fabric *fabric = nullptr;
    Header header;
    std::vector<std::byte> bytes;
  };

  Status fails(const char *what, ucs_status_t status) const {
    return Status(Error::ranksNotConnected,
                  concat("ucx: ", what, ": ", ucp.ucs_status_string(status)));
  }
  std::string keyOf(int64_t process) const {
    return concat(membership.job, "/ucx/", membership.epoch, "/", process);
  }
  Status open();
  Status publish(KeyValueStore &store);
  Status connectTo(Peer &peer, const std::string &address);
  Status connectAll(KeyValueStore &store, Rendezvous &rendezvous);
  void sayHello(ucp_ep_h endpoint);

  void post(int64_t process, const Header &header, std::span<const std::byte> bytes,
            Sent *sent) override;
  void withdraw(Sent &) override {} // post() copies
  void flushFor(std::chrono::milliseconds longest) override;
  bool progressWorker() { return ucp.ucp_worker_progress(worker) != 0; }
  void flushWorker(std::chrono::milliseconds longest);
  /// Whether UCX is still sending to the peer or receiving from it.
  bool isTransferring(const Peer &peer) const;
  void cut(Peer &peer);
  template <typename Done> void progressUntil(std::chrono::milliseconds longest, Done isDone);

  static ucs_status_t come(void *fabric, const void *header, size_t headerBytes, void *data,
                           size_t bytes, const ucp_am_recv_param_t *param);
  ucs_status_t take(const Header &header, void *data, size_t bytes,
                    const ucp_am_recv_param_t *param);
  void finish(const Header &header, std::span<const std::byte> bytes);
  static void sendDone(void *request, ucs_status_t status, void *send);
  static void receiveDone(void *request, ucs_status_t status, size_t bytes, void *receive);
  static void endpointFailed(void *peer, ucp_ep_h, ucs_status_t status);
  Peer *peerOf(int64_t process) {
    auto found = peers.find(process);
    return found == peers.end() ? nullptr : &found->second;
  }

  const Library &ucp;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  int events = -1, bell = -1;
  // guarded by mutex:
  std::map<int64_t, Peer> peers; // by process
  std::map<Send *, std::unique_ptr<Send>> sends;
  std::map<Receive *, std::unique_ptr<Receive>> receives;
  bool isClosing = false; // no new receives
};

std::optional<std::vector<unsigned char>> bytesOf(std::string_view hex) {
  std::vector<unsigned char> bytes;
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    bytes.push_back(static_cast<unsigned char>(high << 4 | low));
  }
  return hex.size() % 2 == 0 && !bytes.empty() ? std::optional(bytes) : std::nullopt;
}

Status Fabric::open() {
  ucp_config_t *config = nullptr;
  if (ucs_status_t status = ucp.ucp_config_read(nullptr, nullptr, &config); status != UCS_OK)
    return fails("reading UCX's variables", status);
  if (!getenv("UCX_TLS"))
    (void)ucp.ucp_config_modify(config, "TLS", "^sm");
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucs_status_t status =
      ucp.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
  ucp.ucp_config_release(config);
  if (status != UCS_OK)
    return fails("initialising UCX", status);
  ucp_worker_params_t workerParams = {};
  workerParams.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  workerParams.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucp.ucp_worker_create(context, &workerParams, &worker);
  if (status != UCS_OK)
    return fails("creating a worker", status);
  if (status = ucp.ucp_worker_get_efd(worker, &events); status != UCS_OK)
    return fails("getting the worker's event descriptor", status);
  ucp_am_handler_param_t handler = {};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = ours;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = come;
  handler.arg = this;
  if (status = ucp.ucp_worker_set_am_recv_handler(worker, &handler); status != UCS_OK)
    return fails("setting the message handler", status);
  bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return bell < 0 ? systemFailure("eventfd") : Status();
}

Status Fabric::publish(KeyValueStore &store) {
  ucp_address_t *address = nullptr;
  size_t bytes = 0;
  if (ucs_status_t status = ucp.ucp_worker_get_address(worker, &address, &bytes); status != UCS_OK)
    return fails("getting the worker's address", status);
  const std::string text = hexOf({reinterpret_cast<const std::byte *>(address), bytes});
  ucp.ucp_worker_release_address(worker, address);
  return store.put(keyOf(membership.process), text);
}

Status Fabric::connectTo(Peer &peer, const std::string &address) {
  auto bytes = bytesOf(address);
  if (!bytes)
    return Status(Error::ranksNotConnected, concat("key '", keyOf(peer.process), "' has value '",
                                                   address, "', expected a UCX address"));
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t *>(bytes->data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {endpointFailed, &peer};
  if (ucs_status_t status = ucp.ucp_ep_create(worker, &params, &peer.endpoint); status != UCS_OK)
    return Status(Error::ranksNotConnected,
                  concat(membership.ranksText(peer.process), " (process ", peer.process,
                         ") cannot be reached by UCX: ", ucp.ucs_status_string(status)));
  sayHello(peer.endpoint);
  return Status();
}

/// Sends this process's epoch, as an ordinary message.
void Fabric::sayHello(ucp_ep_h endpoint) {
  auto send = std::make_unique<Send>();
  send->fabric = this;
  send->header.type = Header::hello;
  send->header.process = membership.process;
  send->header.site = membership.epoch;
  ucp_request_param_t param = {};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_REPLY;
  param.cb.send = sendDone;
  param.user_data = send.get();
  void *request =
      ucp.ucp_am_send_nbx(endpoint, ours, &send->header, sizeof(Header), nullptr, 0, &param);
  if (UCS_PTR_IS_PTR(request))
    sends[send.get()] = std::move(send);
}

Status Fabric::connect(KeyValueStore &store, const UcxEngine::Options &options) {
  Rendezvous rendezvous(membership, store, after(options.connectTimeout), [this]() -> Status {
    std::lock_guard lock(mutex);
    progressWorker();
    return failure.isSet() ? Status(Error::ranksNotConnected,
                                    concat("while the job was connecting, ", failure.text()))
                           : Status();
  });
  Status status = connectAll(store, rendezvous);
  return status.isOk() ? std::move(status) : rendezvous.giveUp(std::move(status));
}

Status Fabric::connectAll(KeyValueStore &store, Rendezvous &rendezvous) {
  for (int64_t process : membership.processes())
    if (process != membership.process) {
      Peer &peer = peers[process];
      peer.fabric = this;
      peer.process = process;
    }
  {
    std::lock_guard lock(mutex);
    TILEWRIGHT_TRY(open());
    TILEWRIGHT_TRY(publish(store));
  }
  for (auto &[process, peer] : peers) {
    TILEWRIGHT_ASSIGN(const std::string address, rendezvous.note(keyOf(process), process));
    std::lock_guard lock(mutex);
    if (Status status = connectTo(peer, address); !status.isOk())
      return rendezvous.blame(process, std::move(status));
  }
  while (true) {
    std::vector<int64_t> missing;
    {
      std::lock_guard lock(mutex);
      progressWorker();
      for (auto &[process, peer] : peers)
        if (!peer.epoch)
          missing.push_back(process);
        else if (*peer.epoch != membership.epoch)
          return fenced(membership, process, *peer.epoch);
      if (missing.empty()) {
        // UCX queues messages until both ends of an endpoint are connected, and makes progress only
        // when it is called. Flush now, so that no message stays queued if no thread calls UCX
        // again.
        flushWorker(1000ms);
        return Status();
      }
    }
    if (std::chrono::steady_clock::now() >= rendezvous.deadline)
      return connectTimedOut(membership, missing);
    TILEWRIGHT_TRY(rendezvous.event(bell, POLLIN, missing, after(5ms)).takeStatus());
  }
}

template <typename Done>
void Fabric::progressUntil(std::chrono::milliseconds longest, Done isDone) {
  const Deadline deadline = after(longest);
  while (!isDone() && std::chrono::steady_clock::now() < deadline)
    if (!progressWorker())
      std::this_thread::sleep_for(20us);
}

Fabric::~Fabric() {
  if (worker && !failure.isSet())
    sayGoodbye();
  if (worker)
    flushFor(200ms);
  std::lock_guard lock(mutex);
  isClosing = true;
  // Close gracefully, so that UCX delivers what was sent. This also applies after a failure: a peer
  // that loses the connection before it has received the failure would blame this process. Cut an
  // endpoint with a transfer that does not end, because UCX aborts this process if the worker of a
  // closing endpoint with transfers is destroyed, and a closing endpoint cannot be cut.
  std::vector<void *> closing;
  for (auto &[process, peer] : peers)
    if (!peer.isGone && peer.endpoint && !isTransferring(peer)) {
      ucp_request_param_t param = {};
      void *request = ucp.ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &param);
      if (UCS_PTR_IS_PTR(request))
        closing.push_back(request);
    }
  progressUntil(failure.isSet() ? 50ms : 200ms, [&] {
    return std::ranges::none_of(closing, [&](void *request) {
      return ucp.ucp_request_check_status(request) == UCS_INPROGRESS;
    });
  });
  for (void *request : closing)
    ucp.ucp_request_free(request);
  for (auto &[process, peer] : peers)
    cut(peer);
  if (worker) {
    // UCX never completes the receive of a large message from a process that has died, and may
    // write to the receive buffer until the worker is destroyed. So do not wait long, and keep the
    // buffers until then.
    progressUntil(50ms, [&] { return sends.empty() && receives.empty(); });
    ucp.ucp_worker_destroy(worker);
  }
  if (context)
    ucp.ucp_cleanup(context);
  if (bell >= 0)
    close(bell);
}

bool Fabric::isTransferring(const Peer &peer) const {
  return std::ranges::any_of(sends, [&](const auto &send) { return send.first->peer == &peer; }) ||
         std::ranges::any_of(receives, [&](const auto &receive) {
           return receive.first->header.process == peer.process;
         });
}

/// Waits until UCX has sent all messages, for at most `longest`.
void Fabric::flushWorker(std::chrono::milliseconds longest) {
  ucp_request_param_t param = {};
  void *request = ucp.ucp_worker_flush_nbx(worker, &param);
  if (!UCS_PTR_IS_PTR(request))
    return;
  progressUntil(longest, [&] { return ucp.ucp_request_check_status(request) != UCS_INPROGRESS; });
  ucp.ucp_request_free(request);
}

/// Force-closes the endpoint; operations in progress complete with errors.
void Fabric::cut(Peer &peer) {
  peer.isGone = true;
  if (!peer.endpoint)
    return;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void *request = ucp.ucp_ep_close_nbx(peer.endpoint, &param);
  peer.endpoint = nullptr;
  if (!UCS_PTR_IS_PTR(request))
    return;
  progressUntil(1000ms, [&] { return ucp.ucp_request_check_status(request) != UCS_INPROGRESS; });
  ucp.ucp_request_free(request);
}

void Fabric::post(int64_t process, const Header &header, std::span<const std::byte> bytes,
                  Sent *sent) {
  Peer &peer = peers.at(process);
  if (sent)
    sent->bytes.fetch_add(bytes.size(), std::memory_order_release);
  if (peer.isGone || !peer.endpoint)
    return;
  auto send = std::make_unique<Send>();
  send->fabric = this;
  send->peer = &peer;
  send->header = header;
  send->bytes.assign(bytes.begin(), bytes.end());
  send->header.number = peer.posted++;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = sendDone;
  param.user_data = send.get();
  sentBytes.payload += bytes.size();
  sentBytes.headers += sizeof(Header);
  void *request = ucp.ucp_am_send_nbx(peer.endpoint, ours, &send->header, sizeof(Header),
                                      send->bytes.data(), bytes.size(), &param);
  if (UCS_PTR_IS_PTR(request)) {
    Send *key = send.get();
    sends[key] = std::move(send);
  } else if (UCS_PTR_IS_ERR(request)) {
    Messages::lose(process, "", ucp.ucs_status_string(UCS_PTR_STATUS(request)));
    peer.isGone = true;
  }
}

void Fabric::sendDone(void *request, ucs_status_t, void *data) {
  auto *send = static_cast<Send *>(data);
  Fabric &fabric = *send->fabric;
  fabric.ucp.ucp_request_free(request);
  fabric.sends.erase(send);
}

ucs_status_t Fabric::come(void *fabric, const void *header, size_t headerBytes, void *data,
                          size_t bytes, const ucp_am_recv_param_t *param) {
  Header copy;
  if (headerBytes != sizeof copy)
    return UCS_OK;
  std::memcpy(&copy, header, sizeof copy);
  if (!copy.isRight() || copy.bytes != bytes)
    return UCS_OK; // not from our processes
  return static_cast<Fabric *>(fabric)->take(copy, data, bytes, param);
}

ucs_status_t Fabric::take(const Header &header, void *data, size_t bytes,
                          const ucp_am_recv_param_t *param) {
  Peer *peer = peerOf(header.process);
  if (header.type == Header::hello) {
    if (peer && header.site == membership.epoch) {
      peer->epoch = header.site;
    } else if (peer && !peer->epoch && peer->endpoint) {
      peer->epoch = header.site; // the peer that we called is in another epoch
    } else if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) && param->reply_ep) {
      // A process of another epoch: reply only with our epoch. UCX owns the reply endpoint.
      sayHello(param->reply_ep);
    }
    return UCS_OK;
  }
  if (!peer)
    return UCS_OK;
  if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
    finish(header, {static_cast<const std::byte *>(data), bytes});
    return UCS_OK;
  }
  if (isClosing)
    return UCS_OK;
  auto receive = std::make_unique<Receive>();
  receive->fabric = this;
  receive->header = header;
  receive->bytes.resize(bytes);
  ucp_request_param_t how = {};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.recv_am = receiveDone;
  how.user_data = receive.get();
  void *request = ucp.ucp_am_recv_data_nbx(worker, data, receive->bytes.data(), bytes, &how);
  if (UCS_PTR_IS_PTR(request)) {
    Receive *key = receive.get();
    receives[key] = std::move(receive);
    return UCS_INPROGRESS;
  }
  if (!UCS_PTR_IS_ERR(request))
    finish(header, receive->bytes);
  return UCS_OK;
}

void Fabric::receiveDone(void *request, ucs_status_t status, size_t, void *data) {
  auto *receive = static_cast<Receive *>(data);
  Fabric &fabric = *receive->fabric;
  fabric.ucp.ucp_request_free(request);
  std::unique_ptr<Receive> owner = std::move(fabric.receives[receive]);
  fabric.receives.erase(receive);
  if (status == UCS_OK) // otherwise endpointFailed() reports why
    fabric.finish(receive->header, receive->bytes);
}

/// Handles a message that has arrived completely.
void Fabric::finish(const Header &header, std::span<const std::byte> bytes) {
  Peer &peer = peers.at(header.process);
  peer.arrivals.add(header.number);
  const bool isEnd = header.type == Header::leftRun || header.type == Header::goodbye;
  if (isEnd && !peer.arrivals.haveAllUpTo(header.number))
    peer.held.push_back(header);
  else
    deliver(header, bytes);
  std::erase_if(peer.held, [&](const Header &held) {
    if (!peer.arrivals.haveAllUpTo(held.number))
      return false;
    deliver(held, {});
    return true;
  });
}

void Fabric::endpointFailed(void *data, ucp_ep_h, ucs_status_t status) {
  Peer &peer = *static_cast<Peer *>(data);
  if (peer.isGone)
    return;
  peer.isGone = true;
  peer.fabric->lose(peer.process, "", peer.fabric->ucp.ucs_status_string(status));
}

void Fabric::flushFor(std::chrono::milliseconds longest) {
  const Deadline deadline = after(longest);
  while (true) {
    {
      std::lock_guard lock(mutex);
      progressWorker();
      if (sends.empty() || std::chrono::steady_clock::now() >= deadline)
        return;
    }
    std::this_thread::sleep_for(20us);
  }
}

void Fabric::progress(std::chrono::milliseconds longest) {
  {
    std::lock_guard lock(mutex);
    bool isSome = false;
    while (progressWorker())
      isSome = true;
    if (isSome || longest.count() == 0)
      return;
    if (ucp.ucp_worker_arm(worker) != UCS_OK) {
      progressWorker();
      return;
    }
  }
  pollfd both[] = {{events, POLLIN, 0}, {bell, POLLIN, 0}};
  poll(both, 2, static_cast<int>(longest.count()));
  if (both[1].revents) {
    uint64_t rung;
    (void)!read(bell, &rung, sizeof rung);
  }
  std::lock_guard lock(mutex);
  progressWorker();
}

} // namespace

Status isAvailable(const std::string &library) {
  return Library::load(library).isOk() ? Status() : Library::load(library).takeStatus();
}

Result<std::unique_ptr<Messages>> connectFabric(const Membership &membership, KeyValueStore &store,
                                                const UcxEngine::Options &options,
                                                FailureBox &failure) {
  TILEWRIGHT_ASSIGN(const Library *library, Library::load(options.library));
  auto fabric = std::make_unique<Fabric>(membership, failure, *library);
  TILEWRIGHT_TRY(fabric->connect(store, options));
  return std::unique_ptr<Messages>(std::move(fabric));
}

} // namespace tilewright::collective::ucx
