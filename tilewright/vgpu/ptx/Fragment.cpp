#include "tilewright/vgpu/ptx/Fragment.h"

#include <iterator>

namespace tilewright::vgpu::ptx {

namespace {

/// The fragment of `elements` elements of `type`, packed into registers.
Fragment packed(unsigned elements, Modifier type) {
  if (type == Modifier::f64)
    return {elements, type, Modifier::f64};
  if (type == Modifier::f32 || type == Modifier::s32)
    return {elements, type, type};
  Modifier registers = type == Modifier::f16 ? Modifier::f16x2 : Modifier::b32;
  unsigned perRegister = 32 / bitsOf(type);
  unsigned count = (elements + perRegister - 1) / perRegister;
  return {count, type, registers};
}

Fragment ofMma(const Instruction &instruction, char matrix, bool sparse) {
  Shape shape = shapeOf(instruction.find(ModifierKind::shape));
  // The types are in the order D, A, B, C.
  Modifier type = instruction.type(matrix == 'D' ? 0 : matrix == 'A' ? 1 : matrix == 'B' ? 2 : 3);
  if (instruction.row == RowId::mma_f16_quad || instruction.row == RowId::mma_f16_quad_f32) {
    // Four independent products, one per quarter warp.
    if (matrix == 'A' || matrix == 'B')
      return {2, type, Modifier::f16x2};
    return type == Modifier::f32 ? Fragment{8, type, type} : Fragment{4, type, Modifier::f16x2};
  }
  unsigned elements = matrix == 'A'   ? shape.m * shape.k / (sparse ? 2 : 1)
                      : matrix == 'B' ? shape.n * shape.k
                                      : shape.m * shape.n;
  // These products store 4- and 6-bit types in bytes.
  const bool inBytes =
      instruction.has(Modifier::kindF8f6f4) || instruction.has(Modifier::kindMxf8f6f4);
  if (inBytes && (matrix == 'A' || matrix == 'B'))
    return {elements / 128, type, Modifier::b32};
  return packed(elements / 32, type);
}

Fragment ofWgmma(const Instruction &instruction, char matrix) {
  Shape shape = shapeOf(instruction.find(ModifierKind::shape));
  bool sparse = rowOf(instruction).handler == Handler::wgmmaSparse;
  if (matrix == 'A')
    return packed(64u * shape.k / (sparse ? 2 : 1) / 128, instruction.type(1));
  return packed(64u * shape.n / 128, instruction.type(0));
}

/// The numbers are from the wmma chapter of the PTX ISA; f16 fragments hold every element twice.
Fragment ofWmma(const Instruction &instruction, char matrix) {
  Shape shape = shapeOf(instruction.find(ModifierKind::shape));
  Handler handler = rowOf(instruction).handler;
  Modifier type;
  if (handler == Handler::wmmaMma) {
    bool four = instruction.type(2) != Modifier::none; // else D and C; factors are f16
    if (matrix == 'A' || matrix == 'B')
      type = four ? instruction.type(1) : Modifier::f16;
    else
      type = instruction.type(matrix == 'D' ? 0 : four ? 3 : 1);
  } else {
    type = instruction.type();
    Modifier which = instruction.find(ModifierKind::matrix);
    matrix = which == Modifier::matrixA ? 'A' : which == Modifier::matrixB ? 'B' : 'D';
  }
  if (matrix == 'C' || matrix == 'D')
    return packed(shape.m * shape.n / 32, type);
  if (type == Modifier::f16)
    return {8, type, Modifier::f16x2};
  if (type == Modifier::tf32)
    return {4, type, Modifier::b32};
  return packed((matrix == 'A' ? shape.m : shape.n) * shape.k / 32, type);
}

/// A repetition of a shape has 32, 64 or 128 bits for each lane.
Fragment ofTensorMemory(const Instruction &instruction) {
  const Modifier shape = instruction.find(ModifierKind::tensorShape);
  const unsigned each = shape == Modifier::shape16x128b   ? 2
                        : shape == Modifier::shape16x256b ? 4
                                                          : 1;
  return {each * repetitionsOf(instruction), Modifier::b32, Modifier::b32};
}

} // namespace

unsigned repetitionsOf(const Instruction &instruction) {
  static constexpr Modifier counts[] = {Modifier::x1,  Modifier::x2,  Modifier::x4,
                                        Modifier::x8,  Modifier::x16, Modifier::x32,
                                        Modifier::x64, Modifier::x128};
  const Modifier count = instruction.find(ModifierKind::count);
  for (unsigned i = 0; i < std::size(counts); ++i)
    if (counts[i] == count)
      return 1u << i;
  return 1;
}

Fragment fragmentOf(const Instruction &instruction, char matrix) {
  switch (rowOf(instruction).handler) {
  case Handler::ldmatrix:
  case Handler::stmatrix: {
    // 16 rows of 16 bytes are two registers.
    const Shape shape = shapeOf(instruction.find(ModifierKind::shape));
    return {(shape.m * shape.n == 256 ? 2 : 1) * repetitionsOf(instruction), Modifier::b16,
            Modifier::b32};
  }
  case Handler::tcgenLoad:
  case Handler::tcgenStore:
    return ofTensorMemory(instruction);
  case Handler::wgmma:
  case Handler::wgmmaSparse:
    return ofWgmma(instruction, matrix);
  case Handler::wmmaLoad:
  case Handler::wmmaStore:
  case Handler::wmmaMma:
    return ofWmma(instruction, matrix);
  case Handler::mmaSparse:
    return ofMma(instruction, matrix, true);
  default:
    return ofMma(instruction, matrix, false);
  }
}

} // namespace tilewright::vgpu::ptx
