// Folder: where recordings are kept, found and cleared away.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_FOLDER_H
#define TILEWRIGHT_COLLECTIVE_RECORD_FOLDER_H

#include "tilewright/collective/record/Recorder.h"

#include <string>
#include <vector>

namespace tilewright::collective::record {

/// For recordings that nobody named a folder for: this user's own, in memory where there is such a
/// file system.
std::string defaultFolder();

/// Files of processes that have ended, beyond so many bytes of the newest, are removed from the
/// default folder when a new one is made there.
inline constexpr uint64_t mostBytesOfEnded = uint64_t(256) << 20;
void removeEnded(const std::string &folder, uint64_t mostBytes = mostBytesOfEnded);

/// A name that no other job has: when it began, and by chance.
std::string newJobName();

/// A recorder as runtime.flight-recorder says: "auto" is the default folder, for jobs of several
/// processes; "off" is none; all else a folder, made if it is not there. Null if there is to be
/// none, or if the default folder cannot be used: nobody asked for that one.
///  - recorderFile (E6051)
Result<std::shared_ptr<Recorder>> openRecorder(const std::string &setting,
                                               Recorder::Options options);

/// The files that paths stand for: themselves, or the recordings in a folder.
///  - recordingsMissing (E6052)
Result<std::vector<std::string>> recordingsAt(const std::vector<std::string> &paths);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_FOLDER_H
