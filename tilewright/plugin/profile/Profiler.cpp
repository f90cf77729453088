// The extension through which jax.profiler collects our events for its timeline.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/profile/XSpace.h"
#include "tilewright/support/Trace.h"

#include <xla/pjrt/c/pjrt_c_api_profiler_extension.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <string>

using namespace tilewright;

/// One profiling session, from start to stop.
struct PLUGIN_Profiler {
  int64_t since = 0;
  bool ownsRecorder = false; // false: a trace file or another session already records
  bool isCollected = false;
  std::string data; // a serialized XSpace
};

/// No function here fails, so no object of this type ever exists.
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
  // If the session was not stopped, stop it now, so that the recorder does not keep running.
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

/// Supports two protocols. According to the header, callers call twice: for the size, and then with
/// their own buffer. jaxlib calls once and reads from the buffer that we return, which the session
/// owns.
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
  // jaxlib 0.10.2 crashes unless the struct has the size that it has in jaxlib's own version, where
  // collect_data is the last field.
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
