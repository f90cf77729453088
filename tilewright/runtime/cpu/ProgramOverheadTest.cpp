// Prints the overhead of a step beyond its kernel. The limits are ten times the goal, so that a
// busy machine does not fail them.

#include "tilewright/runtime/cpu/testing/Program.h"
#include "tilewright/support/testing/Slowness.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace tilewright;
using namespace tilewright::runtime::cpu;

static const char *const kernels = R"(
  void nothing(void **b, long begin, long end, char *scratch) {}
  void increment(void **b, long begin, long end, char *scratch) { ++*(long *)b[0]; }
  void step(void **b, long begin, long end, char *scratch) {
    *(char *)b[1] = ++*(long *)b[0] < 100000; }
  void reset(void **b, long begin, long end, char *scratch) { *(long *)b[0] = 0; }
)";

/// Nanoseconds of the fastest of several runs.
static double fastest(TestProgram &p) {
  double best = 1e30;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(p.run().isOk());
    best = std::min(
        best,
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}
static void report(const char *what, double nanoseconds, double aim) {
  std::printf("%-48s %8.1f ns (aim %.0f)\n", what, nanoseconds, aim);
  EXPECT_LT(nanoseconds, 10 * aim * slowness());
}

TEST(ProgramOverhead, OfALaunchAndALoop) {
  constexpr int count = 10000;
  {
    TestProgram p(kernels);
    Slice t = p.temporary(64), y = p.result<int32_t>(1);
    for (int i = 0; i < count; ++i)
      p.step(LaunchStep{p.kernel("nothing", 1), {t, t, t, t, y}});
    report("a launch with 5 buffers", fastest(p) / count, 60);
  }
  {
    TestProgram p(kernels);
    Slice t = p.temporary(64), y = p.result<int32_t>(1);
    for (int i = 0; i < count; ++i)
      p.step(LaunchStep{p.kernel("nothing", 100, 10, 4096), {t, y}});
    report("a launch with scratch, small grid", fastest(p) / count, 60);
  }
  {
    TestProgram p(kernels);
    Slice n = p.temporary(8), flag = p.temporary(1);
    const Index condition = p.block(), body = p.block();
    p.step(LaunchStep{p.kernel("reset", 1), {n}});
    p.step(LaunchStep{p.kernel("increment", 1), {n}}, body);
    p.step(LaunchStep{p.kernel("step", 1), {n, flag}}, condition);
    p.step(WhileStep{condition, body, flag, -1});
    report("a round of a loop, body and condition one kernel", fastest(p) / (100000 / 2), 150);
  }
  {
    TestProgram p(kernels);
    Slice n = p.temporary(8), flag = p.temporary(1);
    const Index condition = p.block(), body = p.block();
    p.step(LaunchStep{p.kernel("increment", 1), {n}}, body);
    p.step(WhileStep{condition, body, flag, 100000});
    report("a round of a loop that counts, one kernel", fastest(p) / 100000, 150);
  }
  {
    TestProgram p(kernels);
    p.step(LaunchStep{p.kernel("nothing", 1), {p.temporary(64)}});
    double best = 1e30;
    EXPECT_TRUE(p.run().isOk());
    for (int i = 0; i < 100; ++i)
      best = std::min(best, fastest(p));
    report("a whole run with one launch", best, 300);
  }
  {
    TestProgram p(kernels);
    Slice t = p.temporary(64), y = p.result<int32_t>(1);
    for (int i = 0; i < 1000; ++i)
      p.step(LaunchStep{p.kernel("nothing", 64, 1000), {t, y}});
    report("a launch that is split over two threads", fastest(p) / 1000, 5000);
  }
}
