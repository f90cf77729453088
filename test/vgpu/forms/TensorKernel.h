// Kernels that fill shared and tensor memory, execute instructions of tcgen05, and give back what
// tensor memory holds then.
#ifndef TEST_VGPU_FORMS_TENSORKERNEL_H
#define TEST_VGPU_FORMS_TENSORKERNEL_H

#include "test/vgpu/forms/FormKernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::vgpu::forms {

/// The tensor memory of one block: 128 lanes of 512 columns.
struct TensorImage {
  std::vector<uint32_t> words = std::vector<uint32_t>(size_t(128) * 512);
  uint32_t &at(uint32_t lane, uint32_t column) { return words[size_t(lane) * 512 + column]; }
  uint32_t at(uint32_t lane, uint32_t column) const { return words[size_t(lane) * 512 + column]; }
  uint8_t byte(uint32_t lane, uint32_t column, uint32_t index) const {
    return static_cast<uint8_t>(at(lane, column) >> 8 * index);
  }
  void setByte(uint32_t lane, uint32_t column, uint32_t index, uint8_t value) {
    at(lane, column) = (at(lane, column) & ~(0xffu << 8 * index)) | uint32_t(value) << 8 * index;
  }
};

/// The memory that a kernel starts with: of one block, or of a pair of them.
struct TensorSetup {
  std::vector<std::vector<uint8_t>> shared; // by block, of equal size
  std::vector<TensorImage> tensor;          // by block
  /// Executed by thread 0 of block 0. %t is the address of tensor memory, %s that of the tiles; %d0
  /// …, %r0 …, %p0 … are free.
  std::string instructions;
  machine::Arithmetic arithmetic = machine::Arithmetic::exact;
};

/// Runs the instructions, followed by a commit, and returns the tensor memory of each block; empty
/// after a failure, which counts as one of `form`.
std::vector<TensorImage> runOnTensor(Session &session, const Form &form, const TensorSetup &setup);

void runTensor(Session &session);
void runTensorProducts(Session &session);

} // namespace tilewright::vgpu::forms

#endif // TEST_VGPU_FORMS_TENSORKERNEL_H
