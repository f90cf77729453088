// How the members of an epoch that is over agree on the next view: one of them leads, the lowest
// that is not suspected; the others promise to follow its ballot, and accept what it proposes.
#include "tilewright/collective/membership/Machine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::membership {

size_t Machine::leader() const { return (view - accusedBy[self()]).lowest(); }

/// Two sets for which this is true have a member in common.
bool Machine::isMajority(const Places &places) const {
  const size_t twice = 2 * places.count();
  return twice > view.count() || (twice == view.count() && places.has(view.lowest()));
}

/// Whether those who answered may decide for all. If they are few, everybody else must have ended,
/// and each of them must have seen that: then none of them can hear of another decision any more.
bool Machine::isQuorum(const Places &answers) const {
  if (isMajority(answers) || !settings.rules.needsQuorum)
    return true;
  // Who has ended since it answered will not say what it has seen.
  const Places living = answers - endedFor[self()];
  const Places missing = view - living;
  if (!settings.rules.proofNeedsAll)
    return missing.isWithin(endedFor[self()]);
  bool isProven = true;
  living.forEach([&](size_t place) { isProven &= missing.isWithin(endedFor[place]); });
  return isProven;
}

/// Something is different: leads, or tells who leads.
void Machine::settle() {
  if (phase != Phase::revoked)
    return;
  const size_t lead = leader();
  if (lead == self()) {
    if (step != Step::none)
      weigh();
    else if (!following || accusedBy[self()].has(*following))
      prepare();
    return;
  }
  if (told == lead && toldAccused == accusedBy[self()] && toldEnded == endedFor[self()])
    return;
  if (told != lead)
    waited = 0;
  told = lead;
  toldAccused = accusedBy[self()];
  toldEnded = endedFor[self()];
  Message message = make(Message::accuse);
  message.accused = toldAccused;
  message.ended = toldEnded;
  message.reason = reason;
  send(lead, message);
}

void Machine::prepare() {
  promised = {std::max(highestRound, promised.round) + 1, self()};
  step = Step::preparing;
  following.reset();
  waited = 0;
  asked = view - accusedBy[self()];
  bestAccepted = accepted;
  bestMembers = acceptedMembers;
  ask(Message::prepare, view);
}

/// Those of `asked`, under the ballot that this process leads; its own answer is yes.
void Machine::ask(Message::Type question, const Places &members) {
  answered = Places();
  answered.add(self());
  Message message = make(question);
  message.ballot = promised;
  message.members = members;
  message.reason = reason;
  Places others = asked;
  others.remove(self());
  sendTo(others, message);
  weigh();
}

/// Those who answered, without one of each two of whom one accuses the other: who leads stays, and
/// so does an accuser that is not accused in return, because the accused may have died since it
/// answered; else the lower one.
Places Machine::selected() const {
  Places candidates;
  answered.forEach([&](size_t place) {
    if (!accusedBy[self()].has(place) && !accusedBy[place].has(self()))
      candidates.add(place);
  });
  Places suspects;
  candidates.forEach([&](size_t place) { suspects |= accusedBy[place]; });
  Places kept = candidates - suspects; // most often all; else there are few to be looked at
  kept.add(self());
  (candidates & suspects).forEach([&](size_t place) {
    bool isOut = false;
    candidates.forEach([&](size_t other) {
      isOut |= accusedBy[other].has(place) &&
               (!accusedBy[place].has(other) || (other < place && kept.has(other)));
    });
    if (!isOut)
      kept.add(place);
  });
  return kept;
}

void Machine::propose() {
  // What was accepted before may have been agreed on: then it stays.
  accepted = promised;
  acceptedMembers =
      bestAccepted.round > 0 && settings.rules.adoptsAccepted ? bestMembers : selected();
  step = Step::proposing;
  waited = 0;
  asked = answered;
  ask(Message::propose, acceptedMembers);
}

void Machine::decide() {
  Message message = make(Message::view);
  ++message.epoch;
  message.members = acceptedMembers;
  message.reason = reason;
  // Those who are out hear that they are, if they can be reached.
  sendTo(view, message);
  if (acceptedMembers.has(self())) {
    enter(message.epoch, message.members);
    return;
  }
  stop(Error::rankFenced,
       concat("process ", settings.processes[self()], " is not one of processes ",
              listed(namesOf(acceptedMembers)), " that go on with epoch ", message.epoch,
              "; it was given up and must join anew; epoch ", now,
              " is over: ", reason.toString()));
}

