// UnsafeStateMachine: the protocol without some of its rules, to show that tests notice that.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_UNSAFESTATEMACHINE_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_UNSAFESTATEMACHINE_H

#include "tilewright/collective/membership/StateMachine.h"

namespace tilewright::collective::membership {

/// A StateMachine for which the caller may disable rules. With all rules it is the protocol itself.
class UnsafeStateMachine : public StateMachine {
public:
  using StateMachine::Rules;

  UnsafeStateMachine(const Settings &settings, Effects &effects, const Rules &rules)
      : StateMachine(settings, effects, rules) {}
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_UNSAFESTATEMACHINE_H
