#include "tilewright/vgpu/run/Process.h"

#include "tilewright/support/Concat.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace tilewright::vgpu::run {

namespace fs = std::filesystem;

bool isExecutable(const std::string &path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string ownFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : self.parent_path().string();
}

std::string findOnPath(const std::string &name, const std::string &except) {
  const char *text = std::getenv("PATH");
  const std::string path = text ? text : "/usr/bin:/bin";
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = concat(path.substr(begin, end - begin), "/", name);
    std::error_code error;
    if (isExecutable(candidate) && (except.empty() || !fs::equivalent(candidate, except, error)))
      return candidate;
    begin = end + 1;
  }
  return "";
}

Result<Ended> runProgram(const std::vector<std::string> &command, bool takesErrorText) {
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2] = {-1, -1};
  if (takesErrorText && pipe(ends) != 0)
    return Status(Error::vgpuStart, concat("cannot create a pipe: ", std::strerror(errno)));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (takesErrorText) {
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
  }
  // Give the program the default interrupt handling; this process ignores interrupts and waits for
  // the program.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  auto *onInterrupt = std::signal(SIGINT, SIG_IGN);
  auto *onQuit = std::signal(SIGQUIT, SIG_IGN);

  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  Ended ended;
  if (takesErrorText) {
    close(ends[1]);
    char buffer[4096];
    ssize_t count = 0;
    while (error == 0 &&
           ((count = read(ends[0], buffer, sizeof(buffer))) > 0 || (count < 0 && errno == EINTR)))
      if (count > 0)
        ended.errorText.append(buffer, static_cast<size_t>(count));
    close(ends[0]);
  }
  int state = 0;
  while (error == 0 && waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGQUIT, onQuit);
  if (error != 0)
    return Status(Error::vgpuStart,
                  concat("cannot start '", command[0], "': ", std::strerror(error)));
  if (WIFSIGNALED(state)) {
    ended.signal = WTERMSIG(state);
    ended.exitCode = 128 + ended.signal;
  } else {
    ended.exitCode = WEXITSTATUS(state);
  }
  return ended;
}

} // namespace tilewright::vgpu::run
