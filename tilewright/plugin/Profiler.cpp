// The extension through which jax.profiler asks for our part of its timeline.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/XSpace.h"
#include "tilewright/support/Trace.h"

#include <xla/pjrt/c/pjrt_c_api_profiler_extension.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <string>

using namespace tilewright;

/// One session: from start to stop.
struct PLUGIN_Profiler {
  int64_t since = 0;
  bool ownsRecorder = false; // else somebody records already, for a file or another session
  bool isCollected = false;
  std::string data; // a serialized XSpace
};

/// Nothing here can fail, so there is never one to look at.
struct PLUGIN_Profiler_Error {};

namespace tilewright::plugin {
namespace {

std::mutex recorderMutex;

void ErrorDestroy(PLUGIN_Profiler_Error_Destroy_Args *args) { delete args->error; }

void ErrorMessage(PLUGIN_Profiler_Error_Message_Args *args) {
  args->message = "";
  args->message_size = 0;
}

PLUGIN_Profiler_Error *ErrorGetCode(PLUGIN_Profiler_Error_GetCode_Args *args) {
  args->code = static_cast<int>(Code::internal);
  return nullptr;
}

PLUGIN_Profiler_Error *Create(PLUGIN_Profiler_Create_Args *args) {
  args->profiler = new PLUGIN_Profiler;
  return nullptr;
}

PLUGIN_Profiler_Error *Stop(PLUGIN_Profiler_Stop_Args *args) {
  std::lock_guard lock(recorderMutex);
  if (std::exchange(args->profiler->ownsRecorder, false))
    trace::stop();
  return nullptr;
}

PLUGIN_Profiler_Error *Destroy(PLUGIN_Profiler_Destroy_Args *args) {
  // A session that was never stopped must not leave the recorder running for ever.
  PLUGIN_Profiler_Stop_Args stop = {PLUGIN_Profiler_Stop_Args_STRUCT_SIZE, args->profiler};
  if (args->profiler)
    Stop(&stop);
  delete args->profiler;
  return nullptr;
}

PLUGIN_Profiler_Error *Start(PLUGIN_Profiler_Start_Args *args) {
  std::lock_guard lock(recorderMutex);
  args->profiler->ownsRecorder = !trace::isOn();
  if (args->profiler->ownsRecorder)
    trace::start();
  args->profiler->since = trace::now();
  args->profiler->isCollected = false;
  return nullptr;
}

std::string &collected(PLUGIN_Profiler &profiler) {
  if (!profiler.isCollected) {
    profiler.isCollected = true;
    int64_t unixNow = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
    profiler.data = toXSpace(trace::eventsSince(profiler.since), unixNow - trace::now());
  }
  return profiler.data;
}

/// The header has callers ask twice, for the size and then with a buffer of theirs; jaxlib asks
/// once and reads where it is pointed to, which belongs to the session. Both are served.
PLUGIN_Profiler_Error *CollectData(PLUGIN_Profiler_CollectData_Args *args) {
  std::string &data = collected(*args->profiler);
  auto *ours = reinterpret_cast<uint8_t *>(data.data());
  if (args->buffer && args->buffer != ours)
    std::memcpy(args->buffer, ours, data.size());
  else
    args->buffer = ours;
  args->buffer_size_in_bytes = data.size();
  return nullptr;
}

} // namespace

PJRT_Extension_Base *profilerExtension(PJRT_Extension_Base *next) {
  // jaxlib 0.10.2 demands the size of its own version, which ends here, and crashes on another.
  constexpr size_t size = PROFILER_STRUCT_SIZE(PLUGIN_Profiler_Api, collect_data);
  static PLUGIN_Profiler_Api api = [] {
    PLUGIN_Profiler_Api made = {};
    made.struct_size = size;
    made.error_destroy = ErrorDestroy;
    made.error_message = ErrorMessage;
    made.error_get_code = ErrorGetCode;
    made.create = Create;
    made.destroy = Destroy;
    made.start = Start;
    made.stop = Stop;
    made.collect_data = CollectData;
    return made;
  }();
  static PJRT_Profiler_Extension extension = {
      {PJRT_Profiler_Extension_STRUCT_SIZE, PJRT_Extension_Type_Profiler, nullptr}, &api, 0};
  extension.base.next = next;
  return &extension.base;
}

} // namespace tilewright::plugin
