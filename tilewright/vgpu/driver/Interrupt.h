// Handles Ctrl-C while kernels run.
#ifndef TILEWRIGHT_VGPU_DRIVER_INTERRUPT_H
#define TILEWRIGHT_VGPU_DRIVER_INTERRUPT_H

#include <atomic>

namespace tilewright::vgpu::driver {

/// While an InterruptScope exists, the first SIGINT asks launches to stop and then calls the
/// program's own handler (Python's raises KeyboardInterrupt when the driver's function returns). A
/// second SIGINT ends the process. Without an InterruptScope, a program that waits for an endless
/// kernel could not be interrupted, because interpreters handle the signal only after the call
/// returns.
///
/// A program that ignores SIGINT continues to ignore it. A program without a handler is ended by
/// the signal after the last launch has reported its location. Several threads may have an
/// InterruptScope at the same time.
class InterruptScope {
public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;

  const std::atomic<bool> &isRequested() const;
};

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_INTERRUPT_H
