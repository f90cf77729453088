#include "tilewright/vgpu/driver/Arena.h"

#include "tilewright/vgpu/driver/Interrupt.h"

#include "gtest/gtest.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tilewright::vgpu::driver {
namespace {

/// Whether the host can read a byte, tested without a fault: write() from it to a pipe.
bool isReadable(const void *address) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const bool isSo = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return isSo;
}

TEST(Arena, AllocationsLieBetweenPagesThatCannotBeAccessed) {
  Arena arena;
  for (size_t bytes : {size_t(1), size_t(1000), size_t(4096), size_t(5000), size_t(1) << 20}) {
    auto *memory = static_cast<std::byte *>(arena.take(bytes));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uint64_t>(memory) % Arena::alignment, 0u);
    std::memset(memory, 1, bytes);
    const size_t rounded = (bytes + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
    EXPECT_TRUE(isReadable(memory + rounded - 1));
    EXPECT_FALSE(isReadable(memory + rounded)) << bytes;
    EXPECT_FALSE(isReadable(memory - 4096)) << bytes;
    EXPECT_TRUE(arena.holds(reinterpret_cast<uint64_t>(memory)));
  }
  EXPECT_FALSE(arena.holds(reinterpret_cast<uint64_t>(&arena)));
}

TEST(Arena, FreedMemoryCannotBeAccessedAndItsAddressesAreNotUsedAgainSoon) {
  Arena arena;
  std::vector<void *> freed;
  for (int i = 0; i < 1000; ++i) {
    void *memory = arena.take(10000);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(*static_cast<const char *>(memory), 0);
    *static_cast<char *>(memory) = 1;
    arena.give(memory);
    EXPECT_FALSE(isReadable(memory));
    for (void *one : freed)
      ASSERT_NE(one, memory);
    freed.push_back(memory);
  }
  arena.give(freed.front()); // a second free has no effect
}

/// Linux allows 65,530 mappings.
TEST(Arena, ManySmallAllocationsShareMappings) {
  Arena arena;
  std::vector<void *> all;
  for (int i = 0; i < 100000; ++i) {
    void *memory = arena.take(64);
    ASSERT_NE(memory, nullptr) << i;
    *static_cast<int *>(memory) = i;
    all.push_back(memory);
  }
  for (int i = 0; i < 100000; ++i)
    ASSERT_EQ(*static_cast<const int *>(all[static_cast<size_t>(i)]), i);
  for (void *memory : all)
    arena.give(memory);
  void *large = arena.take(size_t(1) << 20);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(arena.take(~size_t(0)), nullptr);
}

volatile std::sig_atomic_t passedOn = 0;

/// Runs `work` in a child process and returns its status as waitpid() does.
int inChild(void (*work)()) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(42);
  }
  int state = 0;
  waitpid(child, &state, 0);
  return state;
}

TEST(Interrupt, TheFirstOneIsARequestAndGoesOnToTheProgramsHandler) {
  const int state = inChild([] {
    signal(SIGINT, [](int) { passedOn = 1; });
    {
      InterruptScope outer;
      InterruptScope inner;
      if (outer.isRequested())
        _exit(1);
      raise(SIGINT);
      if (!inner.isRequested() || !passedOn)
        _exit(2);
    }
    // The program's handler is installed again.
    passedOn = 0;
    raise(SIGINT);
    InterruptScope later;
    _exit(passedOn && !later.isRequested() ? 0 : 3);
  });
  EXPECT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

TEST(Interrupt, TheSecondOneEndsTheProcess) {
  const int state = inChild([] {
    signal(SIGINT, [](int) {});
    InterruptScope scope;
    raise(SIGINT);
    raise(SIGINT);
  });
  EXPECT_TRUE(WIFSIGNALED(state));
  EXPECT_EQ(WTERMSIG(state), SIGINT);
}

TEST(Interrupt, AProgramWithoutAHandlerEndsAfterTheLaunch) {
  const int state = inChild([] {
    signal(SIGINT, SIG_DFL);
    InterruptScope scope;
    raise(SIGINT);
    _exit(scope.isRequested() ? 7 : 1); // skips the destructor
  });
  EXPECT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 7);
  const int ended = inChild([] {
    signal(SIGINT, SIG_DFL);
    {
      InterruptScope scope;
      raise(SIGINT);
    }
    _exit(1);
  });
  EXPECT_TRUE(WIFSIGNALED(ended));
}

} // namespace
} // namespace tilewright::vgpu::driver