/// Goes on if enough have answered.
void Machine::weigh() {
  if (step == Step::preparing && (asked - accusedBy[self()]).isWithin(answered) &&
      isQuorum(answered))
    propose();
  else if (step == Step::proposing && isQuorum(answered))
    decide();
}

void Machine::answer(size_t place, const Message &message) {
  Message reply = make(Message::refuse);
  reply.ballot = message.ballot;
  reply.accused = accusedBy[self()];
  reply.ended = endedFor[self()];
  switch (message.type) {
  case Message::accuse:
    accusedBy[place] = message.accused;
    endedFor[place] |= message.ended;
    break;
  case Message::prepare:
  case Message::propose:
    highestRound = std::max(highestRound, message.ballot.round);
    if (message.ballot < promised && settings.rules.keepsPromises) {
      reply.accepted = promised;
      send(place, reply);
      return;
    }
    promised = message.ballot;
    following = place;
    step = Step::none;
    waited = 0;
    if (message.type == Message::prepare) {
      reply.type = Message::promise;
      reply.accepted = accepted;
      reply.members = acceptedMembers;
    } else {
      reply.type = Message::accept;
      accepted = message.ballot;
      acceptedMembers = message.members;
    }
    told = place;
    toldAccused = reply.accused;
    toldEnded = reply.ended;
    send(place, reply);
    return;
  case Message::promise:
    if (step != Step::preparing || message.ballot != promised)
      return;
    accusedBy[place] = message.accused;
    endedFor[place] |= message.ended;
    answered.add(place);
    if (message.accepted > bestAccepted) {
      bestAccepted = message.accepted;
      bestMembers = message.members;
    }
    break;
  case Message::accept:
    if (step != Step::proposing || message.ballot != promised)
      return;
    endedFor[place] |= message.ended;
    answered.add(place);
    break;
  case Message::refuse:
    highestRound = std::max(highestRound, message.accepted.round);
    if (step == Step::none || message.ballot != promised)
      return;
    // Somebody else leads. It may get on, and two who outbid each other do not.
    step = Step::none;
    following = message.accepted.place;
    waited = 0;
    return;
  case Message::revoke:
    break;
  default:
    return;
  }
  settle();
}

void Machine::stopAsMinority() {
  const Places left = view - accusedBy[self()];
  stop(Error::groupMinority,
       concat(
           "process ", settings.processes[self()], " reaches only processes ",
           listed(namesOf(left)), " of ", listed(namesOf(view)), " in epoch ", now,
           ", and does not know that the others have ended, so they may go on without it; after: ",
           reason.toString()));
}

void Machine::settleBeat() {
  if (++settling > settings.settleBeats) {
    stop(Error::groupUnsettled,
         concat("process ", settings.processes[self()], " has not agreed with processes ",
                listed(namesOf(view)), " on who goes on after epoch ", now, " in ",
                settings.settleBeats, " beats; after: ", reason.toString()));
    return;
  }
  const Places left = view - accusedBy[self()];
  if (settings.rules.needsQuorum && settling > settings.answerBeats && !isMajority(left) &&
      !(view - left).isWithin(endedFor[self()])) {
    stopAsMinority();
    return;
  }
  if (step == Step::none && waited > settings.leadBeats) {
    waited = 0;
    following.reset();
    if (leader() != self())
      accuse(leader(), "it leads and does not get on");
  }
  const bool isLate = step != Step::none && waited > settings.answerBeats;
  const Places silent = isLate ? asked - answered - accusedBy[self()] : Places();
  silent.forEach([&](size_t place) { accuse(place, "it does not answer"); });
  const uint64_t before = now;
  settle(); // perhaps it goes on without them
  if (!isLate || phase != Phase::revoked || now != before || waited == 0)
    return;
  if (silent.isEmpty())
    stopAsMinority(); // all answered, and are too few
  else if (step == Step::proposing)
    prepare();
  else
    waited = 0; // others may have to see an end yet
}

} // namespace tilewright::collective::membership
