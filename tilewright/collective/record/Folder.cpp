#include "tilewright/collective/record/Folder.h"
#include "tilewright/collective/record/Recording.h"
#include "tilewright/collective/record/ThisProcess.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::collective::record {

namespace fs = std::filesystem;

static bool isRecording(const fs::path &path) { return path.extension() == ".flight"; }

std::string defaultFolder() {
  const char *temporary = std::getenv("TMPDIR");
  const std::string base = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm"
                           : temporary && *temporary            ? temporary
                                                                : "/tmp";
  return concat(base, "/tilewright-", getuid());
}

/// Creates a private folder. In a world-writable parent another user could create the folder first,
/// so this checks that the current user owns it and that no other user can write to it.
static Status makePrivate(const std::string &folder) {
  if (mkdir(folder.c_str(), 0700) == 0)
    return Status();
  struct stat status = {};
  if (errno != EEXIST || lstat(folder.c_str(), &status) != 0)
    return Status(Error::recorderFile,
                  concat("cannot create the folder ", folder, ": ", std::strerror(errno)));
  if (!S_ISDIR(status.st_mode) || status.st_uid != getuid() || (status.st_mode & 022) != 0)
    return Status(Error::recorderFile,
                  concat(folder, " must be a folder that only user ", getuid(), " can write to"));
  return Status();
}

void removeEnded(const std::string &folder, uint64_t maxBytes) {
  struct Ended {
    fs::path path;
    fs::file_time_type written;
    uint64_t bytes;
  };
  std::vector<Ended> all;
  std::error_code ignored; // another process may clean up at the same time
  for (const fs::directory_entry &file : fs::directory_iterator(folder, ignored)) {
    if (!isRecording(file.path()))
      continue;
    const Result<Recording> recording = readRecording(file.path(), /*newestEntries=*/0);
    // Treat unreadable recordings as ended, because they are useless.
    if (!recording.isOk() ||
        stateOf(recording->pid, recording->pidStart, recording->pidNamespace, recording->boot)
                .kind == ProcessState::Kind::gone)
      all.push_back({file.path(), file.last_write_time(ignored), file.file_size(ignored)});
  }
  std::sort(all.begin(), all.end(),
            [](const Ended &a, const Ended &b) { return a.written > b.written; });
  uint64_t kept = 0;
  for (const Ended &one : all)
    if ((kept += one.bytes) > maxBytes)
      fs::remove(one.path, ignored);
}

std::string newJobName() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  char name[48];
  std::snprintf(name, sizeof name, "%llx-%08x",
                static_cast<unsigned long long>(
                    std::chrono::duration_cast<std::chrono::milliseconds>(now).count()),
                std::random_device()());
  return name;
}

Result<std::shared_ptr<Recorder>> openRecorder(const std::string &setting,
                                               Recorder::Options options) {
  if (setting == "off" || (setting == "auto" && options.processes < 2))
    return std::shared_ptr<Recorder>();
  if (setting == "auto") {
    options.folder = defaultFolder();
    options.removesWhenWell = true;
    if (!makePrivate(options.folder).isOk())
      return std::shared_ptr<Recorder>();
    removeEnded(options.folder);
    Result<std::shared_ptr<Recorder>> made = Recorder::create(options);
    if (!made.isOk()) {
      Status status = std::move(made).takeStatus();
      return status.error() == Error::recorderFile
                 ? Result(std::shared_ptr<Recorder>())
                 : Result<std::shared_ptr<Recorder>>(std::move(status));
    }
    return made;
  }
  options.folder = setting;
  std::error_code reason;
  fs::create_directories(setting, reason);
  if (reason)
    return Status(Error::recorderFile,
                  concat("cannot create the folder ", setting, ": ", reason.message(),
                         "; set runtime.flight-recorder to another folder, or to off"));
  return Recorder::create(options);
}

Result<std::vector<std::string>> recordingsAt(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    std::error_code reason;
    if (!fs::is_directory(path, reason)) {
      if (!fs::exists(path, reason))
        return Status(Error::recordingsMissing, concat(path, " does not exist"));
      files.push_back(path);
      continue;
    }
    for (const fs::directory_entry &file : fs::directory_iterator(path, reason))
      if (isRecording(file.path()))
        files.push_back(file.path());
    if (reason)
      return Status(Error::recordingsMissing, concat("cannot read ", path, ": ", reason.message()));
  }
  if (files.empty())
    return Status(Error::recordingsMissing,
                  concat(paths.size() == 1 ? paths[0] : concat("none of ", listed(paths)),
                         paths.size() == 1 ? " has no recordings" : " has recordings",
                         "; recordings of successful jobs are kept only if runtime.flight-recorder "
                         "names a folder"));
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace tilewright::collective::record
