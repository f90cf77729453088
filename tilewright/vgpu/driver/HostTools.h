// Functions in addition to CUDA's, for tools in the same process, such as the shim for torch, the
// pytest plugin (python/tilewright/vgpu) and the virtual NCCL (vgpu/nccl).
#ifndef TILEWRIGHT_VGPU_DRIVER_HOSTTOOLS_H
#define TILEWRIGHT_VGPU_DRIVER_HOSTTOOLS_H

#include <cstddef>
#include <cstdint>

extern "C" {
/// Tells the driver that the host wrote `height` rows of `width` bytes, `pitch` bytes apart, into
/// device memory.
void tilewright_vgpu_host_wrote(uint64_t begin, size_t width, size_t pitch, size_t height);
/// Writes the findings of the checks so far to `buffer`, as JSON; empty if no check is on. Returns
/// the length of the whole text; if that is `capacity` or more, the text was truncated.
size_t tilewright_vgpu_report(char *buffer, size_t capacity);

/// Memory that a host function accesses in place of a kernel.
struct tilewright_vgpu_range {
  uint64_t begin, bytes;
  int isWritten;
};
/// A host function that stands for a kernel. It runs in the order of its stream, on the stream's
/// thread, also from captured graphs, and may wait for other devices.
struct tilewright_vgpu_function {
  const char *name; // must stay valid until release()
  /// Returns a CUresult; an error makes the context unusable, as a kernel's error does.
  int (*run)(void *data);
  /// Called when no stream and no graph needs `data` any more.
  void (*release)(void *data);
  void *data;
  const tilewright_vgpu_range *ranges; // copied; checked before each run
  size_t rangeCount;
};
/// Submits the function to a stream, a CUstream. Returns a CUresult. On failure release() is called
/// before it returns.
int tilewright_vgpu_submit(void *stream, const tilewright_vgpu_function *function);
/// Tells the checks how functions that run() executes synchronise across the devices of the
/// process. Work that learns a key happens after all work that published the key before. After
/// `learners` calls of learn(), the key is forgotten.
void tilewright_vgpu_publish(uint64_t key, unsigned learners);
void tilewright_vgpu_learn(uint64_t key);
}

#endif // TILEWRIGHT_VGPU_DRIVER_HOSTTOOLS_H
