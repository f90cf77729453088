#include "tilewright/collective/membership/Machine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::membership {

Machine::Machine(const Settings &settings, Effects &effects)
    : settings(settings), effects(effects), now(settings.epoch), silence(count(), 0),
      accusedBy(count()), endedFor(count()) {}

std::vector<int64_t> Machine::namesOf(const Places &places) const {
  std::vector<int64_t> names;
  places.forEach([&](size_t place) { names.push_back(settings.processes[place]); });
  return names;
}

Message Machine::make(Message::Type type) const {
  Message message;
  message.type = type;
  message.epoch = now;
  return message;
}

void Machine::send(size_t place, const Message &message) {
  if (connections.has(place))
    effects.send(place, message);
}

void Machine::sendTo(const Places &places, const Message &message) {
  (places & connections).forEach([&](size_t place) { effects.send(place, message); });
}

void Machine::stop(Error error, std::string text) {
  phase = Phase::stopped;
  effects.stop(Status(error, std::move(text)));
}

void Machine::leave() {
  if (phase == Phase::stopped)
    return;
  sendTo(connections, make(Message::leaving));
  phase = Phase::stopped;
}

bool Machine::admits(size_t place, uint64_t epoch) const {
  return phase == Phase::meeting && epoch == now && place != self() && place < count() &&
         !connections.has(place) && !proven.has(place);
}

// The meeting.

void Machine::connected(size_t place) {
  if (phase != Phase::meeting)
    return;
  connections.add(place);
  comeTogether();
}

