// Mesh: messages between the processes of a job, one connection for each pair.
#ifndef TILEWRIGHT_COLLECTIVE_TCP_MESH_H
#define TILEWRIGHT_COLLECTIVE_TCP_MESH_H

#include "tilewright/collective/Driver.h"

#include <list>
#include <span>

namespace tilewright::collective::tcp {

/// Which message of which collective.
struct Key {
  uint64_t lane = 0, sequence = 0;
  int32_t from = 0, to = 0; // ranks
  uint32_t phase = 0;
  bool operator==(const Key &) const = default;
};
struct KeyHash {
  size_t operator()(const Key &key) const {
    const int64_t parts[] = {static_cast<int64_t>(key.lane), static_cast<int64_t>(key.sequence),
                             key.from, key.to, key.phase};
    return hashOf(parts, 0);
  }
};

/// In front of each message. Who receives compares `site` with what it expects, so a rank that
/// came with another collective is found when its first message is.
struct Header {
  static constexpr uint32_t right = 0x74696c77;
  enum Type : uint32_t { data, aborted, leftRun, goodbye, where };
  uint32_t magic = right;
  Type type = data;
  Key key;
  uint64_t site = 0;
  uint64_t offset = 0, bytes = 0; // of what follows, in what is expected
  char text[96] = {};             // of the call
};

/// What is expected of one rank. Stays where it is until forgotten.
struct Expected {
  Key key;
  uint64_t site = 0;
  std::byte *to = nullptr;
  size_t bytes = 0;
  std::atomic<size_t> received = 0;      // from the beginning
  std::atomic<bool> isDifferent = false; // the other came with something else: `text`
  std::string text;                      // set before isDifferent
  /// A message of no bytes counts as one.
  bool isThere() const {
    return received.load(std::memory_order_acquire) >= (bytes > 0 ? bytes : 1);
  }
};

/// How far something that was sent has left; the bytes must stay until then.
struct Sent {
  std::atomic<size_t> bytes = 0;
};

/// Bytes that left this process for others.
struct Traffic {
  uint64_t payload = 0, headers = 0;
};

/// Nothing here blocks except progress(). Thread-safe.
class Mesh {
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
  /// Says goodbye, so that nobody takes this for a death.
  ~Mesh();

  /// Gives what comes for this to it, also what came before.
  void expect(Expected &expected);
  void forget(Expected &expected);

  /// Sends now what the connection takes, the rest as it goes on.
  void send(const Key &key, uint64_t site, std::string_view text, uint64_t offset,
            std::span<const std::byte> bytes, Sent &sent);
  /// What was sent with this is not read any more.
  void forget(Sent &sent);

  /// Sends and receives what can be; waits up to `longest` if there is nothing.
  void progress(std::chrono::milliseconds longest);
  /// Ends a progress() that waits.
  void wake();

  /// Sets the failure, and tells the others as well as it goes in a moment.
  void fail(std::string text);
  /// Of a rank of this process.
  void leaveRun(int64_t rank, int64_t run);
  /// The last run that a rank is known to have left.
  int64_t leftRunOf(int64_t rank);
  bool hasSaidGoodbye(int64_t rank);
  /// Tells all others where a rank of this process is, for their messages.
  void say(int64_t rank, std::string_view where);
  std::string whereIs(int64_t rank);
  Traffic traffic();

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
    bool isGone = false, hasSaidGoodbye = false;
    // Being received: a buffer of what was read, and the message whose bytes come.
    std::vector<std::byte> buffer;
    size_t begin = 0, end = 0;
    bool isInside = false;
    Header header;
    size_t left = 0;         // of the message
    std::byte *to = nullptr; // null: to be parked
    Expected *expected = nullptr;
    std::vector<std::byte> parked;
  };
  struct Parked {
    Header header;
    std::vector<std::byte> bytes;
  };
  explicit Mesh(const Membership &membership, FailureBox &failure)
      : membership(membership), failure(failure) {}
  friend class Meeting; // Meeting.cpp

  void flush(Link &link);
  /// Reads what has come; true if there may be more.
  bool drain(Link &link);
  void loseWriting(Link &link, std::string_view why);
  void consume(Link &link);
  void beginMessage(Link &link);
  void endMessage(Link &link);
  void count(Expected &expected, size_t bytes);
  bool isFitting(Expected &expected, const Header &header);
  void lose(Link &link, std::string_view why);
  void watch(Link &link);
  void tellAll(Header::Type type, int64_t number, std::string_view text);
  void passOnFailure();
  void flushFor(std::chrono::milliseconds longest);

  const Membership membership;
  FailureBox &failure;
  int poller = -1, bell = -1;
  std::atomic<bool> hasToldFailure = false;
  std::mutex mutex;
  // guarded by mutex:
  std::vector<std::unique_ptr<Link>> links;
  std::map<int64_t, Link *> linkOf; // by process
  std::unordered_map<Key, Expected *, KeyHash> expectations;
  std::unordered_map<Key, std::vector<Parked>, KeyHash> early;
  std::vector<int64_t> leftRuns;         // by rank
  std::map<int64_t, std::string> wheres; // by rank, what it said last
  Traffic sentBytes;
};

} // namespace tilewright::collective::tcp

#endif // TILEWRIGHT_COLLECTIVE_TCP_MESH_H
