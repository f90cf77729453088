#include "tilewright/dialect/exec/Hint.h"

#include "tilewright/support/Concat.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::exec {

static constexpr llvm::StringLiteral ofOp = "exec.hint", ofModule = "exec.hints";

/// "128x256".
static bool parsePair(StringRef text, SmallVector<int64_t, 2> &pair) {
  int64_t rows = 0, columns = 0;
  const auto [first, second] = text.split('x');
  if (first.getAsInteger(10, rows) || second.getAsInteger(10, columns) || rows < 1 || columns < 1)
    return false;
  pair = {rows, columns};
  return true;
}

static bool parseCount(StringRef text, int64_t &count) {
  return !text.getAsInteger(10, count) && count >= 1;
}

static bool parseFlag(StringRef text, std::optional<bool> &flag) {
  if (text == "true" || text == "false")
    flag = text == "true";
  return flag.has_value();
}

std::optional<Hint> Hint::parse(StringRef text, std::string &why) {
  Hint hint;
  SmallVector<StringRef> items;
  llvm::SplitString(text, items, " ,");
  for (StringRef item : items) {
    const auto [key, value] = item.split('=');
    const bool isKnown = llvm::StringSwitch<bool>(key)
                             .Cases({"tile", "cluster", "stages", "warps", "persistent"}, true)
                             .Default(false);
    if (!isKnown) {
      why = concat("'", item.str(),
                   "' is not a property of a product: tile, cluster, stages, warps or persistent");
      return std::nullopt;
    }
    const bool isValid = key == "tile"      ? parsePair(value, hint.tile)
                         : key == "cluster" ? parsePair(value, hint.cluster)
                         : key == "stages"  ? parseCount(value, hint.stages)
                         : key == "warps"   ? parseCount(value, hint.warps)
                                            : parseFlag(value, hint.persistent);
    if (!isValid) {
      const char *expected = key == "tile" || key == "cluster" ? "rows x columns, such as 128x256"
                             : key == "persistent"             ? "true or false"
                                                               : "a number of at least 1";
      why = concat("'", item.str(), "' does not set ", key.str(), " to ", expected);
      return std::nullopt;
    }
  }
  if (hint.isEmpty()) {
    why = "it is empty; tile=128x256 is an example";
    return std::nullopt;
  }
  return hint;
}

std::string Hint::toString() const {
  SmallVector<std::string> items;
  auto add = [&](StringRef key, const std::string &value) {
    items.push_back(concat(key.str(), "=", value));
  };
  if (!tile.empty())
    add("tile", concat(tile[0], "x", tile[1]));
  if (!cluster.empty())
    add("cluster", concat(cluster[0], "x", cluster[1]));
  if (stages)
    add("stages", std::to_string(stages));
  if (warps)
    add("warps", std::to_string(warps));
  if (persistent)
    add("persistent", *persistent ? "true" : "false");
  return llvm::join(items, " ");
}

Hint Hint::transposed() const {
  Hint result = *this;
  for (SmallVector<int64_t, 2> *pair : {&result.tile, &result.cluster})
    std::reverse(pair->begin(), pair->end());
  return result;
}

Hint hintOf(Operation *op) {
  auto text = dyn_cast_if_present<StringAttr>(op->getDiscardableAttr(ofOp));
  std::string why;
  return text ? Hint::parse(text.getValue(), why).value_or(Hint()) : Hint();
}

void setHint(Operation *op, const Hint &hint) {
  if (hint.isEmpty())
    op->removeDiscardableAttr(ofOp);
  else
    op->setDiscardableAttr(ofOp, StringAttr::get(op->getContext(), hint.toString()));
}

void settleHint(ModuleOp module, const Hint &hint) {
  auto open = dyn_cast_if_present<ArrayAttr>(module->getDiscardableAttr(ofModule));
  if (!open || hint.isEmpty())
    return;
  SmallVector<Attribute> left;
  // A stage may have transposed the product.
  for (Attribute text : open)
    if (StringRef known = cast<StringAttr>(text).getValue();
        known != hint.toString() && known != hint.transposed().toString())
      left.push_back(text);
  module->setDiscardableAttr(ofModule, ArrayAttr::get(module.getContext(), left));
}

void refuseHint(ModuleOp module, Location location, const Hint &hint, StringRef reason) {
  emitWarning(location) << "hint '" << hint.toString() << "' is refused: " << reason;
  settleHint(module, hint);
}

} // namespace tilewright::exec
