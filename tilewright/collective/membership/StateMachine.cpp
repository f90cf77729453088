#include "tilewright/collective/membership/StateMachine.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective::membership {

StateMachine::StateMachine(const Settings &settings, Effects &effects)
    : StateMachine(settings, effects, Rules()) {}

StateMachine::StateMachine(const Settings &settings, Effects &effects, const Rules &rules)
    : settings(settings), rules(rules), overlay(count(), settings.self, settings.dense),
      effects(effects), now(settings.epoch) {
  neighbours().forEach([&](size_t place) { silence.push_back({static_cast<uint32_t>(place), 0}); });
}

std::vector<int64_t> StateMachine::namesOf(const Places &places) const {
  std::vector<int64_t> names;
  places.forEach([&](size_t place) { names.push_back(processAt(place)); });
  return names;
}

Message StateMachine::make(Message::Type type) const {
  Message message;
  message.type = type;
  message.epoch = now;
  return message;
}

void StateMachine::send(size_t place, const Message &message) {
  if (connections.has(place)) {
    effects.send(place, message);
  } else if (!overlay.isDense()) {
    Message routed = message;
    routed.route = {self(), place};
    passOn(std::move(routed), self());
  }
}

void StateMachine::sendTo(const Places &places, const Message &message) {
  if (overlay.isDense()) {
    (places & connections).forEach([&](size_t place) { effects.send(place, message); });
    return;
  }
  Places others = places;
  others.remove(self());
  others.forEach([&](size_t place) { send(place, message); });
}

/// Sends a routed message towards its receiver; `last` is the neighbour that it came from, unless
/// this process sent it. If it cannot be forwarded it is lost; the protocol's timeouts then apply.
void StateMachine::passOn(Message message, size_t last) {
  // A neighbour that is suspected or evicted may accept a message but not forward it.
  Places usable = phase == Phase::rendezvous ? connections : (connections & view) - accused();
  usable.remove(last);
  if (++message.route->hops > overlay.maxHops())
    return;
  if (const auto next = overlay.toward(message.route->to, usable))
    effects.send(*next, message);
}

/// In a large job, tells the neighbours that the epoch is over, and which processes this one knows
/// to be at fault. Each process forwards what is new to it, so all processes know it after at most
/// log2(n) hops.
void StateMachine::spread() {
  if (overlay.isDense() || phase != Phase::revoked)
    return;
  Message message = make(Message::revoke);
  message.reason = reason;
  message.accused = accused();
  (view & connections).forEach([&](size_t place) { effects.send(place, message); });
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
  return phase == Phase::rendezvous && epoch == now && neighbours().has(place) &&
         !connections.has(place) && !proven.has(place);
}

// Rendezvous.

void StateMachine::connected(size_t place) {
  if (phase != Phase::rendezvous)
    return;
  connections.add(place);
  completeRendezvous();
}

/// Delivers the first view once all processes are connected; each process reports to the lowest
/// place when it is connected to all of its neighbours.
void StateMachine::completeRendezvous() {
  if (!hasSaidHere && connections.count() == neighbours().count()) {
    hasSaidHere = true;
    arrivals += !arrived.has(self());
    arrived.add(self());
    if (self() != 0)
      send(0, make(Message::here));
  }
  if (self() != 0 || arrivals != count())
    return;
  const Places all = Places::firstOf(count());
  Message message = make(Message::view);
  message.members = all;
  sendTo(all, message);
  enter(now, all);
}

void StateMachine::cancel(const Reason &reason) {
  Message message = make(Message::cancelled);
  message.reason = reason;
  sendTo(connections, message);
  stop(Error::ranksNotConnected,
       concat("process ", processAt(self()), " cannot join the group: ", reason.toString()));
}

void StateMachine::loseInRendezvous(size_t place, std::string text) {
  const Reason reason = Reason::of(processAt(place), std::move(text));
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
    arrivals += !arrived.has(place);
    arrived.add(place);
    completeRendezvous();
    return;
  case Message::cancelled:
    stop(Error::ranksNotConnected, concat("process ", processAt(place),
                                          " cannot join the group: ", message.reason.toString()));
    return;
  case Message::out:
    stop(Error::rankFenced, concat("process ", processAt(self()), " joined with epoch ", now,
                                   ", but process ", processAt(place), " is in epoch ",
                                   message.epoch, "; an evicted process must rejoin"));
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
  accusedBy.clear();
  endedFor.clear();
  endedFor[self()] = proven & view;
  told.reset();
  toldAccused = toldEnded = Places();
  promised = accepted = Ballot();
  highestRound = 0;
  following.reset();
  step = Step::none;
  effects.deliver(now, view);
  // Some members may have disconnected while the view was being agreed on.
  const Places gone = (view & neighbours()) - connections;
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
  spread();
}

