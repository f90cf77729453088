// Device memory (cuMemAlloc) and events that processes share by handles (cuIpc*).
#ifndef TILEWRIGHT_VGPU_DRIVER_VIRTUAL_IPC_H
#define TILEWRIGHT_VGPU_DRIVER_VIRTUAL_IPC_H

#include "tilewright/vgpu/driver/Stream.h"

namespace tilewright::vgpu::driver {

/// The state of an event that processes share: how often it was recorded, and how many of the
/// records are done. Stored in an unnamed file.
class SharedEvent {
public:
  /// Returns null if the host has no memory left.
  static std::shared_ptr<SharedEvent> create();
  /// Opens the file of another process' event; takes over the descriptor.
  static std::shared_ptr<SharedEvent> open(int file);
  ~SharedEvent();
  SharedEvent(const SharedEvent &) = delete;
  SharedEvent &operator=(const SharedEvent &) = delete;

  /// Notes a record and returns its number.
  uint64_t record();
  void finish(uint64_t number);
  /// A fence that is signalled when the latest record is done; null if there is none.
  static std::shared_ptr<Fence> latest(const std::shared_ptr<SharedEvent> &event);
  int descriptor() const { return file; }

private:
  struct State {
    std::atomic<uint64_t> recorded, done;
    std::atomic<int> process; // that made the latest record
  };
  SharedEvent(int file, State &state) : file(file), state(state) {}

  const int file;
  State &state;
};

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_VIRTUAL_IPC_H
