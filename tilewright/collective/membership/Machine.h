// Machine: how processes agree on who belongs to their job; without threads, clocks and sockets.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MACHINE_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MACHINE_H

#include "tilewright/collective/membership/Message.h"

namespace tilewright::collective::membership {

/// What a machine wants done. Called from within its events; calls no events itself.
class Effects {
public:
  virtual ~Effects() = default;
  virtual void send(size_t place, const Message &message) = 0;
  /// The epoch is over. Once for each, before its successor is delivered.
  virtual void over(uint64_t epoch, const Reason &reason) = 0;
  virtual void deliver(uint64_t epoch, const Places &members) = 0;
  /// The process is out of the job for good: its connections are to be closed. The last effect.
  virtual void stop(Status status) = 0;
};

/// One process's part of the protocol in docs/design/membership.md, which says why it is safe. All
/// that happens comes as an event; time is a beat, and every wait is so many of them.
class Machine {
public:
  struct Settings {
    std::vector<int64_t> processes; // of the job, ascending: places are indices into this
    size_t self = 0;
    uint64_t epoch = 0;    // of the first view
    int meetBeats = 1200;  // for all to come
    int silentBeats = 8;   // without a word from another: it is suspected
    int answerBeats = 8;   // for all to answer who leads
    int leadBeats = 24;    // for who leads to get on
    int settleBeats = 400; // for the next view

    /// Rules that the simulator must miss when they are broken; never broken elsewhere.
    struct Rules {
      bool needsQuorum = true;    // a view needs a majority, or proof that all others have ended
      bool keepsPromises = true;  // who follows a ballot accepts nothing of a lower one
      bool adoptsAccepted = true; // who leads proposes what may have been agreed on before
      bool comparesEpochs = true; // what belongs to another epoch does not count in this one
      bool proofNeedsAll = true;  // an end counts once all who answer have seen it
      bool suspectsSilent = true; // whoever says nothing is suspected
    } rules;
  };
  Machine(const Settings &settings, Effects &effects);

  // Events.
  void start() { comeTogether(); } // the first
  void connected(size_t place);
  /// The connection is gone. Says nothing about the other process.
  void lost(size_t place);
  /// The other process, or its part in the job, has ended, and all that it ever sent was received.
  void ended(size_t place);
  void receive(size_t place, const Message &message);
  void beat();
  void suspect(uint64_t epoch, size_t place, std::string evidence);
  void revoke(uint64_t epoch, const Reason &reason);
  /// Ends the machine in good order.
  void leave();

  /// Whether somebody who comes with this epoch is let in; else it is out.
  bool admits(size_t place, uint64_t epoch) const;

  bool isStopped() const { return phase == Phase::stopped; }
  bool isOver() const { return phase == Phase::revoked; } // until the next view
  uint64_t epoch() const { return now; }
  const Places &members() const { return view; }

private:
  enum class Phase { meeting, member, revoked, stopped };
  enum class Step { none, preparing, proposing };

  size_t count() const { return settings.processes.size(); }
  size_t self() const { return settings.self; }
  std::vector<int64_t> namesOf(const Places &places) const;
  Message make(Message::Type type) const;
  void send(size_t place, const Message &message);
  void sendTo(const Places &places, const Message &message);

  // Machine.cpp: the meeting, what ends an epoch, what comes from another epoch.
  void comeTogether();
  void loseInMeeting(size_t place, std::string text);
  void cancel(const Reason &reason);
  void receiveInMeeting(size_t place, const Message &message);
  void enter(uint64_t epoch, const Places &members);
  void end(const Reason &reason);
  bool accuse(size_t place, std::string evidence, bool hasLeft = false);
  bool isOfThisEpoch(size_t place, const Message &message);
  void stop(Error error, std::string text);

  // Settle.cpp: agreeing on the next view.
  size_t leader() const;
  void settle();
  void answer(size_t place, const Message &message);
  void prepare();
  void propose();
  void ask(Message::Type question, const Places &members);
  void decide();
  void weigh();
  void settleBeat();
  Places selected() const;
  bool isMajority(const Places &places) const;
  bool isQuorum(const Places &answered) const;
  void stopAsMinority();

  const Settings settings;
  Effects &effects;
  Phase phase = Phase::meeting;
  uint64_t now; // epoch
  Places view;
  Places connections;       // that are there
  Places proven;            // who has ended
  std::vector<int> silence; // by place: beats since its last word

  int waited = 0; // beats since something got on

  // Of the meeting.
  int meeting = 0; // beats
  Places arrived;  // those who say that they are connected to all; for the lowest
  bool hasSaidHere = false;
  std::optional<Reason> doubt; // somebody went away after everybody may have come

  // Of an epoch that is over.
  Reason reason;
  int settling = 0;                // beats
  std::vector<Places> accusedBy;   // by place of the accuser
  std::vector<Places> endedFor;    // by place: whose end it has seen
  std::optional<size_t> told;      // who knows that this process accuses and has seen ...
  Places toldAccused, toldEnded;   // ... these
  Ballot promised;                 // the highest one that is followed
  uint64_t highestRound = 0;       // that was heard of
  std::optional<size_t> following; // who has a ballot that this process waits for
  Ballot accepted;
  Places acceptedMembers;
  // Of who leads.
  Step step = Step::none;
  Places asked, answered;
  Ballot bestAccepted;
  Places bestMembers;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MACHINE_H
