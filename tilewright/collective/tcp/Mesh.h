// Mesh: messages between the processes of a job, one connection for each pair.
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
    /// Numeric, IPv4 or IPv6: where the others reach this process. Empty: the first address of
    /// this host that is not loopback, or loopback if it has no other.
    std::string address;
    std::chrono::nanoseconds connectPatience = std::chrono::seconds(60);
  };
  /// Publishes an address under `<job>/tcp/<epoch>/<process>` and waits for all the others.
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<Mesh>> connect(const Membership &membership, KeyValueStore &store,
                                               const Options &options, FailureBox &failure);
  ~Mesh() override;

  void progress(std::chrono::milliseconds longest) override;
  void wake() override;

private:
  /// What is read at once: a small message with its header, or many. The rest of larger ones goes
  /// straight to its place, and so should most of it.
  static constexpr size_t bufferBytes = 8 << 10;
  struct Outgoing {
    Header header;
    const std::byte *data = nullptr;
    std::vector<std::byte> owned; // if the sender's may go away
    size_t done = 0;              // of header and data together
    Sent *sent = nullptr;
  };
  struct Link {
    int64_t process = 0;
    int socket = -1;
    std::string address;
    std::list<Outgoing> queue;
    bool isFull = false; // the connection takes no more for now
    bool isGone = false;
    // Being received: a buffer of what was read, and the message whose bytes come.
    std::vector<std::byte> buffer;
    size_t begin = 0, end = 0;
    bool isInside = false;
    Incoming message;
    size_t left = 0;         // of the message
    std::byte *to = nullptr; // where the rest of it goes
    size_t have() const { return message.header.bytes - left; }
  };
  Mesh(const Membership &membership, FailureBox &failure) : Messages(membership, failure) {}
  friend class Meeting; // Meeting.cpp

  void post(int64_t process, const Header &header, std::span<const std::byte> bytes,
            Sent *sent) override;
  void adopt(Expected &expected) override;
  void abandon(Expected &expected) override;
  void withdraw(Sent &sent) override;
  void flushFor(std::chrono::milliseconds longest) override;

  void flush(Link &link);
  void drain(Link &link);
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
