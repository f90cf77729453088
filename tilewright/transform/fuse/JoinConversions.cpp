// Joins a conversion to fewer bits with the op that computes what it converts, if kernels then move
// fewer bytes.
#include "tilewright/transform/fuse/Groups.h"

#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/fuse/cost/KernelCost.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::fuse {

llvm::SmallSetVector<unsigned, 4> Groups::readersOf(Value value, Operation *except) {
  llvm::SmallSetVector<unsigned, 4> readers;
  DenseSet<Value> seen;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value current = pending.pop_back_val();
    if (!seen.insert(current).second)
      continue;
    for (Operation *user : current.getUsers()) {
      // A reader in a region belongs to the op of this block.
      Operation *reader = block.findAncestorOpInBlock(*user);
      Node *node = nodeOf(reader);
      if (reader == except)
        continue;
      if (node->floating)
        llvm::append_range(pending, reader->getResults());
      else
        readers.insert(static_cast<unsigned>(node - nodes.data()));
    }
  }
  return readers;
}

/// The number of kernels and other ops that load a value which the group of `owner` computes.
static size_t loadsOf(Groups &groups, ArrayRef<unsigned> readers, unsigned owner) {
  llvm::SmallDenseSet<unsigned> loads;
  for (unsigned reader : readers) {
    const unsigned group = groups.nodes[reader].group;
    if (group == ~0u)
      loads.insert(static_cast<unsigned>(groups.nodes.size()) + reader);
    else if (groups.find(group) != owner)
      loads.insert(groups.find(group));
  }
  return loads.size();
}

void Groups::joinConversions() {
  for (unsigned number = 0; number < nodes.size(); ++number) {
    Node &conversion = nodes[number];
    if (!conversion.floating || !isa<stablehlo::ConvertOp>(conversion.op))
      continue;
    Value wide = conversion.op->getOperand(0), narrow = conversion.op->getResult(0);
    Node *computed = wide.getDefiningOp() ? nodeOf(wide.getDefiningOp()) : nullptr;
    if (!computed || computed->group == ~0u || computed->role == Role::internal ||
        bytesOf(narrow.getType()) >= bytesOf(wide.getType()))
      continue;
    const unsigned owner = find(computed->group);
    const auto ofNarrow = readersOf(narrow), ofWide = readersOf(wide, conversion.op);
    llvm::SmallSetVector<unsigned, 4> all = ofNarrow;
    all.insert(ofWide.begin(), ofWide.end());
    const size_t narrowLoads = loadsOf(*this, ofNarrow.getArrayRef(), owner),
                 wideLoads = loadsOf(*this, ofWide.getArrayRef(), owner),
                 allLoads = loadsOf(*this, all.getArrayRef(), owner);
    if (narrowLoads == 0 || (wideLoads > 0 && groups[owner].operands >= limits.maxOperands))
      continue;
    auto moved = [&](Value value, size_t loads) {
      return loads ? bytesOf(value.getType()) * double(loads + 1) : 0;
    };
    const double before = moved(wide, allLoads),
                 after = moved(wide, wideLoads) + moved(narrow, narrowLoads);
    const std::string reason = concat("kernels store and load ", int64_t(after),
                                      " bytes, without the join ", int64_t(before));
    report(computed->op, conversion.op, after < before, reason);
    if (after >= before)
      continue;

    conversion.floating = false;
    conversion.group = owner;
    conversion.role = computed->role;
    conversion.sources = {wide};
    conversion.followers.assign(ofNarrow.begin(), ofNarrow.end());
    groups[owner].members.push_back(number);
    ++groups[owner].joins;
    groups[owner].operands += wideLoads > 0;
    computed->followers.assign(ofWide.begin(), ofWide.end());
    computed->followers.push_back(number);
    for (unsigned reader : ofNarrow) {
      nodes[reader].dependencies.clear();
      addDependencies(nodes[reader]);
      setSources(nodes[reader]);
    }
  }
}

} // namespace tilewright::fuse
