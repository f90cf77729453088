#include "tilewright/collective/membership/GroupRendezvous.h"
#include "tilewright/collective/Handshake.h"
#include "tilewright/collective/membership/Overlay.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace tilewright::collective::membership {

using namespace std::chrono_literals;

namespace {

constexpr uint64_t magic = 0x31'70'72'67'77'6c'69'74; // "tilwgrp1"

/// The addresses that a process publishes in the store.
struct Note {
  std::string host, localName, address, port;
  uint64_t secret = 0;
  static std::optional<Note> read(const std::string &text) {
    std::istringstream parts(text);
    Note note;
    parts >> note.host >> note.localName >> note.address >> note.port >> note.secret;
    return parts ? std::optional(note) : std::nullopt;
  }
};

class GroupRendezvous {
public:
  GroupRendezvous(const Group::Config &config, GroupListener &listener, KeyValueStore &store,
                  Deadline deadline)
      : config(config), listener(listener), store(store), deadline(deadline),
        connections(config.processes.size()), self(config.placeOf(config.process).value_or(0)),
        neighbours(Overlay(config.processes.size(), self, config.dense).neighbours()) {}

  Result<std::vector<std::unique_ptr<Connection>>> run() {
    TILEWRIGHT_TRY(store.put(keyOf(config.process), listener.note(config.host)));
    // No deadlock: each process waits only for lower places, and the lowest place waits for none.
    Status status;
    neighbours.forEach([&](size_t place) {
      if (place < self && status.isOk())
        status = connectTo(place);
    });
    TILEWRIGHT_TRY(std::move(status));
    while (!missing().empty())
      TILEWRIGHT_TRY(acceptOne());
    return std::move(connections);
  }

private:
  /// The processes to which this one must still connect.
  std::vector<int64_t> missing() const {
    std::vector<int64_t> processes;
    neighbours.forEach([&](size_t place) {
      if (!connections[place])
        processes.push_back(config.processes[place]);
    });
    return processes;
  }
  std::string keyOf(int64_t process) const {
    return concat(config.job, "/control/", config.epoch, "/", process);
  }
  Status failed(const std::string &what) const {
    return Status(Error::ranksNotConnected,
                  concat("process ", config.process, " cannot join the group: ", what));
  }

  /// Fails if a connected peer has disconnected, because it will not come back.
  Status checkPeers() const {
    for (const auto &connection : connections) {
      char byte;
      if (connection && recv(connection->socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return failed(concat("process ", config.processes[connection->place],
                             " ended while the job was connecting"));
    }
    return Status();
  }

  Result<std::string> noteOf(int64_t process) const {
    std::chrono::microseconds pause(100);
    while (true) {
      TILEWRIGHT_ASSIGN(std::optional<std::string> note, store.tryGet(keyOf(process)));
      if (note)
        return *std::move(note);
      TILEWRIGHT_TRY(checkPeers());
      if (std::chrono::steady_clock::now() >= deadline)
        return failed(concat("timed out waiting for process ", process, ", which has not written '",
                             keyOf(process), "' to the key-value store"));
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(5000));
    }
  }

  Status connectTo(size_t place) {
    const int64_t process = config.processes[place];
    TILEWRIGHT_ASSIGN(const std::string text, noteOf(process));
    const std::optional<Note> note = Note::read(text);
    const bool isOfThisHost = note && note->host == config.host;
    const std::optional<Address> address = !note ? std::nullopt
                                           : isOfThisHost
                                               ? std::optional(localAddress(note->localName))
                                               : parseAddress(note->address, note->port);
    if (!address)
      return failed(
          concat("key '", keyOf(process), "' has value '", text, "', expected an address"));
    const std::string where =
        isOfThisHost ? "on this host" : concat("at ", note->address, ":", note->port);
    Descriptor socket(
        ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0)
      return systemFailure("socket");
    int reason = 0;
    if (::connect(socket.get(), address->raw(), address->length) != 0) {
      reason = errno;
      if (reason == EINPROGRESS) {
        reason = ETIMEDOUT;
        socklen_t length = sizeof reason;
        if (awaitEvent(socket.get(), POLLOUT, deadline))
          getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &reason, &length);
      }
    }
    if (reason != 0)
      return failed(concat("process ", process, " cannot be reached ", where, " (",
                           std::strerror(reason),
                           "): it has ended, or this host cannot reach the address"));
    Hello hello{magic}, answer{magic};
    hello.secret = note->secret;
    hello.epoch = config.epoch;
    hello.process = config.process;
    if (!sendHello(socket.get(), hello) || !receiveHello(socket.get(), answer, deadline))
      return failed(concat("process ", process, " was reached ", where,
                           " but did not answer; it has ended or hangs"));
    if (!answer.isWelcome)
      return Status(Error::rankFenced,
                    concat("process ", config.process, " joined with epoch ", config.epoch,
                           ", but process ", process, " is in epoch ", answer.epoch,
                           "; an evicted process must rejoin"));
    connections[place] = std::make_unique<Connection>(place, isOfThisHost, socket.release());
    return Status();
  }

