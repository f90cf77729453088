#include "tilewright/import/SourceTrail.h"

#include "tilewright/support/Concat.h"

#include "llvm/ADT/SmallVector.h"

namespace tilewright {

std::string sourceOf(mlir::Location location) {
  std::string file, name;
  // Depth first, callee before caller: the first file is the innermost frame. Uses an explicit
  // stack, because an artifact may nest locations arbitrarily deep, and a bound, because fused
  // locations that share parts may expand exponentially.
  llvm::SmallVector<mlir::Location> open = {location};
  for (int visited = 0; !open.empty() && visited < 1000 && file.empty(); ++visited) {
    mlir::Location here = open.pop_back_val();
    if (auto place = llvm::dyn_cast<mlir::FileLineColRange>(here)) {
      file =
          concat(place.getFilename().str(), ":", place.getStartLine(), ":", place.getStartColumn());
    } else if (auto named = llvm::dyn_cast<mlir::NameLoc>(here)) {
      if (name.empty())
        name = named.getName().str();
      open.push_back(named.getChildLoc());
    } else if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(here)) {
      open.push_back(call.getCaller());
      open.push_back(call.getCallee());
    } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(here)) {
      for (mlir::Location part : llvm::reverse(fused.getLocations()))
        open.push_back(part);
    }
  }
  if (file.empty())
    return name;
  return name.empty() ? file : concat(file, " (", name, ")");
}

} // namespace tilewright
