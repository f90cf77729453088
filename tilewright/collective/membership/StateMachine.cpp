#include "tilewright/collective/membership/StateMachine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::membership {

StateMachine::StateMachine(const Settings &settings, Effects &effects)
    : StateMachine(settings, effects, Rules()) {}

StateMachine::StateMachine(const Settings &settings, Effects &effects, const Rules &rules)
    : settings(settings), rules(rules), effects(effects), now(settings.epoch), silence(count(), 0),
      accusedBy(count()), endedFor(count()) {}

std::vector<int64_t> StateMachine::namesOf(const Places &places) const {
  std::vector<int64_t> names;
  places.forEach([&](size_t place) { names.push_back(settings.processes[place]); });
  return names;
}

Message StateMachine::make(Message::Type type) const {
  Message message;
  message.type = type;
  message.epoch = now;
  return message;
}

void StateMachine::send(size_t place, const Message &message) {
  if (connections.has(place))
    effects.send(place, message);
}

void StateMachine::sendTo(const Places &places, const Message &message) {
  (places & connections).forEach([&](size_t place) { effects.send(place, message); });
}

void StateMachine::stop(Error error, std::string text) {
  phase = Phase::stopped;
  effects.stop(Status(error, std::move(text)));
}

void StateMachine::leave() {
  if (phase == Phase::stopped)
    return;
  sendTo(connections, make(Message::leaving));
  phase = Phase::stopped;
}

bool StateMachine::admits(size_t place, uint64_t epoch) const {
  return phase == Phase::rendezvous && epoch == now && place != self() && place < count() &&
         !connections.has(place) && !proven.has(place);
}

// Rendezvous.

void StateMachine::connected(size_t place) {
  if (phase != Phase::rendezvous)
    return;
  connections.add(place);
  completeRendezvous();
}

/// Delivers the first view once all processes are connected to each other; each process reports to
/// the lowest place when it is connected to all others.
void StateMachine::completeRendezvous() {
  if (connections.count() + 1 == count() && !hasSaidHere) {
    hasSaidHere = true;
    arrived.add(self());
    if (self() != 0)
      send(0, make(Message::here));
  }
  if (self() != 0 || arrived.count() != count())
    return;
  const Places all = Places::firstOf(count());
  Message message = make(Message::view);
  message.members = all;
  sendTo(connections, message);
  enter(now, all);
}

void StateMachine::cancel(const Reason &reason) {
  Message message = make(Message::cancelled);
  message.reason = reason;
  sendTo(connections, message);
  stop(Error::ranksNotConnected, concat("process ", settings.processes[self()],
                                        " cannot join the group: ", reason.toString()));
}

void StateMachine::loseInRendezvous(size_t place, std::string text) {
  const Reason reason = Reason::of(settings.processes[place], std::move(text));
  if (!hasSaidHere || self() == 0) {
    cancel(reason); // no process can have the first view yet
    return;
  }
  // Peers may already have the first view and be about to continue without the lost process.
  doubt = reason;
  waited = 0;
}

void StateMachine::receiveInRendezvous(size_t place, const Message &message) {
  switch (message.type) {
  case Message::here:
    arrived.add(place);
    completeRendezvous();
    return;
  case Message::cancelled:
    stop(Error::ranksNotConnected, concat("process ", settings.processes[place],
                                          " cannot join the group: ", message.reason.toString()));
    return;
  case Message::out:
    stop(Error::rankFenced,
         concat("process ", settings.processes[self()], " joined with epoch ", now,
                ", but process ", settings.processes[place], " is in epoch ", message.epoch,
                "; an evicted process must rejoin"));
    return;
  case Message::leaving:
    loseInRendezvous(place, "it has left the job");
    return;
  default:
    // Only processes that have the first view send the other types of messages.
    if (hasSaidHere && message.epoch == now) {
      enter(now, Places::firstOf(count()));
      receive(place, message);
    }
  }
}

// Epochs.

void StateMachine::enter(uint64_t epoch, const Places &members) {
  now = epoch;
  view = members;
  phase = Phase::member;
  waited = settling = 0;
  for (size_t place = 0; place < count(); ++place)
    accusedBy[place] = endedFor[place] = Places();
  endedFor[self()] = proven & view;
  told.reset();
  toldAccused = toldEnded = Places();
  promised = accepted = Ballot();
  highestRound = 0;
  following.reset();
  step = Step::none;
  effects.deliver(now, view);
  // Some members may have disconnected while the view was being agreed on.
  Places gone = view - connections;
  gone.remove(self());
  gone.forEach([&](size_t place) {
    accuse(place, proven.has(place) ? "its process has ended" : "its connection was lost");
  });
  settle();
}

void StateMachine::end(const Reason &why) {
  if (phase != Phase::member)
    return;
  phase = Phase::revoked;
  reason = why;
  waited = settling = 0;
  effects.over(now, reason);
}

/// Returns true if the accusation ended the epoch.
bool StateMachine::accuse(size_t place, std::string evidence, bool hasLeft) {
  if (!view.has(place) || place == self() || accusedBy[self()].has(place))
    return false;
  accusedBy[self()].add(place);
  const bool isFirst = phase == Phase::member;
  Reason why = Reason::of(settings.processes[place], std::move(evidence));
  why.hasLeft = hasLeft;
  end(why);
  return isFirst;
}

