// Folder: the folders in which recordings are stored, found and cleaned up.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_FOLDER_H
#define TILEWRIGHT_COLLECTIVE_RECORD_FOLDER_H

#include "tilewright/collective/record/Recorder.h"

#include <string>
#include <vector>

namespace tilewright::collective::record {

/// The folder for recordings if no option specifies one: private to this user, and in a
/// memory-backed file system if available.
std::string defaultFolder();

/// The maximum total size of recordings of ended processes in a folder; the oldest are removed
/// first, whenever a recording is created in the default folder.
inline constexpr uint64_t maxBytesOfEnded = uint64_t(256) << 20;
void removeEnded(const std::string &folder, uint64_t maxBytes = maxBytesOfEnded);

/// A unique job id: start time plus random bits.
std::string newJobName();

/// Creates a recorder as specified by the option runtime.flight-recorder: "auto" means the default
/// folder, for jobs of several processes; "off" means no recorder; any other value is a folder,
/// which is created if it does not exist. Null if no recorder is wanted, or if the default folder
/// is unusable: this is not an error, because the user did not request it.
///  - recorderFile (E6051)
Result<std::shared_ptr<Recorder>> openRecorder(const std::string &setting,
                                               Recorder::Options options);

/// Replaces each folder in `paths` by the recordings in it.
///  - recordingsMissing (E6052)
Result<std::vector<std::string>> recordingsAt(const std::vector<std::string> &paths);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_FOLDER_H