/// The first view is delivered when everybody is connected to everybody, and not before: the
/// lowest process hears so from all.
void Machine::comeTogether() {
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

void Machine::cancel(const Reason &reason) {
  Message message = make(Message::cancelled);
  message.reason = reason;
  sendTo(connections, message);
  stop(Error::ranksNotConnected, concat("process ", settings.processes[self()],
                                        " cannot meet the others: ", reason.toString()));
}

void Machine::loseInMeeting(size_t place, std::string text) {
  const Reason reason = Reason::of(settings.processes[place], std::move(text));
  if (!hasSaidHere || self() == 0) {
    cancel(reason); // nobody can have the first view yet
    return;
  }
  // Others may have it, and are about to go on without who is gone.
  doubt = reason;
  waited = 0;
}

void Machine::receiveInMeeting(size_t place, const Message &message) {
  switch (message.type) {
  case Message::here:
    arrived.add(place);
    comeTogether();
    return;
  case Message::cancelled:
    stop(Error::ranksNotConnected, concat("process ", settings.processes[place],
                                          " cannot meet the others: ", message.reason.toString()));
    return;
  case Message::out:
    stop(Error::rankFenced, concat("process ", settings.processes[self()], " comes with epoch ",
                                   now, ", and process ", settings.processes[place], " has epoch ",
                                   message.epoch, "; whoever was given up must join anew"));
    return;
  case Message::leaving:
    loseInMeeting(place, "it has left the job");
    return;
  default:
    // Anything else is said by those who have the first view only.
    if (hasSaidHere && message.epoch == now) {
      enter(now, Places::firstOf(count()));
      receive(place, message);
    }
  }
}

// Epochs.

void Machine::enter(uint64_t epoch, const Places &members) {
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
  // Some may have gone while they were agreed on.
  Places gone = view - connections;
  gone.remove(self());
  gone.forEach([&](size_t place) {
    accuse(place, proven.has(place) ? "its process has ended" : "its connection was lost");
  });
  settle();
}

void Machine::end(const Reason &why) {
  if (phase != Phase::member)
    return;
  phase = Phase::revoked;
  reason = why;
  waited = settling = 0;
  effects.over(now, reason);
}

/// True if that ended the epoch.
bool Machine::accuse(size_t place, std::string evidence) {
  if (!view.has(place) || place == self() || accusedBy[self()].has(place))
    return false;
  accusedBy[self()].add(place);
  const bool isFirst = phase == Phase::member;
  end(Reason::of(settings.processes[place], std::move(evidence)));
  return isFirst;
}

void Machine::lost(size_t place) {
  if (phase == Phase::stopped || !connections.has(place))
    return;
  connections.remove(place);
  if (phase == Phase::meeting) {
    loseInMeeting(place, "its connection was lost");
    return;
  }
  // Whoever else cannot reach it sees that, too; who leads tells the rest.
  accuse(place, "its connection was lost");
  settle();
}

void Machine::ended(size_t place) {
  if (phase == Phase::stopped || !connections.has(place))
    return;
  connections.remove(place);
  proven.add(place);
  if (phase == Phase::meeting) {
    loseInMeeting(place, "its process has ended");
    return;
  }
  endedFor[self()] = proven & view;
  accuse(place, "its process has ended");
  settle();
}

void Machine::suspect(uint64_t epoch, size_t place, std::string evidence) {
  if (epoch != now || (phase != Phase::member && phase != Phase::revoked))
    return;
  if (accuse(place, std::move(evidence))) {
    Message message = make(Message::revoke);
    message.reason = reason;
    sendTo(view, message);
  }
  settle();
}

void Machine::revoke(uint64_t epoch, const Reason &why) {
  if (epoch != now || phase != Phase::member)
    return;
  end(why);
  Message message = make(Message::revoke);
  message.reason = reason;
  sendTo(view, message);
  settle();
}

/// Looks after messages of other epochs. False if there is nothing else to do with this one.
bool Machine::isOfThisEpoch(size_t place, const Message &message) {
  if (message.type == Message::out) {
    if (message.epoch > now)
      stop(Error::rankFenced,
           concat("process ", settings.processes[self()], " has epoch ", now, ", and process ",
                  settings.processes[place], " has gone on to epoch ", message.epoch,
                  " without it; it was given up and must join anew"));
    return false;
  }
  if (!settings.rules.comparesEpochs && view.has(place) && message.epoch < now)
    return true;
  if (!view.has(place) || message.epoch < now) {
    if (message.type == Message::promise || message.type == Message::accept ||
        message.type == Message::refuse)
      return false; // who asked has told it meanwhile
    // It has missed a view, or has been left out of one.
    Message reply = make(view.has(place) ? Message::view : Message::out);
    reply.members = view;
    reply.reason.text = "the others have gone on to the next epoch";
    send(place, reply);
    return false;
  }
  if (message.epoch == now)
    return true;
  if (message.type != Message::view && message.type != Message::prepare)
    return false; // it is ahead; the view comes from who led, or as an answer
  end(message.type == Message::view ? message.reason
                                    : Reason::of(-1, "the others have gone on to the next epoch"));
  if (!message.members.has(self())) {
    stop(Error::rankFenced,
         concat("process ", settings.processes[self()], " is not one of processes ",
                listed(namesOf(message.members)), " that go on with epoch ", message.epoch,
                "; it was given up and must join anew; epoch ", now,
                " is over: ", reason.toString()));
    return false;
  }
  enter(message.epoch, message.members);
  return phase != Phase::stopped && message.type == Message::prepare && message.epoch == now;
}

void Machine::receive(size_t place, const Message &message) {
  if (phase == Phase::stopped)
    return;
  if (phase == Phase::meeting) {
    receiveInMeeting(place, message);
    return;
  }
  silence[place] = 0;
  if (message.type == Message::leaving) {
    // Its part has ended, and this was its last word, wherever it lives.
    proven.add(place);
    endedFor[self()] = proven & view;
  }
  if (message.type == Message::leaving || message.type == Message::cancelled) {
    accuse(place,
           message.type == Message::leaving ? "it has left the job" : message.reason.toString());
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

void Machine::beat() {
  if (phase == Phase::stopped)
    return;
  ++waited;
  if (phase == Phase::meeting) {
    ++meeting;
    if (doubt && waited > settings.answerBeats) {
      cancel(*doubt);
    } else if (meeting > settings.meetBeats) {
      const Places all = Places::firstOf(count());
      Places missing = all - (hasSaidHere ? arrived : connections);
      missing.remove(self());
      if (hasSaidHere && self() != 0)
        cancel(Reason::of(settings.processes[0], "it waits for others to come"));
      else
        cancel(Reason::of(
            -1, concat("processes ", listed(namesOf(missing)), " have not come in time")));
    }
    return;
  }
  Places others = view & connections;
  sendTo(others, make(Message::alive));
  others.forEach([&](size_t place) {
    if (++silence[place] >= settings.silentBeats && settings.rules.suspectsSilent)
      accuse(place, "it has fallen silent: stopped, or cut off");
  });
  if (phase == Phase::revoked)
    settleBeat();
}

} // namespace tilewright::collective::membership
