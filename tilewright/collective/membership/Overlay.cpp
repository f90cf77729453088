#include "tilewright/collective/membership/Overlay.h"

namespace tilewright::collective::membership {

Overlay::Overlay(size_t count, size_t self, size_t dense)
    : count(count), self(self), dense(count <= dense) {
  if (this->dense)
    near = Places::firstOf(count);
  else
    forEachNear(self, [&](size_t place) { near.add(place); });
  near.remove(self);
}

template <typename Visit> void Overlay::forEachNear(size_t place, Visit visit) const {
  for (size_t step = 1; step < count; step *= 2) {
    visit((place + step) % count);
    visit((place + count - step) % count);
  }
}

Places Overlay::reachable(const Places &among) const {
  if (dense)
    return among;
  Places reached;
  reached.add(self);
  std::vector<size_t> todo{self};
  while (!todo.empty()) {
    const size_t place = todo.back();
    todo.pop_back();
    forEachNear(place, [&](size_t next) {
      if (among.has(next) && !reached.has(next)) {
        reached.add(next);
        todo.push_back(next);
      }
    });
  }
  return reached;
}

/// Along the shorter side of the circle.
size_t Overlay::distance(size_t from, size_t to) const {
  const size_t ahead = (to + count - from) % count;
  return std::min(ahead, count - ahead);
}

std::optional<size_t> Overlay::toward(size_t target, const Places &usable) const {
  std::optional<size_t> best;
  size_t least = count;
  usable.forEach([&](size_t place) {
    if (const size_t left = distance(place, target); left < least) {
      least = left;
      best = place;
    }
  });
  return best;
}

size_t Overlay::maxHops() const { return 16 + 4 * static_cast<size_t>(std::bit_width(count)); }

} // namespace tilewright::collective::membership
