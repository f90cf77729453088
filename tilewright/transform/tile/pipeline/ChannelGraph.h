// ChannelGraph: roles (specialized warps) that pass slots through channels, and a check that they
// cannot deadlock.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_CHANNELGRAPH_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_CHANNELGRAPH_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::pipeline {

/// The four operations of a channel's protocol, as in the `sm` dialect.
enum class Point { acquire, publish, take, free };

struct Action {
  Point point;
  unsigned channel;
};

/// Actions that a role repeats `times` times in sequence.
struct Segment {
  int64_t times = 1;
  llvm::SmallVector<Action> actions;
};

/// The program of a role for one round, which is one point of the grid of a persistent kernel. The
/// role repeats it for each point.
struct RoleProgram {
  std::string name;
  llvm::SmallVector<Segment> segments;
};

/// A channel with `depth` slots, of which `filled` are full at the start.
struct Queue {
  std::string name;
  int64_t depth;
  int64_t filled = 0;
};

struct ChannelGraph {
  llvm::SmallVector<Queue> channels;
  llvm::SmallVector<RoleProgram> roles;
};

/// Explains why the graph may deadlock; nullopt if it cannot. One unrolled round forms a marked
/// graph: the n-th take needs the n-th publish, the n-th acquire needs the free `depth` before it,
/// and each action needs the one before it in its role. Edges from the previous round hold a token.
/// A marked graph is live if and only if each of its cycles holds a token; this does not depend on
/// the order in which the roles run. The explanation names the smallest cycle without a token.
///
/// The protocol is checked first, because the proof relies on it, and so does the parity bit of an
/// mbarrier: a role that waits for phase n of a slot would misread the parity if phase n + 1 were
/// complete too. That cannot happen. Phase n + 1 completes only after the slot was acquired again,
/// and hence freed by every role that takes it, including the waiting role, which frees it only
/// after its wait.
std::optional<std::string> findDeadlock(const ChannelGraph &graph);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_CHANNELGRAPH_H
