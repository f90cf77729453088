#include "tilewright/vgpu/driver/Capture.h"
#include "tilewright/vgpu/driver/Functions.h"
namespace tilewright::vgpu::driver {
CUresult captureWork(const std::shared_ptr<Stream> &, const Work &, bool &) { return CUDA_SUCCESS; }
CUresult captureRecord(const std::shared_ptr<Stream> &, const std::shared_ptr<Event> &, unsigned,
                       bool &) {
  return CUDA_SUCCESS;
}
CUresult captureWait(const std::shared_ptr<Stream> &, const std::shared_ptr<Event> &, unsigned,
                     bool &) {
  return CUDA_SUCCESS;
}
CUresult refuseInCapture(Stream &) { return CUDA_SUCCESS; }
CUresult refuseWhileCapturing(Context &) { return CUDA_SUCCESS; }
CUresult refuseImplicit(Stream &) { return CUDA_SUCCESS; }
CUresult refuseCapturedEvent(Event &) { return CUDA_SUCCESS; }
void invalidateCapture(Stream &) {}
namespace api {
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus *captureStatus) {
  *captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
} // namespace api
} // namespace tilewright::vgpu::driver
