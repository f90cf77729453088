#include "tilewright/support/Progress.h"

#include "tilewright/support/Concat.h"

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <unistd.h>

using namespace std::chrono_literals;

namespace tilewright {

/// Whether standard error is an interactive terminal, where a progress line can be overwritten.
static bool somebodyIsLooking() {
  const char *terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb" &&
         !std::getenv("CI");
}

Progress::Progress(std::string activity, std::function<std::string()> describe) {
  if (somebodyIsLooking())
    painter = std::thread(&Progress::show, this, std::move(activity), std::move(describe),
                          std::ref(std::cerr), 1000ms, 200ms);
}

Progress::Progress(std::string activity, std::function<std::string()> describe, std::ostream &out,
                   std::chrono::milliseconds delay, std::chrono::milliseconds interval) {
  painter = std::thread(&Progress::show, this, std::move(activity), std::move(describe),
                        std::ref(out), delay, interval);
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  finished.notify_one();
  if (painter.joinable())
    painter.join();
}

void Progress::show(std::string activity, std::function<std::string()> describe, std::ostream &out,
                    std::chrono::milliseconds delay, std::chrono::milliseconds interval) {
  constexpr std::string_view wipe = "\r\033[K";
  auto begin = std::chrono::steady_clock::now();
  bool shown = false;
  std::unique_lock lock(mutex);
  for (auto pause = delay; !finished.wait_for(lock, pause, [&] { return done; });
       pause = interval) {
    auto tenths = (std::chrono::steady_clock::now() - begin) / 100ms;
    out << wipe << activity << "  " << tenths / 10 << '.' << tenths % 10 << " s  " << describe()
        << std::flush;
    shown = true;
  }
  if (shown)
    out << wipe << std::flush;
}

} // namespace tilewright
