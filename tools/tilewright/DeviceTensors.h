// Tensors of the interpreter as buffers of a device, and back.
#ifndef TOOLS_TILEWRIGHT_DEVICETENSORS_H
#define TOOLS_TILEWRIGHT_DEVICETENSORS_H

#include "tilewright/interpret/Context.h"
#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/runtime/Buffer.h"

#include <memory>
#include <vector>

namespace tilewright::tools {

/// Copies the inputs of a program to a device. Starts the copies; programs wait for them.
Result<std::vector<std::unique_ptr<runtime::Buffer>>>
toDevice(const interpret::RuntimeValues &inputs, runtime::Memory &memory);

/// The buffers as arguments of a program.
std::vector<runtime::Buffer *>
pointersTo(const std::vector<std::unique_ptr<runtime::Buffer>> &buffers);

/// Copies a buffer to the host and waits for the copy.
Result<interpret::Tensor> toTensor(const runtime::Buffer &buffer, interpret::Context &context);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_DEVICETENSORS_H
