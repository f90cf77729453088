// TuningFile: measurements of candidates that are kept in a file and shared between processes.
#ifndef TILEWRIGHT_RUNTIME_CANDIDATES_TUNINGFILE_H
#define TILEWRIGHT_RUNTIME_CANDIDATES_TUNINGFILE_H

#include "tilewright/runtime/candidates/Decision.h"
#include "tilewright/support/Status.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime {

/// A text file with a line for each measured problem; of several lines for one problem, the last
/// counts. Threads and processes may read and append at the same time:
///
///  - a line is appended with one write under a lock on the file, and no line is ever changed, so
///    writers lose nothing. A writer that cannot get the lock within five seconds gives up;
///  - a line holds a fingerprint of its content: a line that was torn by a kill or a full disk, or
///    changed by anything else, is skipped, and the following lines are read;
///  - a file without our first line is never written to.
///
/// A reader that may not write (a read-only mount) can still use the measurements. Thread-safe.
class TuningFile {
public:
  /// A file that does not exist is empty; the first add() creates it.
  ///  - optionValue (E0002): the path names something that is not a tuning file.
  static Result<std::shared_ptr<TuningFile>> open(std::string path);

  /// The last valid record of the problem, also if another process has appended it meanwhile.
  std::optional<Decision> find(std::string_view problem);
  ///  - tuningUnwritable (E5056): the file cannot be written; it is unchanged.
  Status add(const Decision &decision);
  /// Ordered by problem.
  std::vector<Decision> decisions();
  /// The number of lines that were skipped because they are damaged.
  size_t skippedLines() const;
  const std::string &path() const { return name; }

private:
  explicit TuningFile(std::string path) : name(std::move(path)) {}
  Status readNew();
  void readLine(std::string_view line);

  const std::string name;
  mutable std::mutex mutex;
  // guarded by mutex:
  std::map<std::string, Decision, std::less<>> records;
  int64_t readBytes = 0; // of whole lines
  size_t skipped = 0;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_CANDIDATES_TUNINGFILE_H
