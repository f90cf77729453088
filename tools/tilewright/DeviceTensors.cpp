#include "tools/tilewright/DeviceTensors.h"

namespace tilewright::tools {

using interpret::Tensor;

Result<std::vector<std::unique_ptr<runtime::Buffer>>>
toDevice(const interpret::RuntimeValues &inputs, runtime::Memory &memory) {
  std::vector<std::unique_ptr<runtime::Buffer>> buffers;
  for (const interpret::RuntimeValue &input : inputs) {
    const Tensor &tensor = input.tensor();
    runtime::HostBuffer host;
    host.data = tensor.data();
    host.type = {tensor.type(), {tensor.shape().dims().begin(), tensor.shape().dims().end()}};
    TILEWRIGHT_ASSIGN(auto buffer, runtime::Buffer::fromHost(host, memory));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

std::vector<runtime::Buffer *>
pointersTo(const std::vector<std::unique_ptr<runtime::Buffer>> &buffers) {
  std::vector<runtime::Buffer *> pointers;
  for (const std::unique_ptr<runtime::Buffer> &buffer : buffers)
    pointers.push_back(buffer.get());
  return pointers;
}

Result<Tensor> toTensor(const runtime::Buffer &buffer, interpret::Context &context) {
  TILEWRIGHT_ASSIGN(numerics::Shape shape, numerics::Shape::create(buffer.dims()));
  TILEWRIGHT_ASSIGN(Tensor tensor,
                    Tensor::allocate(buffer.elementType(), std::move(shape), context));
  TILEWRIGHT_ASSIGN(runtime::Event copied,
                    buffer.toHost(tensor.mutableData(), buffer.hostByteCount()));
  TILEWRIGHT_TRY(copied.await());
  return tensor;
}

} // namespace tilewright::tools
