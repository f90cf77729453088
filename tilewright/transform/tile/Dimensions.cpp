#include "tilewright/transform/tile/Dimensions.h"

#include <cassert>

namespace tilewright::tile {

Dimensions::Id Dimensions::add(int64_t size) {
  const auto id = static_cast<Id>(factors.size());
  factors.push_back({size, id, false, false, {}});
  return id;
}

Dimensions::Id Dimensions::find(Id id) {
  while (factors[id].parent != id)
    id = factors[id].parent = factors[factors[id].parent].parent;
  return id;
}

bool Dimensions::unify(Id a, Id b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return true;
  assert(factors[a].size == factors[b].size);
  if (!factors[a].parts.empty() && !factors[b].parts.empty()) {
    const auto left = factors[a].parts, right = factors[b].parts;
    if (!unifyLists(left, right))
      return false;
  } else if (factors[a].parts.empty()) {
    std::swap(a, b);
  }
  // Now b is a leaf, or both are split into the same factors.
  if (factors[b].pinned && !factors[a].parts.empty())
    return false;
  factors[a].pinned |= factors[b].pinned;
  factors[a].kept |= factors[b].kept;
  factors[b].parent = a;
  return true;
}

bool Dimensions::unifyLists(llvm::ArrayRef<Id> a, llvm::ArrayRef<Id> b) {
  // Both stacks have the most minor factor on top.
  llvm::SmallVector<Id> left(a), right(b);
  auto dropOnes = [&](llvm::SmallVector<Id> &stack) {
    while (!stack.empty() && sizeOf(stack.back()) == 1)
      stack.pop_back();
  };
  for (;;) {
    dropOnes(left);
    dropOnes(right);
    if (left.empty() || right.empty())
      return left.empty() && right.empty();
    if (sizeOf(left.back()) == sizeOf(right.back())) {
      if (!unify(left.pop_back_val(), right.pop_back_val()))
        return false;
      continue;
    }
    auto &larger = sizeOf(left.back()) > sizeOf(right.back()) ? left : right;
    const int64_t minor = sizeOf((&larger == &left ? right : left).back());
    // Dimensions of an empty tensor have no common factorization.
    if (minor == 0)
      return false;
    const Id id = find(larger.back());
    if (factors[id].parts.empty()) {
      if (factors[id].pinned || factors[id].size % minor != 0)
        return false;
      const Id high = add(factors[id].size / minor), low = add(minor);
      factors[id].parts = {high, low};
    }
    larger.pop_back();
    larger.append(factors[id].parts.begin(), factors[id].parts.end());
  }
}

void Dimensions::collect(Id id, llvm::SmallVectorImpl<Id> &leaves) {
  id = find(id);
  if (factors[id].parts.empty()) {
    if (factors[id].size != 1 || factors[id].kept)
      leaves.push_back(id);
    return;
  }
  for (Id part : factors[id].parts)
    collect(part, leaves);
}

llvm::SmallVector<Dimensions::Id> Dimensions::leaves(Id id) {
  llvm::SmallVector<Id> found;
  collect(id, found);
  return found;
}

} // namespace tilewright::tile
