#include "tilewright/collective/membership/Meeting.h"
#include "tilewright/collective/Greeting.h"
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

/// What one process says about itself in the store.
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

class Meeting {
public:
  Meeting(const Group::Offer &offer, Door &door, KeyValueStore &store, Deadline deadline)
      : offer(offer), door(door), store(store), deadline(deadline),
        connections(offer.processes.size()), self(placeOf(offer.process).value_or(0)) {}

  Result<std::vector<std::unique_ptr<Connection>>> run() {
    TILEWRIGHT_TRY(store.put(keyOf(offer.process), door.note(offer.host)));
    // The first waits for nobody, so there is no circle.
    for (size_t place = 0; place < self; ++place)
      TILEWRIGHT_TRY(connectTo(place));
    while (static_cast<size_t>(std::count(connections.begin(), connections.end(), nullptr)) > 1)
      TILEWRIGHT_TRY(acceptOne());
    return std::move(connections);
  }

private:
  std::optional<size_t> placeOf(int64_t process) const {
    const auto found = std::lower_bound(offer.processes.begin(), offer.processes.end(), process);
    if (found == offer.processes.end() || *found != process)
      return std::nullopt;
    return static_cast<size_t>(found - offer.processes.begin());
  }
  std::string keyOf(int64_t process) const {
    return concat(offer.job, "/control/", offer.epoch, "/", process);
  }
  Status failed(const std::string &what) const {
    return Status(Error::ranksNotConnected,
                  concat("process ", offer.process, " cannot meet the others: ", what));
  }

  /// Who is connected and went away will not come.
  Status nobodyDied() const {
    for (const auto &connection : connections) {
      char byte;
      if (connection && recv(connection->socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return failed(concat("process ", offer.processes[connection->place], " ended meanwhile"));
    }
    return Status();
  }

  Result<std::string> noteOf(int64_t process) const {
    std::chrono::microseconds pause(100);
    while (true) {
      TILEWRIGHT_ASSIGN(std::optional<std::string> note, store.tryGet(keyOf(process)));
      if (note)
        return *std::move(note);
      TILEWRIGHT_TRY(nobodyDied());
      if (std::chrono::steady_clock::now() >= deadline)
        return failed(concat("process ", process, " has not come in time: nobody wrote '",
                             keyOf(process), "' in the key-value store"));
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(5000));
    }
  }

  Status connectTo(size_t place) {
    const int64_t process = offer.processes[place];
    TILEWRIGHT_ASSIGN(const std::string text, noteOf(process));
    const std::optional<Note> note = Note::read(text);
    const bool isOfThisHost = note && note->host == offer.host;
    const std::optional<Address> address = !note ? std::nullopt
                                           : isOfThisHost
                                               ? std::optional(localAddress(note->localName))
                                               : parseAddress(note->address, note->port);
    if (!address)
      return failed(concat("'", text, "' under '", keyOf(process), "' is not an address"));
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
                           "): it has ended, or the address is not one that this host can reach"));
    Hello hello{magic}, answer{magic};
    hello.secret = note->secret;
    hello.epoch = offer.epoch;
    hello.process = offer.process;
    if (!sendHello(socket.get(), hello) || !receiveHello(socket.get(), answer, deadline))
      return failed(concat("process ", process, " was reached ", where,
                           " but did not answer; it has ended or hangs"));
    if (!answer.isWelcome)
      return Status(Error::rankFenced,
                    concat("process ", offer.process, " came to process ", process, " with epoch ",
                           offer.epoch, ", which has epoch ", answer.epoch,
                           "; whoever was given up must join anew"));
    connections[place] = std::make_unique<Connection>(place, isOfThisHost, socket.release());
    return Status();
  }

  Status acceptOne() {
    pollfd doors[] = {{door.local(), POLLIN, 0}, {door.remote(), POLLIN, 0}};
    if (::poll(doors, 2, 20) <= 0) {
      TILEWRIGHT_TRY(nobodyDied());
      if (std::chrono::steady_clock::now() < deadline)
        return Status();
      std::vector<int64_t> missing;
      for (size_t place = 0; place < connections.size(); ++place)
        if (place != self && !connections[place])
          missing.push_back(offer.processes[place]);
      return failed(concat("processes ", listed(missing), " have not come in time"));
    }
    for (pollfd &each : doors) {
      Descriptor socket(each.revents ? accept4(each.fd, nullptr, nullptr, SOCK_CLOEXEC) : -1);
      // A stranger, or one that says nothing, does not keep the others waiting for long.
      Hello hello{magic};
      if (socket.get() < 0 || !receiveHello(socket.get(), hello, std::min(deadline, after(1s))) ||
          hello.secret != door.secret())
        continue;
      Hello answer{magic};
      answer.epoch = offer.epoch;
      answer.process = offer.process;
      const std::optional<size_t> place = placeOf(hello.process);
      answer.isWelcome =
          place && place != self && !connections[*place] && hello.epoch == offer.epoch;
      if (sendHello(socket.get(), answer) && answer.isWelcome)
        connections[*place] =
            std::make_unique<Connection>(*place, each.fd == door.local(), socket.release());
    }
    return Status();
  }

  const Group::Offer &offer;
  Door &door;
  KeyValueStore &store;
  const Deadline deadline;
  std::vector<std::unique_ptr<Connection>> connections; // by place
  const size_t self;
};

} // namespace

Status Door::open(const std::string &address) {
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

std::string Door::note(const std::string &host) const {
  return concat(host, " ", localName, " ", remoteName, " ", key);
}

void Door::turnAway(uint64_t epoch) {
  for (int door : {local(), remote()})
    while (true) {
      auto socket = std::make_unique<Descriptor>(
          accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket->get() < 0)
        break;
      Hello answer{magic};
      answer.epoch = epoch;
      answer.isWelcome = 0;
      (void)sendHello(socket->get(), answer);
      // Closing it now could take the answer back, since what was said is not read.
      shutdown(socket->get(), SHUT_WR);
      constexpr size_t most = 64;
      if (visitors.size() < most)
        visitors.push_back({std::move(socket)});
    }
}

void Door::beat() {
  constexpr int patience = 20;
  std::erase_if(visitors, [](Visitor &visitor) { return ++visitor.beats > patience; });
}

Result<std::vector<std::unique_ptr<Connection>>>
connectAll(const Group::Offer &offer, Door &door, KeyValueStore &store, Deadline deadline) {
  return Meeting(offer, door, store, deadline).run();
}

} // namespace tilewright::collective::membership
