#include "tilewright/dialect/source/Source.h"

#include "tilewright/support/Concat.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace tilewright::source {

namespace {
struct First {
  FileLineColLoc line; // null: none
  StringAttr name;     // null: none before the line
};

/// Walks depth first, a callee before its caller. Uses an explicit stack, because MLIR's walk
/// recurses, and a bound, because fused locations that share parts may expand exponentially.
First firstOf(Location location) {
  First first;
  SmallVector<Location> open{location};
  for (int visited = 0; !open.empty() && !first.line && visited < 10'000; ++visited) {
    Location here = open.pop_back_val();
    first.line = dyn_cast<FileLineColLoc>(here);
    if (auto named = dyn_cast<NameLoc>(here)) {
      if (!first.name)
        first.name = named.getName();
      open.push_back(named.getChildLoc());
    } else if (auto call = dyn_cast<CallSiteLoc>(here)) {
      open.push_back(call.getCaller());
      open.push_back(call.getCallee());
    } else if (auto fused = dyn_cast<FusedLoc>(here)) {
      for (Location part : llvm::reverse(fused.getLocations()))
        open.push_back(part);
    }
  }
  return first;
}

std::string textOf(FileLineColLoc line) {
  return concat(line.getFilename().str(), ":", line.getLine(), ":", line.getColumn());
}
} // namespace

FileLineColLoc lineOf(Location location) { return firstOf(location).line; }

std::string placeOf(Location location) {
  FileLineColLoc line = lineOf(location);
  return line ? textOf(line) : "";
}

std::string placeAndNameOf(Location location) {
  auto [line, name] = firstOf(location);
  const std::string called = name ? name.str() : "";
  if (!line)
    return called;
  return called.empty() ? textOf(line) : concat(textOf(line), " (", called, ")");
}

/// The ops of a location: the parts of fusions, to any depth.
static SmallVector<Location> partsOf(Location location) {
  SmallVector<Location> parts, open{location};
  for (int visited = 0; !open.empty() && visited < 10'000; ++visited) {
    Location here = open.pop_back_val();
    if (auto fused = dyn_cast<FusedLoc>(here))
      for (Location part : llvm::reverse(fused.getLocations()))
        open.push_back(part);
    else
      parts.push_back(here);
  }
  return parts;
}

std::string opsOf(Location location) {
  llvm::MapVector<std::pair<StringAttr, unsigned>, llvm::SmallSetVector<StringAttr, 4>> lines;
  const auto unknown = StringAttr::get(location.getContext());
  for (Location part : partsOf(location)) {
    auto [line, name] = firstOf(part);
    if (!line && !name)
      continue;
    auto &names =
        lines[line ? std::pair(line.getFilename(), line.getLine()) : std::pair(unknown, 0u)];
    if (name)
      names.insert(name);
  }
  std::string text;
  for (const auto &[line, names] : lines) {
    const bool isKnown = line.first != unknown;
    text += text.empty() ? "" : "; ";
    if (isKnown)
      text += concat(line.first.str(), ":", line.second);
    for (auto [i, name] : llvm::enumerate(names))
      text += concat(i > 0 ? ", " : isKnown ? " " : "", name.str());
  }
  return text;
}

} // namespace tilewright::source
