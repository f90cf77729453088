#include "tilewright/driver/Sources.h"

#include "tilewright/support/Concat.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace tilewright::driver {

std::string sourcesOf(Location location) {
  llvm::MapVector<std::pair<StringAttr, unsigned>, llvm::SmallSetVector<StringAttr, 4>> lines;
  // With a bound, because fused locations that share parts may expand exponentially.
  SmallVector<Location> open{location};
  for (int visited = 0; !open.empty() && visited < 10'000; ++visited) {
    Location here = open.pop_back_val();
    if (auto fused = dyn_cast<FusedLoc>(here)) {
      for (Location part : llvm::reverse(fused.getLocations()))
        open.push_back(part);
      continue;
    }
    auto line = here->findInstanceOf<FileLineColLoc>();
    auto name = here->findInstanceOf<NameLoc>();
    if (!line && !name)
      continue;
    auto &names = lines[line ? std::pair(line.getFilename(), line.getLine())
                             : std::pair(StringAttr::get(here.getContext()), 0u)];
    if (name)
      names.insert(name.getName());
  }
  std::string text;
  for (const auto &[line, names] : lines) {
    const bool isKnown = line.second != 0;
    text += text.empty() ? "" : "; ";
    if (isKnown)
      text += concat(line.first.str(), ":", line.second);
    for (auto [i, name] : llvm::enumerate(names))
      text += concat(i > 0 ? ", " : isKnown ? " " : "", name.str());
  }
  return text;
}

} // namespace tilewright::driver
