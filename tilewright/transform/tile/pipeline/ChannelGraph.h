// ChannelGraph: roles that pass slots to each other, and the proof that they never wait for each
// other for ever.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_CHANNELGRAPH_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_CHANNELGRAPH_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::pipeline {

/// The four points of a channel's protocol, as in `sm`.
enum class Point { acquire, publish, take, free };

struct Action {
  Point point;
  unsigned channel;
};

/// Actions that a role does so many times, one after the other.
struct Segment {
  int64_t times = 1;
  llvm::SmallVector<Action> actions;
};

/// What a role does in one round: for one point of a persistent kernel. It does it again and again.
struct RoleProgram {
  std::string name;
  llvm::SmallVector<Segment> segments;
};

/// `filled` of the `depth` slots are full at the start.
struct Queue {
  std::string name;
  int64_t depth;
  int64_t filled = 0;
};

struct ChannelGraph {
  llvm::SmallVector<Queue> channels;
  llvm::SmallVector<RoleProgram> roles;
};

/// Why the graph may stop, or nothing. It is a marked graph once a round is unrolled: the n-th take
/// needs the n-th publish, the n-th acquire the free `depth` before it, and each action the one
/// before it in its role; those that reach into the round before hold a token. A marked graph is
/// live if and only if each of its cycles holds a token, and then no order in which the roles run
/// makes a difference. The answer names the smallest cycle without one.
///
/// The protocol is checked first, because the rest stands on it, and so does the use of a parity
/// bit for the phase of a barrier: a role that waits for the n-th phase of a slot could only be
/// fooled if the phase after it were complete as well; but that needs the slot to be filled again,
/// so acquired again, so freed by every role that takes it, this one among them, which is after its
/// wait.
std::optional<std::string> findDeadlock(const ChannelGraph &graph);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_CHANNELGRAPH_H
