// A program that needs each function of tools/library/OlderGlibc.cpp, linked like a release. It
// prints whether they work; test_wheel.py reads which library versions it requires.
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unwind.h>

static _Unwind_Reason_Code count(_Unwind_Context *, void *frames) {
  ++*static_cast<int *>(frames);
  return _URC_NO_REASON;
}

int main(int argc, char **) {
  // Through LLVM's archive: arc4random().
  llvm::SmallString<64> first, second;
  llvm::sys::fs::createUniquePath("probe-%%%%%%%%%%%%", first, /*MakeAbsolute=*/false);
  llvm::sys::fs::createUniquePath("probe-%%%%%%%%%%%%", second, /*MakeAbsolute=*/false);
  if (first != second)
    std::puts("temporary names differ");
  // Not a compile-time constant, so that it is a real call.
  std::printf("hypot %g\n", std::hypot(2.0 + argc, 3.0 + argc));
  // Through libgcc: _dl_find_object().
  int frames = 0;
  _Unwind_Backtrace(count, &frames);
  if (frames >= 2)
    std::puts("frames were found");
  return 0;
}
