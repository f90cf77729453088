// Agreement on the next view after an epoch is over, in the style of Paxos. The leader is the
// lowest member that is not suspected. The other members promise to follow its ballot and accept
// its proposal.
#include "tilewright/collective/membership/StateMachine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::membership {

size_t StateMachine::leader() const { return (view - accused()).lowest(); }

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
  // In a large job a process sees the end of only its neighbours, and messages may take a different
  // path than the end of a connection.
  if (!overlay.isDense())
    return false;
  // Ignore answers of processes that have ended since, because they cannot report what they have
  // seen.
  const Places living = answers - endedOf(self());
  const Places missing = view - living;
  if (!rules.proofNeedsAll)
    return missing.isWithin(endedOf(self()));
  bool isProven = true;
  living.forEach([&](size_t place) { isProven &= missing.isWithin(endedOf(place)); });
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
    else if (!following || accused().has(*following))
      prepare();
    return;
  }
  if (told == lead && toldAccused == accused() && toldEnded == endedOf(self()))
    return;
  if (told != lead)
    waited = 0;
  told = lead;
  toldAccused = accused();
  toldEnded = endedOf(self());
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
  asked = view - accused();
  bestAccepted = accepted;
  bestMembers = acceptedMembers;
  ask(Message::prepare, view);
}

/// Sends a question about this leader's ballot to the members `asked`, and counts the leader's own
/// answer as yes.
void StateMachine::ask(Message::Type question, const Places &members) {
  answered = Places();
  answered.add(self());
  unanswered = asked.count() - 1;
  this->question = make(question);
  this->question.ballot = promised;
  this->question.members = members;
  this->question.reason = reason;
  askAgain();
  weigh();
}

/// Sends the question to the members that have not answered.
void StateMachine::askAgain() {
  // Use a copy: an answer may arrive immediately and end the epoch.
  const Message message = question;
  sendTo(asked - answered, message);
}

/// The processes that answered, minus one of each pair in which one accuses the other. The leader
/// stays. An accuser that is not accused in return stays, because the accused may have died since
/// it answered. Otherwise the lower place stays.
Places StateMachine::selected() const {
  Places candidates;
  answered.forEach([&](size_t place) {
    if (!accused().has(place) && !accusedOf(place).has(self()))
      candidates.add(place);
  });
  Places suspects;
  candidates.forEach([&](size_t place) { suspects |= accusedOf(place); });
  Places kept = candidates - suspects; // usually all of them, so the loop below is short
  kept.add(self());
  (candidates & suspects).forEach([&](size_t place) {
    bool isOut = false;
    candidates.forEach([&](size_t other) {
      isOut |= accusedOf(other).has(place) &&
               (!accusedOf(place).has(other) || (other < place && kept.has(other)));
    });
    if (!isOut)
      kept.add(place);
  });
  return overlay.reachable(kept);
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
  stop(Error::rankFenced, concat("process ", processAt(self()),
                                 " was evicted and must rejoin: it is not among the members ",
                                 listed(namesOf(acceptedMembers)), " of epoch ", message.epoch,
                                 "; epoch ", now, " ended: ", reason.toString()));
}

/// Continues to the next step if enough processes have answered.
void StateMachine::weigh() {
  if (step == Step::preparing && unanswered <= accused().count() &&
      (asked - accused()).isWithin(answered) && isQuorum(answered))
    propose();
  else if (step == Step::proposing && isQuorum(answered))
    decide();
}

/// Most processes report nothing, so sets are kept only for those that do.
void StateMachine::noteReport(size_t place, const Message &message) {
  if (message.accused.isEmpty())
    accusedBy.erase(place);
  else
    accusedBy[place] = message.accused;
  if (!message.ended.isEmpty())
    endedFor[place] |= message.ended;
}

void StateMachine::noteAnswer(size_t place) {
  unanswered -= asked.has(place) && !answered.has(place);
  answered.add(place);
}

void StateMachine::answer(size_t place, const Message &message) {
  Message reply = make(Message::refuse);
  reply.ballot = message.ballot;
  reply.accused = accused();
  reply.ended = endedOf(self());
  switch (message.type) {
  case Message::accuse:
    noteReport(place, message);
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
    noteReport(place, message);
    noteAnswer(place);
    if (message.accepted > bestAccepted) {
      bestAccepted = message.accepted;
      bestMembers = message.members;
    }
    break;
  case Message::accept:
    if (step != Step::proposing || message.ballot != promised)
      return;
    if (!message.ended.isEmpty())
      endedFor[place] |= message.ended;
    noteAnswer(place);
    break;
  case Message::refuse:
    highestRound = std::max(highestRound, message.accepted.round);
    if (step == Step::none || message.ballot != promised)
      return;
    // Another process leads. Let it proceed: two leaders that keep outbidding each other would make
    // no progress.
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
  const Places left = view - accused();
  stop(Error::groupMinority,
       concat("process ", processAt(self()), " reaches only processes ", listed(namesOf(left)),
              " of ", listed(namesOf(view)), " in epoch ", now,
              ", and the other processes may continue without it, because it cannot prove that "
              "they have ended; epoch ",
              now, " ended: ", reason.toString()));
}

void StateMachine::settleBeat() {
  if (++settling > settings.settleBeats) {
    stop(Error::groupUnsettled,
         concat("process ", processAt(self()), " timed out after ", settings.settleBeats,
                " heartbeats: processes ", listed(namesOf(view)),
                " did not agree on the members of epoch ", now + 1, "; epoch ", now,
                " ended: ", reason.toString()));
    return;
  }
  const Places left = view - accused();
  if (rules.needsQuorum && settling > settings.answerBeats && !isMajority(left) &&
      !(view - left).isWithin(endedOf(self()))) {
    stopAsMinority();
    return;
  }
  // In a large job a question or an answer is lost if a process that should forward it has died.
  // Ask again, and wait until the death has been noticed.
  const int extra = overlay.isDense() ? 0 : 2 * settings.silentBeats;
  if (step == Step::none && waited > settings.leadBeats + extra) {
    waited = 0;
    following.reset();
    if (leader() != self())
      accuse(leader(), "it leads the agreement and makes no progress");
  }
  if (step != Step::none && !overlay.isDense() &&
      waited % std::max(1, settings.answerBeats / 4) == 0)
    askAgain();
  const bool isLate = step != Step::none && waited > settings.answerBeats + extra;
  const Places silent = isLate ? asked - answered - accused() : Places();
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
