// Messages: what carries collectives between processes that share no memory.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGES_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGES_H

#include "tilewright/collective/Driver.h"

#include <span>

namespace tilewright::collective::messages {

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
  enum Type : uint32_t { data, aborted, leftRun, goodbye, where, hello }; // hello: for carriers
  uint32_t magic = right;
  Type type = data;
  Key key;
  uint64_t site = 0;
  uint64_t offset = 0, bytes = 0; // of what follows, in what is expected
  int64_t process = 0;            // that sends it
  uint64_t number = 0;            // for carriers whose messages overtake each other
  int64_t at = 0;                 // for carriers with a clock of their own: when it arrives
  char text[80] = {};             // of the call

  /// Nobody sends more at once than it has memory for; whoever says so is not one of us.
  bool isRight() const { return magic == right && bytes <= (uint64_t(1) << 40); }
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
  std::atomic<int64_t> at = 0;           // the latest Header::at of what came
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

/// Brings messages to whoever expects them, and keeps those that come before. What carries them
/// from process to process (connections, a fabric, MPI, a simulation) derives from this. Nothing
/// here blocks except progress(). Thread-safe.
class Messages {
public:
  Messages(const Membership &membership, FailureBox &failure);
  virtual ~Messages() = default;

  /// Gives what comes for this to it, also what came before.
  void expect(Expected &expected);
  void forget(Expected &expected);

  /// Sends now what can be sent now, the rest as it goes on. Messages may overtake each other; if
  /// several have one key, `received` counts for nothing until they are all there.
  void send(const Key &key, uint64_t site, std::string_view text, uint64_t offset,
            std::span<const std::byte> bytes, Sent &sent);
  /// What was sent with this is not read any more.
  void forget(Sent &sent);

  /// Sends and receives what can be; waits up to `longest` if there is nothing.
  virtual void progress(std::chrono::milliseconds longest) = 0;
  /// Ends a progress() that waits.
  virtual void wake() = 0;
  /// A rank of this process goes on with what arrived then: for carriers with a clock of their own.
  virtual void reach(int64_t rank, int64_t at) {}

  /// Sets the failure, and tells the others as well as it goes in a moment.
  void fail(std::string text);
  /// Of a rank of this process.
  void leaveRun(int64_t rank, int64_t run);
  /// A member of the lane that is missing in the operation and has left the run or the job, with
  /// what it did: it said so behind all that it had sent.
  std::optional<std::string> whoNeverComes(const Lane &lane, const Operation *operation,
                                           int64_t run);
  /// Tells all others where a rank of this process is, for their messages.
  void say(int64_t rank, std::string_view where);
  std::string whereIs(int64_t rank);
  Traffic traffic();

protected:
  /// A message on its way in: where its bytes go.
  struct Incoming {
    Header header;
    Expected *expected = nullptr;  // null: it is parked
    std::vector<std::byte> parked; // until somebody expects it
    std::byte *begin() { return expected ? expected->to + header.offset : parked.data(); }
  };
  // All that follow are called with `mutex` held.
  void begin(Incoming &incoming, const Header &header);
  /// This many more bytes are where they belong; those of a message need not be told one by one.
  static void count(const Incoming &incoming, size_t bytes);
  /// The message is whole.
  void end(Incoming &incoming);
  /// One that is whole already.
  void deliver(const Header &header, std::span<const std::byte> bytes);
  /// Whether one that is being read finds its place now; `have` bytes of it have come.
  bool meets(Incoming &incoming, Expected &expected, size_t have);

  /// To another process. `sent` may be null; then the bytes are gone when this returns.
  virtual void post(int64_t process, const Header &header, std::span<const std::byte> bytes,
                    Sent *sent) = 0;
  /// For messages that are being read in parts: they find or lose their place.
  virtual void adopt(Expected &) {}
  virtual void abandon(Expected &) {}
  virtual void withdraw(Sent &sent) = 0;
  /// Does what is needed for posted messages to leave, for a moment at most. Takes the mutex.
  virtual void flushFor(std::chrono::milliseconds longest) = 0;

  void tellAll(Header header, std::string_view text);
  /// So that nobody takes this for a death. Takes the mutex.
  void sayGoodbye();
  /// The processes' connection has ended: a death, unless it said goodbye.
  void lose(int64_t process, std::string_view where, std::string_view why);

  const Membership membership;
  FailureBox &failure;
  std::mutex mutex;
  // guarded by mutex:
  Traffic sentBytes;

private:
  static bool isFitting(Expected &expected, const Header &header);
  void passOnFailure();

  std::atomic<bool> hasToldFailure = false;
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
  std::map<int64_t, std::string> wheres;   // by rank, what it said last
};

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGES_H
