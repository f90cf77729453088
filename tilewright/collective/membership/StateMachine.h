// StateMachine: the membership protocol as a pure state machine, without threads, clocks or
// sockets.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_STATEMACHINE_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_STATEMACHINE_H

#include "tilewright/collective/membership/Message.h"
#include "tilewright/collective/membership/Overlay.h"

namespace tilewright::collective::membership {

/// The outputs of a state machine. It calls them while it handles an event; they must not call
/// event functions.
class Effects {
public:
  virtual ~Effects() = default;
  virtual void send(size_t place, const Message &message) = 0;
  /// The epoch is over. Called once for each epoch, before the next view is delivered.
  virtual void over(uint64_t epoch, const Reason &reason) = 0;
  virtual void deliver(uint64_t epoch, const Places &members) = 0;
  /// The process is out of the job for good, and its connections must be closed. This is the last
  /// call.
  virtual void stop(Status status) = 0;
};

/// One process's part of the protocol in docs/design/membership.md, which proves its safety. All
/// inputs are events. Time passes only through beat(), and every timeout is a number of beats.
class StateMachine {
public:
  struct Settings {
    /// The processes of the job, in ascending order; a place is an index into this list. Simulated
    /// machines share it.
    std::shared_ptr<const std::vector<int64_t>> processes;
    size_t self = 0;
    size_t dense = 64;          // up to so many processes, all are connected to each other
    uint64_t epoch = 0;         // of the first view
    int rendezvousBeats = 1200; // timeout for all processes to connect
    int silentBeats = 8;        // of silence after which a process is suspected
    int answerBeats = 8;        // timeout for answers to the leader
    int leadBeats = 24;         // timeout for the leader to make progress
    int settleBeats = 400;      // timeout for the next view
  };
  StateMachine(const Settings &settings, Effects &effects);

  // Events.
  void start() { completeRendezvous(); } // the first event
  void connected(size_t place);
  /// The connection was lost. This does not prove that the peer has ended.
  void lost(size_t place);
  /// The peer process, or its membership, has ended, and everything that it ever sent has been
  /// received.
  void ended(size_t place);
  void receive(size_t place, const Message &message);
  void beat();
  void suspect(uint64_t epoch, size_t place, std::string evidence);
  void revoke(uint64_t epoch, const Reason &reason);
  /// Leaves the job after notifying the other members.
  void leave();

  /// Whether a process that connects with this epoch is admitted; otherwise it is fenced.
  bool admits(size_t place, uint64_t epoch) const;

  /// The processes that this one must be connected to.
  const Places &neighbours() const { return overlay.neighbours(); }

  bool isStopped() const { return phase == Phase::stopped; }
  bool isOver() const { return phase == Phase::revoked; } // until the next view
  uint64_t epoch() const { return now; }
  const Places &members() const { return view; }

protected:
  /// The rules that make the protocol safe; all of them are active. Only
  /// testing/UnsafeStateMachine.h can disable one: the simulator must then find a violation.
  struct Rules {
    bool needsQuorum = true;    // a view needs a majority, or proof that all others have ended
    bool keepsPromises = true;  // a follower of a ballot accepts nothing of a lower ballot
    bool adoptsAccepted = true; // a leader proposes what may have been decided before
    bool comparesEpochs = true; // messages of another epoch do not count in this one
    bool proofNeedsAll = true;  // an end counts only after all that answer have seen it
    bool suspectsSilent = true; // silent processes are suspected
  };
  StateMachine(const Settings &settings, Effects &effects, const Rules &rules);

private:
  enum class Phase { rendezvous, member, revoked, stopped };
  enum class Step { none, preparing, proposing };

  size_t count() const { return settings.processes->size(); }
  int64_t processAt(size_t place) const { return (*settings.processes)[place]; }
  size_t self() const { return settings.self; }
  std::vector<int64_t> namesOf(const Places &places) const;
  Message make(Message::Type type) const;
  void send(size_t place, const Message &message);
  void sendTo(const Places &places, const Message &message);
  void passOn(Message message, size_t last);
  int &silenceOf(size_t neighbour);
  void spread();

  // Implemented in StateMachine.cpp: the rendezvous, the end of an epoch, messages of other epochs.
  void completeRendezvous();
  void loseInRendezvous(size_t place, std::string text);
  void cancel(const Reason &reason);
  void receiveInRendezvous(size_t place, const Message &message);
  void enter(uint64_t epoch, const Places &members);
  void end(const Reason &reason);
  bool accuse(size_t place, std::string evidence, bool hasLeft = false);
  void believe(const Message &message);
  bool isOfThisEpoch(size_t place, const Message &message);
  void stop(Error error, std::string text);

  // Implemented in Settle.cpp: agreement on the next view.
  size_t leader() const;
  void settle();
  void answer(size_t place, const Message &message);
  void noteReport(size_t place, const Message &message);
  void noteAnswer(size_t place);
  void prepare();
  void propose();
  void ask(Message::Type question, const Places &members);
  void askAgain();
  void decide();
  void weigh();
  void settleBeat();
  Places selected() const;
  bool isMajority(const Places &places) const;
  bool isQuorum(const Places &answered) const;
  void stopAsMinority();

  const Places &accused() const { return accusedOf(self()); } // by this process
  const Places &accusedOf(size_t place) const { return setOf(accusedBy, place); }
  const Places &endedOf(size_t place) const { return setOf(endedFor, place); }
  static const Places &setOf(const std::map<size_t, Places> &sets, size_t place) {
    static const Places none;
    const auto found = sets.find(place);
    return found == sets.end() ? none : found->second;
  }

  const Settings settings;
  const Rules rules;
  const Overlay overlay;
  Effects &effects;
  Phase phase = Phase::rendezvous;
  uint64_t now; // the current epoch
  Places view;
  Places connections; // the peers that are connected
  Places proven;      // processes that are known to have ended
  /// A neighbour, and the beats since its last message.
  struct Heard {
    uint32_t place;
    int beats;
  };
  std::vector<Heard> silence; // of all neighbours, ascending

  int waited = 0; // beats without progress

  // State of the rendezvous.
  int beatsInRendezvous = 0;
  Places arrived;      // processes that are connected to all others; only place 0 collects them
  size_t arrivals = 0; // the number of these
  bool hasSaidHere = false;
  /// Set if a peer disappeared when the first view may already have been delivered elsewhere.
  std::optional<Reason> doubt;

  // State after the epoch is over.
  Reason reason;
  int settling = 0;                   // beats
  std::map<size_t, Places> accusedBy; // by place: the processes that it accuses
  std::map<size_t, Places> endedFor;  // by place: the processes whose end it has seen
  /// The last report to a leader: the leader, the processes that this process accuses, and those
  /// whose end it has seen.
  std::optional<size_t> told;
  Places toldAccused, toldEnded;
  Ballot promised;                 // the highest ballot that this process follows
  uint64_t highestRound = 0;       // the highest round that this process has seen
  std::optional<size_t> following; // the leader whose ballot this process waits for
  Ballot accepted;
  Places acceptedMembers;
  // State of this process as leader.
  Step step = Step::none;
  Places asked, answered;
  size_t unanswered = 0; // of `asked`
  Message question;
  Ballot bestAccepted;
  Places bestMembers;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_STATEMACHINE_H
