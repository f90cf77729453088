// Encodings of every row of the table, for tests that compare the decoder with LLVM and for
// fuzzers.
#ifndef TILEWRIGHT_VGPU_AMDGCN_TESTING_RANDOMINSTRUCTION_H
#define TILEWRIGHT_VGPU_AMDGCN_TESTING_RANDOMINSTRUCTION_H

#include "tilewright/vgpu/amdgcn/Instruction.h"

#include <functional>
#include <vector>

namespace tilewright::vgpu::amdgcn::testing {

/// A row in one of its forms. `scaled` is the form of an MFMA that has scales.
struct RowForm {
  const Row *row = nullptr;
  Form form = Form::e32;
  bool scaled = false;
};

/// All rows of a chip in all their forms.
std::vector<RowForm> formsOf(Chip chip);

/// The dwords of a row with the registers 0 as operands, padded with 0 to four dwords.
std::vector<uint32_t> firstEncoding(const RowForm &form);

/// The same with random operands and modifiers: changes bits one after the other and keeps each
/// change that leaves an instruction of the same row and form. Empty if the decoder does not know
/// firstEncoding(). `random(n)` returns a number below n.
std::vector<uint32_t> randomEncoding(const RowForm &form, Chip chip,
                                     const std::function<uint64_t(uint64_t)> &random);

} // namespace tilewright::vgpu::amdgcn::testing

#endif // TILEWRIGHT_VGPU_AMDGCN_TESTING_RANDOMINSTRUCTION_H