void StateMachine::lost(size_t place) {
  if (phase == Phase::stopped || !connections.has(place))
    return;
  connections.remove(place);
  if (phase == Phase::rendezvous) {
    loseInRendezvous(place, "its connection was lost");
    return;
  }
  // No message is needed: other processes that lose the connection notice it themselves, and the
  // leader informs the remaining members.
  accuse(place, "its connection was lost");
  settle();
}

void StateMachine::ended(size_t place) {
  if (phase == Phase::stopped || !connections.has(place))
    return;
  connections.remove(place);
  proven.add(place);
  if (phase == Phase::rendezvous) {
    loseInRendezvous(place, "its process has ended");
    return;
  }
  endedFor[self()] = proven & view;
  accuse(place, "its process has ended");
  settle();
}

void StateMachine::suspect(uint64_t epoch, size_t place, std::string evidence) {
  if (epoch != now || (phase != Phase::member && phase != Phase::revoked))
    return;
  if (accuse(place, std::move(evidence))) {
    Message message = make(Message::revoke);
    message.reason = reason;
    sendTo(view, message);
  }
  settle();
}

void StateMachine::revoke(uint64_t epoch, const Reason &why) {
  if (epoch != now || phase != Phase::member)
    return;
  end(why);
  Message message = make(Message::revoke);
  message.reason = reason;
  sendTo(view, message);
  settle();
}

/// Handles messages of other epochs. Returns false if the message needs no further processing.
bool StateMachine::isOfThisEpoch(size_t place, const Message &message) {
  if (message.type == Message::out) {
    if (message.epoch > now)
      stop(Error::rankFenced,
           concat("process ", settings.processes[self()], " is in epoch ", now, ", but process ",
                  settings.processes[place], " has moved on to epoch ", message.epoch,
                  " without it; it was evicted and must rejoin"));
    return false;
  }
  if (!rules.comparesEpochs && view.has(place) && message.epoch < now)
    return true;
  if (!view.has(place) || message.epoch < now) {
    if (message.type == Message::promise || message.type == Message::accept ||
        message.type == Message::refuse)
      return false; // the leader that asked has sent its decision meanwhile
    // The sender missed a view, or was evicted from one.
    Message reply = make(view.has(place) ? Message::view : Message::out);
    reply.members = view;
    reply.reason.text = "the other members have moved on to the next epoch";
    send(place, reply);
    return false;
  }
  if (message.epoch == now)
    return true;
  if (message.type != Message::view && message.type != Message::prepare)
    return false; // the sender is ahead; the leader will send the view, or it comes as a reply
  end(message.type == Message::view
          ? message.reason
          : Reason::of(-1, "the other members have moved on to the next epoch"));
  if (!message.members.has(self())) {
    stop(Error::rankFenced, concat("process ", settings.processes[self()],
                                   " was evicted and must rejoin: it is not among the members ",
                                   listed(namesOf(message.members)), " of epoch ", message.epoch,
                                   "; epoch ", now, " ended: ", reason.toString()));
    return false;
  }
  enter(message.epoch, message.members);
  return phase != Phase::stopped && message.type == Message::prepare && message.epoch == now;
}

void StateMachine::receive(size_t place, const Message &message) {
  if (phase == Phase::stopped)
    return;
  if (phase == Phase::rendezvous) {
    receiveInRendezvous(place, message);
    return;
  }
  silence[place] = 0;
  if (message.type == Message::leaving) {
    // The peer's membership has ended with this message, even if its process still runs.
    proven.add(place);
    endedFor[self()] = proven & view;
    accuse(place, "it has left the job", true);
    settle();
    return;
  }
  if (message.type == Message::cancelled) {
    accuse(place, message.reason.toString());
    settle();
    return;
  }
  if (!isOfThisEpoch(place, message))
    return;
  if (message.type == Message::revoke || message.type == Message::accuse ||
      message.type == Message::prepare || message.type == Message::propose)
    end(message.reason);
  answer(place, message);
}

void StateMachine::beat() {
  if (phase == Phase::stopped)
    return;
  ++waited;
  if (phase == Phase::rendezvous) {
    ++beatsInRendezvous;
    if (doubt && waited > settings.answerBeats) {
      cancel(*doubt);
    } else if (beatsInRendezvous > settings.rendezvousBeats) {
      const Places all = Places::firstOf(count());
      Places missing = all - (hasSaidHere ? arrived : connections);
      missing.remove(self());
      if (hasSaidHere && self() != 0)
        cancel(Reason::of(settings.processes[0], "it waits for other processes to connect"));
      else
        cancel(Reason::of(
            -1, concat("processes ", listed(namesOf(missing)), " did not connect in time")));
    }
    return;
  }
  Places others = view & connections;
  sendTo(others, make(Message::alive));
  others.forEach([&](size_t place) {
    if (++silence[place] >= settings.silentBeats && rules.suspectsSilent)
      accuse(place, "its heartbeats stopped: it is paused or disconnected");
  });
  if (phase == Phase::revoked)
    settleBeat();
}

} // namespace tilewright::collective::membership
