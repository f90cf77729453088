// Messages: the point-to-point layer under collectives between processes without shared memory.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGES_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGES_H

#include "tilewright/collective/ProgressEngine.h"

#include <span>

namespace tilewright::collective::messages {

/// Identifies a message of a collective.
struct Key {
  uint64_t channel = 0, sequence = 0;
  int32_t from = 0, to = 0; // ranks
  uint32_t phase = 0;
  bool operator==(const Key &) const = default;
};
struct KeyHash {
  size_t operator()(const Key &key) const {
    const int64_t parts[] = {static_cast<int64_t>(key.channel), static_cast<int64_t>(key.sequence),
                             key.from, key.to, key.phase};
    return hashOf(parts, 0);
  }
};

/// Precedes each message. The receiver compares `site` with its own call, so a rank that called a
/// different collective is detected at its first message.
struct Header {
  static constexpr uint32_t right = 0x74696c77;
  /// Only transports use `hello`.
  enum Type : uint32_t { data, aborted, leftRun, goodbye, status, hello };
  uint32_t magic = right;
  Type type = data;
  Key key;
  uint64_t site = 0;
  uint64_t offset = 0, bytes = 0; // position and size of the payload in the expected buffer
  int64_t process = 0;            // the sending process
  uint64_t number = 0;            // for transports that reorder messages
  int64_t at = 0;                 // for transports with a simulated clock: arrival time
  char text[80] = {};             // describes the call

  /// No rank sends a terabyte at once, so a header with more bytes did not come from our processes.
  bool isRight() const { return magic == right && bytes <= (uint64_t(1) << 40); }
};

/// A posted receive from one rank. Its address must not change until forget().
struct Expected {
  Key key;
  uint64_t site = 0;
  std::byte *to = nullptr;
  size_t bytes = 0;
  std::atomic<size_t> received = 0;      // a prefix, if the transport keeps the order
  std::atomic<bool> isDifferent = false; // the peer called something else: `text`
  std::string text;                      // set before isDifferent
  std::atomic<int64_t> at = 0;           // the latest Header::at of its messages
  /// A message without payload counts as one byte.
  bool isThere() const {
    return received.load(std::memory_order_acquire) >= (bytes > 0 ? bytes : 1);
  }
};

/// Counts the bytes of a send that have been sent; until all have, the sender's buffer must stay
/// valid.
struct Sent {
  std::atomic<size_t> bytes = 0;
};

/// Bytes that this process sent to other processes.
struct Traffic {
  uint64_t payload = 0, headers = 0;
};

/// Matches messages with posted receives, and buffers unexpected messages. Transports (TCP
/// connections, UCX, MPI, a simulation) derive from this class. Only progress() blocks.
/// Thread-safe.
class Messages {
public:
  Messages(const Membership &membership, FailureBox &failure);
  virtual ~Messages() = default;

  /// Posts a receive, which gets all matching data, including data that has already arrived.
  void expect(Expected &expected);
  void forget(Expected &expected);

  /// Sends as much as possible now, and the remaining bytes during progress(). Messages may
  /// overtake each other: if several have the same key, `received` is meaningful only when all have
  /// arrived.
  void send(const Key &key, uint64_t site, std::string_view text, uint64_t offset,
            std::span<const std::byte> bytes, Sent &sent);
  /// Cancels a send: its bytes are not read after this returns.
  void forget(Sent &sent);

  /// Sends and receives as much as possible; if nothing can be sent or received, waits up to
  /// `longest`.
  virtual void progress(std::chrono::milliseconds longest) = 0;
  /// Wakes a thread that waits in progress().
  virtual void wake() = 0;
  /// Called when a rank of this process has processed data that arrived at time `at`; for
  /// transports with a simulated clock.
  virtual void reach(int64_t rank, int64_t at) {}

  /// Sets the failure, and tries for a short time to notify all peers.
  void fail(std::string text);
  /// Announces that a rank of this process leaves a run.
  void leaveRun(int64_t rank, int64_t run);
  /// If a member of the channel that the operation waits for has left the run or the job, describes
  /// which one. A member announces its departure after sending all its data, so no data from it can
  /// still be in flight.
  std::optional<std::string> departedMember(const OrderedChannel &channel,
                                            const Operation *operation, int64_t run);
  /// Publishes the status of a rank of this process, for the error messages of peers.
  void publishStatus(int64_t rank, std::string_view status);
  std::string peerStatus(int64_t rank);
  Traffic traffic();

protected:
  /// A message that is being received, and the destination of its bytes.
  struct Incoming {
    Header header;
    Expected *expected = nullptr;  // null: it is unexpected and is buffered in `parked`
    std::vector<std::byte> parked; // until a receive is posted for it
    std::byte *begin() { return expected ? expected->to + header.offset : parked.data(); }
  };
  // Call the functions below with `mutex` held, unless their comment says otherwise.
  void begin(Incoming &incoming, const Header &header);
  /// Counts `bytes` more received bytes; a transport may count several parts at once.
  static void count(const Incoming &incoming, size_t bytes);
  /// Completes the message.
  void end(Incoming &incoming);
  /// Handles a message that has arrived completely.
  void deliver(const Header &header, std::span<const std::byte> bytes);
  /// Whether a message that is being received matches this newly posted receive. If so, moves the
  /// `have` bytes that have already arrived.
  bool matchReceive(Incoming &incoming, Expected &expected, size_t have);

  /// Sends to another process. If `sent` is null, the bytes are copied before this returns.
  virtual void post(int64_t process, const Header &header, std::span<const std::byte> bytes,
                    Sent *sent) = 0;
  /// Called when a receive was posted (adopt) or cancelled (abandon), for transports that may have
  /// received part of a matching message by then.
  virtual void adopt(Expected &) {}
  virtual void abandon(Expected &) {}
  virtual void withdraw(Sent &sent) = 0;
  /// Makes progress until all posted messages have been sent, for at most `longest`. Takes the
  /// mutex.
  virtual void flushFor(std::chrono::milliseconds longest) = 0;

  void tellAll(Header header, std::string_view text);
  /// Announces an orderly exit, so that peers do not report that this process died. Takes the
  /// mutex.
  void sayGoodbye();
  /// Handles the end of the connection to `process`: the process has died, unless it said goodbye.
  void lose(int64_t process, std::string_view where, std::string_view why);

  const Membership membership;
  FailureBox &failure;
  std::mutex mutex;
  // guarded by mutex:
  Traffic sentBytes;

private:
  static bool isFitting(Expected &expected, const Header &header);
  void forwardFailure();

  std::atomic<bool> hasForwardedFailure = false;
  // guarded by mutex:
  std::vector<int64_t> others; // processes
  std::unordered_map<Key, Expected *, KeyHash> expectations;
  struct Parked {
    Header header;
    std::vector<std::byte> bytes;
  };
  std::unordered_map<Key, std::vector<Parked>, KeyHash> early;
  std::vector<int64_t> leftRuns;           // by rank
  std::map<int64_t, bool> haveSaidGoodbye; // by process
  std::map<int64_t, std::string> statuses; // by rank, its latest status
};

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGES_H