  Status acceptOne() {
    pollfd listeners[] = {{listener.local(), POLLIN, 0}, {listener.remote(), POLLIN, 0}};
    if (::poll(listeners, 2, 20) <= 0) {
      TILEWRIGHT_TRY(checkPeers());
      if (std::chrono::steady_clock::now() < deadline)
        return Status();
      return failed(concat("processes ", listed(missing()), " did not connect in time"));
    }
    for (pollfd &each : listeners) {
      Descriptor socket(each.revents ? accept4(each.fd, nullptr, nullptr, SOCK_CLOEXEC) : -1);
      // A connection from outside the job, or one that sends nothing, delays all other connections
      // by at most one second.
      Hello hello{magic};
      if (socket.get() < 0 || !receiveHello(socket.get(), hello, std::min(deadline, after(1s))) ||
          hello.secret != listener.secret())
        continue;
      Hello answer{magic};
      answer.epoch = config.epoch;
      answer.process = config.process;
      const std::optional<size_t> place = config.placeOf(hello.process);
      answer.isWelcome =
          place && neighbours.has(*place) && !connections[*place] && hello.epoch == config.epoch;
      if (sendHello(socket.get(), answer) && answer.isWelcome)
        connections[*place] =
            std::make_unique<Connection>(*place, each.fd == listener.local(), socket.release());
    }
    return Status();
  }

  const Group::Config &config;
  GroupListener &listener;
  KeyValueStore &store;
  const Deadline deadline;
  std::vector<std::unique_ptr<Connection>> connections; // by place
  const size_t self;
  const Places neighbours;
};

} // namespace

Status GroupListener::open(const std::string &address) {
  key = newSecret();
  localName = concat("tilewright-", newSecret(), "-", getpid());
  Address local = localAddress(localName);
  TILEWRIGHT_ASSIGN(const int first, listenAt(local, "listening for the other processes"));
  localSocket.reset(first);
  TILEWRIGHT_ASSIGN(Listener remote, listenOn(address));
  remoteSocket.reset(remote.socket);
  remoteName = std::move(remote.place);
  return Status();
}

std::string GroupListener::note(const std::string &host) const {
  return concat(host, " ", localName, " ", remoteName, " ", key);
}

void GroupListener::rejectPending(uint64_t epoch) {
  for (int listening : {local(), remote()})
    while (true) {
      auto socket = std::make_unique<Descriptor>(
          accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket->get() < 0)
        break;
      Hello answer{magic};
      answer.epoch = epoch;
      answer.isWelcome = 0;
      (void)sendHello(socket->get(), answer);
      // Closing a socket with unread data would send a reset, which could discard the answer. So
      // only shut the socket down, and close it later.
      shutdown(socket->get(), SHUT_WR);
      constexpr size_t maxRejected = 64;
      if (rejected.size() < maxRejected)
        rejected.push_back({std::move(socket)});
    }
}

void GroupListener::beat() {
  constexpr int maxBeats = 20;
  std::erase_if(rejected, [](Rejected &each) { return ++each.beats > maxBeats; });
}

Result<std::vector<std::unique_ptr<Connection>>> connectAll(const Group::Config &config,
                                                            GroupListener &listener,
                                                            KeyValueStore &store,
                                                            Deadline deadline) {
  return GroupRendezvous(config, listener, store, deadline).run();
}

} // namespace tilewright::collective::membership
