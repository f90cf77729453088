#include "tilewright/runtime/candidates/TuningFile.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/Fingerprint.h"
#include "tilewright/support/store/Descriptor.h"
#include "tilewright/support/text/Number.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

namespace tilewright::runtime {

using namespace std::chrono_literals;

// The number is the format version.
static constexpr std::string_view heading =
    "tilewright tuning 1 (tilewright explain tuning FILE prints it; lines may be deleted)\n";
/// A longer file is not a tuning file: a year of tuning takes less.
static constexpr int64_t maxBytes = int64_t(256) << 20;
static constexpr auto lockTimeout = 5s;

// A line: the fingerprint of the rest, the problem, and a field for each candidate (C, its seconds,
// its order of sums and its name, separated by '|') and each absent one (A and the reason).

static std::string fingerprintText(std::string_view payload) {
  return tilewright::toString(fingerprintOf(std::as_bytes(std::span(payload))));
}

/// The text without the characters that separate fields.
static std::string cleaned(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '|'; }, ' ');
  return text;
}

static std::string lineOf(const Decision &decision) {
  std::string payload = cleaned(decision.problem);
  for (const Candidate &candidate : decision.candidates)
    payload += concat("\tC", candidate.seconds, "|", cleaned(candidate.order), "|",
                      cleaned(candidate.name));
  for (const std::string &reason : decision.absent)
    payload += concat("\tA", cleaned(reason));
  return concat(fingerprintText(payload), "\t", payload, "\n");
}

/// The text before the next separator; removes both from `rest`.
static std::string_view takeField(std::string_view &rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

static std::optional<Candidate> readCandidate(std::string_view field) {
  const std::string_view seconds = takeField(field, '|');
  Candidate candidate;
  candidate.seconds = numberIn<double>(seconds).value_or(-1);
  if (!std::isfinite(candidate.seconds) || candidate.seconds < 0)
    return std::nullopt;
  candidate.order = takeField(field, '|');
  candidate.name = field;
  return candidate;
}

static std::optional<Decision> readRecord(std::string_view line) {
  const std::string_view fingerprint = takeField(line, '\t');
  if (fingerprint != fingerprintText(line))
    return std::nullopt;
  Decision decision{.problem = std::string(takeField(line, '\t'))};
  while (!line.empty()) {
    const std::string_view field = takeField(line, '\t');
    if (field.starts_with('A')) {
      decision.absent.emplace_back(field.substr(1));
      continue;
    }
    std::optional<Candidate> candidate =
        field.starts_with('C') ? readCandidate(field.substr(1)) : std::nullopt;
    if (!candidate)
      return std::nullopt;
    decision.candidates.push_back(*std::move(candidate));
  }
  if (decision.candidates.empty())
    return std::nullopt;
  return decision;
}

void TuningFile::readLine(std::string_view line) {
  if (line.empty())
    return; // separates a torn line from the next
  if (std::optional<Decision> decision = readRecord(line)) {
    std::string problem = decision->problem;
    records.insert_or_assign(std::move(problem), *std::move(decision));
  } else {
    ++skipped;
  }
}

/// Reads the lines that were appended since the last call; an incomplete last line is left for the
/// next call.
Status TuningFile::readNew() {
  auto notOurs = [&](std::string_view reason) {
    return Status(Error::optionValue, concat("runtime.tuning-file: '", name, "' ", reason,
                                             "; name a new file, or one that Tilewright wrote"));
  };
  // O_NONBLOCK, because opening a FIFO would otherwise wait for a writer.
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.isOpen() && errno == ENOENT)
    return Status();
  struct stat facts;
  if (!file.isOpen() || fstat(file.get(), &facts) != 0)
    return notOurs(concat("cannot be read: ", std::strerror(errno)));
  if (!S_ISREG(facts.st_mode) || facts.st_size > maxBytes)
    return notOurs(S_ISREG(facts.st_mode) ? "is too long for a tuning file" : "is not a file");
  if (facts.st_size < readBytes) { // another file in its place
    records.clear();
    readBytes = 0;
    skipped = 0;
  }
  std::string text(static_cast<size_t>(facts.st_size - readBytes), '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), readBytes);
  if (got < 0)
    return notOurs(concat("cannot be read: ", std::strerror(errno)));
  text.resize(static_cast<size_t>(got));
  std::string_view rest = text;
  if (readBytes == 0 && !rest.empty()) {
    // If a process was killed during its first write, the heading may be incomplete.
    const size_t known = std::min(rest.size(), heading.size());
    if (rest.substr(0, known) != heading.substr(0, known))
      return notOurs("is not a tuning file");
    if (known < heading.size())
      return Status();
    rest.remove_prefix(known);
    readBytes += static_cast<int64_t>(known);
  }
  for (size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
    readLine(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    readBytes += static_cast<int64_t>(end) + 1;
  }
  return Status();
}

Result<std::shared_ptr<TuningFile>> TuningFile::open(std::string path) {
  std::shared_ptr<TuningFile> file(new TuningFile(std::move(path)));
  TILEWRIGHT_TRY(file->readNew());
  return file;
}

std::optional<Decision> TuningFile::find(std::string_view problem) {
  std::lock_guard lock(mutex);
  // If the file has become unreadable, keep the measurements that were read before.
  if (!records.contains(problem))
    (void)readNew();
  auto known = records.find(problem);
  return known == records.end() ? std::nullopt : std::optional(known->second);
}

std::vector<Decision> TuningFile::decisions() {
  std::lock_guard lock(mutex);
  (void)readNew();
  std::vector<Decision> all;
  for (const auto &[problem, decision] : records)
    all.push_back(decision);
  return all;
}

size_t TuningFile::skippedLines() const {
  std::lock_guard lock(mutex);
  return skipped;
}

/// Locks the file. Gives up if another process keeps the lock: that process may be stopped.
static bool lockFile(int file) {
  const auto deadline = std::chrono::steady_clock::now() + lockTimeout;
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > deadline)
      return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

Status TuningFile::add(const Decision &decision) {
  std::lock_guard lock(mutex);
  auto failure = [&](std::string_view action) {
    return Status(Error::tuningUnwritable,
                  concat("cannot ", action, " '", name, "': ", std::strerror(errno),
                         "; the measurement is used in this process but not kept; set "
                         "runtime.tuning-file to a file that can be written"));
  };
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(name).parent_path(), ignored);
  const Descriptor file(
      ::open(name.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644));
  if (!file.isOpen())
    return failure("open");
  if (!lockFile(file.get()))
    return failure("lock");
  struct stat facts;
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return failure("examine");
  // Another process may have put something else here since the file was opened.
  std::string start(heading.size(), '\0');
  const ssize_t got = pread(file.get(), start.data(), start.size(), 0);
  if (got < 0 || heading.substr(0, static_cast<size_t>(got)) !=
                     std::string_view(start).substr(0, static_cast<size_t>(got))) {
    errno = got < 0 ? errno : EINVAL;
    return failure("add a line to");
  }
  // Completes the heading after a kill, and terminates a torn line.
  std::string text(heading.substr(static_cast<size_t>(got)));
  char last = '\n';
  if (facts.st_size > 0 && pread(file.get(), &last, 1, facts.st_size - 1) == 1 && last != '\n' &&
      text.empty())
    text += '\n';
  text += lineOf(decision);
  if (!transferAll(::write, file, text.data(), text.size())) {
    const int why = errno;
    (void)!ftruncate(file.get(), facts.st_size); // a full disk leaves no torn line
    errno = why;
    return failure("write");
  }
  records.insert_or_assign(cleaned(decision.problem), decision);
  return Status();
}

} // namespace tilewright::runtime
