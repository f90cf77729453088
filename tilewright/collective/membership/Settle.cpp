// Agreement on the next view after an epoch is over, in the style of Paxos. The leader is the
// lowest member that is not suspected. The other members promise to follow its ballot and accept
// its proposal.
#include "tilewright/collective/membership/StateMachine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::membership {

size_t StateMachine::leader() const { return (view - accusedBy[self()]).lowest(); }

/// A half that includes the lowest place also counts as a majority, so any two majorities have a
/// member in common.
bool StateMachine::isMajority(const Places &places) const {
  const size_t twice = 2 * places.count();
  return twice > view.count() || (twice == view.count() && places.has(view.lowest()));
}

/// Whether the processes that answered may decide for all. A minority may do so only if every
/// process that answered has seen that all other members have ended: then no other decision can
/// still reach them.
bool StateMachine::isQuorum(const Places &answers) const {
  if (isMajority(answers) || !rules.needsQuorum)
    return true;
  // Ignore answers of processes that have ended since, because they cannot report what they have
  // seen.
  const Places living = answers - endedFor[self()];
  const Places missing = view - living;
  if (!rules.proofNeedsAll)
    return missing.isWithin(endedFor[self()]);
  bool isProven = true;
  living.forEach([&](size_t place) { isProven &= missing.isWithin(endedFor[place]); });
  return isProven;
}

/// Called after every change: a leader continues its ballot, and the other members report to the
/// leader.
void StateMachine::settle() {
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

void StateMachine::prepare() {
  promised = {std::max(highestRound, promised.round) + 1, self()};
  step = Step::preparing;
  following.reset();
  waited = 0;
  asked = view - accusedBy[self()];
  bestAccepted = accepted;
  bestMembers = acceptedMembers;
  ask(Message::prepare, view);
}

/// Sends a question about this leader's ballot to the members `asked`, and counts the leader's own
/// answer as yes.
void StateMachine::ask(Message::Type question, const Places &members) {
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

/// The processes that answered, minus one of each pair in which one accuses the other. The leader
/// stays. An accuser that is not accused in return stays, because the accused may have died since
/// it answered. Otherwise the lower place stays.
Places StateMachine::selected() const {
  Places candidates;
  answered.forEach([&](size_t place) {
    if (!accusedBy[self()].has(place) && !accusedBy[place].has(self()))
      candidates.add(place);
  });
  Places suspects;
  candidates.forEach([&](size_t place) { suspects |= accusedBy[place]; });
  Places kept = candidates - suspects; // usually all of them, so the loop below is short
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

void StateMachine::propose() {
  // A view that was accepted in an earlier ballot may have been decided, so propose it again.
  accepted = promised;
  acceptedMembers = bestAccepted.round > 0 && rules.adoptsAccepted ? bestMembers : selected();
  step = Step::proposing;
  waited = 0;
  asked = answered;
  ask(Message::propose, acceptedMembers);
}

void StateMachine::decide() {
  Message message = make(Message::view);
  ++message.epoch;
  message.members = acceptedMembers;
  message.reason = reason;
  // Also inform evicted members that are still reachable.
  sendTo(view, message);
  if (acceptedMembers.has(self())) {
    enter(message.epoch, message.members);
    return;
  }
  stop(Error::rankFenced, concat("process ", settings.processes[self()],
                                 " was evicted and must rejoin: it is not among the members ",
                                 listed(namesOf(acceptedMembers)), " of epoch ", message.epoch,
                                 "; epoch ", now, " ended: ", reason.toString()));
}

/// Continues to the next step if enough processes have answered.
void StateMachine::weigh() {
  if (step == Step::preparing && (asked - accusedBy[self()]).isWithin(answered) &&
      isQuorum(answered))
    propose();
  else if (step == Step::proposing && isQuorum(answered))
    decide();
}

void StateMachine::answer(size_t place, const Message &message) {
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
    if (message.ballot < promised && rules.keepsPromises) {
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
    // Another process leads. Let it proceed, because two leaders that keep outbidding each other
    // make no progress.
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

void StateMachine::stopAsMinority() {
  const Places left = view - accusedBy[self()];
  stop(Error::groupMinority,
       concat("process ", settings.processes[self()], " reaches only processes ",
              listed(namesOf(left)), " of ", listed(namesOf(view)), " in epoch ", now,
              ", and the other processes may continue without it, because it cannot prove that "
              "they have ended; epoch ",
              now, " ended: ", reason.toString()));
}

void StateMachine::settleBeat() {
  if (++settling > settings.settleBeats) {
    stop(Error::groupUnsettled,
         concat("process ", settings.processes[self()], " timed out after ", settings.settleBeats,
                " heartbeats: processes ", listed(namesOf(view)),
                " did not agree on the members of epoch ", now + 1, "; epoch ", now,
                " ended: ", reason.toString()));
    return;
  }
  const Places left = view - accusedBy[self()];
  if (rules.needsQuorum && settling > settings.answerBeats && !isMajority(left) &&
      !(view - left).isWithin(endedFor[self()])) {
    stopAsMinority();
    return;
  }
  if (step == Step::none && waited > settings.leadBeats) {
    waited = 0;
    following.reset();
    if (leader() != self())
      accuse(leader(), "it leads the agreement and makes no progress");
  }
  const bool isLate = step != Step::none && waited > settings.answerBeats;
  const Places silent = isLate ? asked - answered - accusedBy[self()] : Places();
  silent.forEach([&](size_t place) { accuse(place, "it does not answer"); });
  const uint64_t before = now;
  settle(); // perhaps the rest is a quorum
  if (!isLate || phase != Phase::revoked || now != before || waited == 0)
    return;
  if (silent.isEmpty())
    stopAsMinority(); // all asked have answered, but are not a quorum
  else if (step == Step::proposing)
    prepare();
  else
    waited = 0; // other members may still have to see an end
}

} // namespace tilewright::collective::membership