/// Returns true if the accusation ended the epoch.
bool StateMachine::accuse(size_t place, std::string evidence, bool hasLeft) {
  if (!view.has(place) || place == self() || accused().has(place))
    return false;
  accusedBy[self()].add(place);
  const bool isFirst = phase == Phase::member;
  Reason why = Reason::of(processAt(place), std::move(evidence));
  why.hasLeft = hasLeft;
  if (isFirst)
    end(why);
  else
    spread();
  return isFirst;
}

/// In a large job, also suspects processes that one of their neighbours suspects. About its own
/// neighbours a process relies on its own observations.
void StateMachine::believe(const Message &message) {
  if (overlay.isDense())
    return;
  (message.accused - neighbours()).forEach([&](size_t place) {
    const bool isReason = message.reason.process == processAt(place);
    accuse(place, isReason ? message.reason.text : "its neighbours suspect it",
           isReason && message.reason.hasLeft);
  });
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
  if (accuse(place, std::move(evidence)) && overlay.isDense()) {
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
  if (overlay.isDense()) {
    Message message = make(Message::revoke);
    message.reason = reason;
    sendTo(view, message);
  }
  settle();
}

/// Handles messages of other epochs. Returns false if the message needs no further processing.
bool StateMachine::isOfThisEpoch(size_t place, const Message &message) {
  if (message.type == Message::out) {
    if (message.epoch > now)
      stop(Error::rankFenced, concat("process ", processAt(self()), " is in epoch ", now,
                                     ", but process ", processAt(place), " has moved on to epoch ",
                                     message.epoch, " without it; it was evicted and must rejoin"));
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
    stop(Error::rankFenced, concat("process ", processAt(self()),
                                   " was evicted and must rejoin: it is not among the members ",
                                   listed(namesOf(message.members)), " of epoch ", message.epoch,
                                   "; epoch ", now, " ended: ", reason.toString()));
    return false;
  }
  enter(message.epoch, message.members);
  return phase != Phase::stopped && message.type == Message::prepare && message.epoch == now;
}

int &StateMachine::silenceOf(size_t neighbour) {
  return std::lower_bound(silence.begin(), silence.end(), neighbour,
                          [](const Heard &heard, size_t place) { return heard.place < place; })
      ->beats;
}

void StateMachine::receive(size_t neighbour, const Message &message) {
  if (phase == Phase::stopped || !neighbours().has(neighbour))
    return;
  silenceOf(neighbour) = 0;
  if (message.route && message.route->to != self()) {
    if (message.route->to < count() && !overlay.isDense())
      passOn(message, neighbour);
    return;
  }
  const size_t place = message.route ? message.route->from : neighbour;
  if (place >= count() || place == self())
    return;
  if (phase == Phase::rendezvous) {
    receiveInRendezvous(place, message);
    return;
  }
  if (message.type == Message::leaving) {
    // The peer's membership ends with this message, even if its process is still running.
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
  if (!isOfThisEpoch(place, message) || message.type == Message::alive)
    return;
  if (message.type == Message::revoke || message.type == Message::accuse ||
      message.type == Message::prepare || message.type == Message::propose) {
    believe(message);
    end(message.reason);
  }
  answer(place, message);
}

void StateMachine::beat() {
  if (phase == Phase::stopped)
    return;
  ++waited;
  if (phase == Phase::rendezvous) {
    ++beatsInRendezvous;
    // Processes that should forward it may not have been connected yet.
    if (hasSaidHere && self() != 0 && !overlay.isDense())
      send(0, make(Message::here));
    if (doubt && waited > settings.answerBeats) {
      cancel(*doubt);
    } else if (beatsInRendezvous > settings.rendezvousBeats) {
      const Places all = Places::firstOf(count());
      Places missing = hasSaidHere ? all - arrived : neighbours() - connections;
      missing.remove(self());
      if (hasSaidHere && self() != 0)
        cancel(Reason::of(processAt(0), "it waits for other processes to connect"));
      else
        cancel(Reason::of(
            -1, concat("processes ", listed(namesOf(missing)), " did not connect in time")));
    }
    return;
  }
  Places others = view & connections;
  sendTo(others, make(Message::alive));
  others.forEach([&](size_t place) {
    if (++silenceOf(place) >= settings.silentBeats && rules.suspectsSilent)
      accuse(place, "its heartbeats stopped: it is paused or disconnected");
  });
  if (phase == Phase::revoked)
    settleBeat();
}

} // namespace tilewright::collective::membership
