// Mesh: a message transport between the processes of a job, with one TCP connection per pair.
#ifndef TILEWRIGHT_COLLECTIVE_TCP_MESH_H
#define TILEWRIGHT_COLLECTIVE_TCP_MESH_H

#include "tilewright/collective/messages/Messages.h"

#include <list>

namespace tilewright::collective::tcp {

using messages::Expected;
using messages::Header;
using messages::Messages;
using messages::Sent;
using messages::Traffic;

class Mesh final : public Messages {
public:
  struct Options {
    /// A numeric IPv4 or IPv6 address at which other processes reach this one. If empty, the first
    /// address of this host that is not loopback, or loopback if the host has no other.
    std::string address;
    std::chrono::nanoseconds connectTimeout = std::chrono::seconds(60);
  };
  /// Publishes an address under `<job>/tcp/<epoch>/<process>` and waits for all other processes.
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<Mesh>> connect(const Membership &membership, KeyValueStore &store,
                                               const Options &options, FailureBox &failure);
  ~Mesh() override;

  void progress(std::chrono::milliseconds longest) override;
  void wake() override;

private:
  /// Size of the read buffer. One read should receive one or more small messages with their
  /// headers, but not much of a large message, whose remaining bytes are received directly into
  /// their destination.
  static constexpr size_t bufferBytes = 8 << 10;
  struct Outgoing {
    Header header;
    const std::byte *data = nullptr;
    std::vector<std::byte> owned; // a copy, if the sender's memory may go away
    size_t done = 0;              // of header and data together
    Sent *sent = nullptr;
  };
  struct Link {
    int64_t process = 0;
    int socket = -1;
    std::string address;
    std::list<Outgoing> queue;
    bool isFull = false; // the socket accepts no more data for now
    bool isGone = false;
    // Receive state: the read buffer, and the message that is being received.
    std::vector<std::byte> buffer;
    size_t begin = 0, end = 0;
    bool isInside = false;
    Incoming message;
    size_t left = 0;         // of the message
    std::byte *to = nullptr; // where the rest of the message goes
    size_t have() const { return message.header.bytes - left; }
  };
  Mesh(const Membership &membership, FailureBox &failure) : Messages(membership, failure) {}
  friend class MeshRendezvous; // MeshRendezvous.cpp

  void post(int64_t process, const Header &header, std::span<const std::byte> bytes,
            Sent *sent) override;
  void adopt(Expected &expected) override;
  void abandon(Expected &expected) override;
  void withdraw(Sent &sent) override;
  void flushFor(std::chrono::milliseconds longest) override;

  void flush(Link &link);
  /// Reads what has arrived; true if there may be more.
  bool drain(Link &link);
  void loseWriting(Link &link, std::string_view why);
  void consume(Link &link);
  void endMessage(Link &link);
  void lose(Link &link, std::string_view why);
  void watch(Link &link);

  int poller = -1, bell = -1;
  // guarded by mutex:
  std::vector<std::unique_ptr<Link>> links;
  std::map<int64_t, Link *> linkOf; // by process
};

} // namespace tilewright::collective::tcp

#endif // TILEWRIGHT_COLLECTIVE_TCP_MESH_H
