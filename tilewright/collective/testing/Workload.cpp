#include "tilewright/collective/testing/Workload.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilewright::collective::test {

uint64_t Chance::next() {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Divides all ranks into groups: all together, rows or columns of a mesh, or a random partition.
static std::vector<std::vector<int64_t>> groupsOf(Chance &chance, int64_t ranks) {
  std::vector<std::vector<int64_t>> groups;
  const int64_t width = ranks % 2 == 0 && ranks > 2 ? ranks / 2 : ranks;
  switch (chance.between(0, 4)) {
  case 0:
    return groups; // all ranks
  case 1:          // rows
    for (int64_t first = 0; first < ranks; first += width) {
      std::vector<int64_t> &row = groups.emplace_back(static_cast<size_t>(width));
      std::iota(row.begin(), row.end(), first);
    }
    return groups;
  case 2: // columns
    for (int64_t column = 0; column < width; ++column)
      for (int64_t rank = column; rank < ranks; rank += width)
        (rank == column ? groups.emplace_back() : groups.back()).push_back(rank);
    return groups;
  default: { // in random order, cut at random
    std::vector<int64_t> order(static_cast<size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[chance.between(0, i)]);
    groups.emplace_back();
    for (int64_t rank : order) {
      if (!groups.back().empty() && chance.isOne(3))
        groups.emplace_back();
      groups.back().push_back(rank);
    }
    return groups;
  }
  }
}

Step stepOf(uint64_t seed, uint64_t number, int64_t ranks, int64_t most) {
  Chance chance(seed * 0x10001 + number);
  Step step;
  step.isOverlapped = !chance.isOne(3);
  step.hasNewClique = number < 12 && number % 3 == 1;
  static constexpr ElementType elements[] = {ElementType::f32, ElementType::i32, ElementType::f64,
                                             ElementType::i8, ElementType::i64};
  const uint64_t tasks = chance.between(1, 5);
  for (uint64_t t = 0; t < tasks; ++t) {
    Task task;
    task.kind = chance.isOne(2) ? Kind::allReduce : static_cast<Kind>(chance.between(0, 8));
    task.element = elements[chance.between(0, std::size(elements))];
    // Sizes are roughly log-uniform, up to 4095 elements.
    const uint64_t bits = chance.between(0, 64);
    task.count = static_cast<int64_t>(chance.between(1, (uint64_t(2) << (bits % 12))));
    if (chance.isOne(8))
      task.count = static_cast<int64_t>(chance.between(1, static_cast<uint64_t>(most) + 1));
    if (task.kind != Kind::allReduce)
      task.count = std::max<int64_t>(1, std::min(task.count, most / ranks));
    task.groups = groupsOf(chance, ranks);
    if (t == 0 && step.hasNewClique && ranks > 2) {
      // Two cliques that were not used before.
      const auto cut = static_cast<int64_t>(number) / 3 % (ranks - 1) + 1;
      task.groups.assign(2, {});
      for (int64_t rank = ranks - 1; rank >= 0; --rank)
        task.groups[rank < cut ? 0 : 1].push_back(rank);
    }
    if (task.kind == Kind::permute) {
      task.groups.clear(); // a ring, possibly without its last pair
      const int64_t pairs = ranks - (chance.isOne(2) ? 1 : 0);
      for (int64_t rank = 0; rank < pairs; ++rank)
        task.groups.push_back({rank, (rank + 1) % ranks});
    }
    task.isInPlace = task.kind == Kind::allReduce && chance.isOne(2);
    task.salt = chance.next();
    task.name = concat("step", number, ".", t);
    step.bytes += task.count * 8;
    step.tasks.push_back(std::move(task));
  }
  return step;
}

/// Calls `body` with a zero of the type.
template <typename Body> static void withType(ElementType element, const Body &body) {
  switch (element) {
  case ElementType::i8:
    return body(int8_t());
  case ElementType::i32:
    return body(int32_t());
  case ElementType::i64:
    return body(int64_t());
  case ElementType::f64:
    return body(double());
  default:
    return body(float());
  }
}

/// A value from 0 to 15, so that the sum over eight ranks still fits into i8.
int64_t Work::operandAt(int64_t rank, int64_t index) const {
  const auto number = static_cast<uint64_t>(index) * 2654435761U +
                      static_cast<uint64_t>(rank + 1) * 0x9e3779b97f4a7c15U + task.salt;
  return static_cast<int64_t>((number >> 9) & 15);
}

/// The value of rows that no member sends.
static constexpr int64_t untouched = 99;

/// How many rows member `from` sends to member `to`, at most task.count.
static int64_t rowsOf(const Task &task, int64_t from, int64_t to) {
  return static_cast<int64_t>((task.salt >> (from * 3 + to)) %
                              (static_cast<uint64_t>(task.count) + 1));
}

/// Each member has room for task.count rows from each member.
void Work::makeRagged() {
  const auto size = static_cast<int64_t>(members.size());
  for (int64_t other = 0; other < size; ++other)
    ragged.push_back(other * task.count);
  for (int64_t other = 0; other < size; ++other)
    ragged.push_back(rowsOf(task, mine, other));
  for (int64_t other = 0; other < size; ++other)
    ragged.push_back(mine * task.count);
  for (int64_t other = 0; other < size; ++other)
    ragged.push_back(rowsOf(task, other, mine));
  made.ragged = ragged;
}

Work::Work(const Task &task, int64_t rank, int64_t ranks, const Allocate &allocate)
    : task(task), rank(rank) {
  for (const auto &group : task.groups)
    if (task.kind == Kind::permute) {
      if (group[1] == rank)
        source = group[0];
    } else if (std::find(group.begin(), group.end(), rank) != group.end()) {
      members = group;
    }
  if (members.empty()) {
    members.resize(static_cast<size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
  }
  mine = std::find(members.begin(), members.end(), rank) - members.begin();
  made.kind = task.kind;
  made.groups = &task.groups;
  made.reduction.operation = ReductionKind::add;
  made.name = task.name;
  made.place = "campaign.py:7";
  if (task.kind == Kind::barrier)
    return;
  const auto size = static_cast<int64_t>(members.size());
  const bool hasParts = task.kind == Kind::reduceScatter || task.kind == Kind::allToAll ||
                        task.kind == Kind::raggedAllToAll;
  const bool getsParts = task.kind == Kind::allGather || task.kind == Kind::allToAll ||
                         task.kind == Kind::raggedAllToAll;
  const int64_t inCount = task.count * (hasParts ? size : 1);
  const int64_t outCount = task.count * (getsParts ? size : 1);
  const size_t width = numerics::storageBytes(task.element);
  auto memory = [&](std::vector<std::byte> &heap, int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * width;
    std::byte *elsewhere = allocate ? allocate(bytes) : nullptr;
    if (elsewhere)
      return elsewhere;
    heap.resize(bytes);
    return heap.data();
  };
  std::byte *from = memory(in, inCount);
  std::byte *to = task.isInPlace ? from : memory(out, outCount);
  withType(task.element, [&](auto zero) {
    using Number = decltype(zero);
    auto *operand = reinterpret_cast<Number *>(from), *result = reinterpret_cast<Number *>(to);
    if (!task.isInPlace)
      std::fill_n(result, outCount, static_cast<Number>(untouched));
    for (int64_t i = 0; i < inCount; ++i)
      operand[i] = static_cast<Number>(operandAt(rank, i));
  });
  made.tensors = {{task.element, {inCount}, {outCount}, from, to}};
  if (task.kind == Kind::raggedAllToAll)
    makeRagged();
}

int64_t Work::resultAt(int64_t index) const {
  const int64_t part = index / task.count, at = index % task.count;
  const int64_t own = mine * task.count;
  int64_t sum = 0;
  switch (task.kind) {
  case Kind::allReduce:
    for (int64_t member : members)
      sum += operandAt(member, index);
    return sum;
  case Kind::reduceScatter:
    for (int64_t member : members)
      sum += operandAt(member, own + index);
    return sum;
  case Kind::allGather:
    return operandAt(members[static_cast<size_t>(part)], at);
  case Kind::allToAll:
    return operandAt(members[static_cast<size_t>(part)], own + at);
  case Kind::raggedAllToAll:
    return at < rowsOf(task, part, mine) ? operandAt(members[static_cast<size_t>(part)], own + at)
                                         : untouched;
  case Kind::permute:
    return source ? operandAt(*source, index) : 0;
  case Kind::broadcast:
    return operandAt(members[0], index);
  case Kind::barrier:
    break;
  }
  return 0;
}

Status Work::check() const {
  Status status;
  if (made.tensors.empty())
    return status;
  const Tensor &tensor = made.tensors[0];
  withType(task.element, [&](auto zero) {
    using Number = decltype(zero);
    const auto *result = reinterpret_cast<const Number *>(tensor.out);
    for (int64_t i = 0; i < tensor.outDims[0] && status.isOk(); ++i)
      if (result[i] != static_cast<Number>(resultAt(i)))
        status = Status(Code::internal,
                        concat("wrong: element ", i, " of ", tensor.outDims[0], " of '", task.name,
                               "' (", nameOf(task.kind), ") is ", +result[i], " on rank ", rank,
                               " of the group ", listed(members), ", not ", resultAt(i)));
  });
  return status;
}

} // namespace tilewright::collective::test
