#include "tilewright/collective/membership/testing/Witness.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective::membership {

static std::string text(const Places &places) {
  std::vector<size_t> list;
  places.forEach([&](size_t place) { list.push_back(place); });
  return listed(list);
}

void Witness::report(std::string text) {
  if (first.empty())
    first = std::move(text);
}

void Witness::add(size_t place) { nodes.push_back({place, {}, false}); }
void Witness::crash(size_t node) { nodes[node].hasEnded = true; }

void Witness::stop(size_t node) {
  if (nodes[node].hasEnded)
    report(concat("node ", node, " ends twice"));
  nodes[node].hasEnded = true;
}

void Witness::over(size_t node, uint64_t epoch) {
  Node &self = nodes[node];
  if (self.hasEnded || self.views.empty() || self.views.back().epoch != epoch ||
      self.views.back().isOver)
    report(concat("node ", node, " ends epoch ", epoch, ", which is not its current epoch"));
  else
    self.views.back().isOver = true;
}

void Witness::deliver(size_t node, uint64_t epoch, const Places &members) {
  Node &self = nodes[node];
  if (self.hasEnded)
    report(concat("node ", node, " delivers epoch ", epoch, " after it has stopped"));
  if (!members.has(self.place))
    report(concat("node ", node, " delivers epoch ", epoch, " with members ", text(members),
                  ", which do not include it"));
  if (!self.views.empty()) {
    const Delivered &last = self.views.back();
    if (epoch != last.epoch + 1)
      report(concat("node ", node, " delivers epoch ", epoch, " after epoch ", last.epoch));
    if (!last.isOver)
      report(concat("node ", node, " delivers epoch ", epoch, " before it has ended epoch ",
                    last.epoch));
    if (!members.isWithin(last.members))
      report(concat("node ", node, " delivers epoch ", epoch, " with members ", text(members),
                    ", which is not a subset of the previous members ", text(last.members)));
  } else if (epoch != 0) {
    report(concat("node ", node, " begins with epoch ", epoch, ", expected 0"));
  }
  // Each member of a view must have been in the previous view.
  if (epoch > 0)
    members.forEach([&](size_t place) {
      const bool hasJoined = std::any_of(nodes.begin(), nodes.end(), [&](const Node &other) {
        return other.place == place &&
               std::any_of(other.views.begin(), other.views.end(),
                           [&](const Delivered &view) { return view.epoch == epoch - 1; });
      });
      if (!hasJoined)
        report(concat("node ", node, " delivers epoch ", epoch, " with members ", text(members),
                      ", but process ", place, " was never in epoch ", epoch - 1));
    });
  for (size_t other = 0; other < nodes.size(); ++other) {
    if (nodes[other].hasEnded)
      continue;
    for (const Delivered &view : nodes[other].views)
      if (view.epoch == epoch && view.members != members)
        report(concat("epoch ", epoch, " has two views: ", text(members), " for node ", node,
                      " and ", text(view.members), " for node ", other));
  }
  self.views.push_back({epoch, members, false});
}

} // namespace tilewright::collective::membership
