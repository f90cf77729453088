#include "test/fuzz/AmdgcnTarget.h"

#include "tilewright/vgpu/amdgcn/Disassemble.h"
#include "tilewright/vgpu/amdgcn/Instruction.h"
#include "tilewright/vgpu/amdgcn/testing/RandomInstruction.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilewright::fuzz {

using namespace vgpu::amdgcn;

static void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "the reader of AMD's code objects broke its word: %s\n", what);
  std::abort();
}

/// Decodes the instruction at the beginning of `words`. Returns its size, 1 if it is unknown.
static size_t checkDecoding(std::span<const uint32_t> words, Chip chip) {
  const auto instruction = decode(words, chip);
  if (!instruction)
    return 1;
  require(instruction->dwords >= 1 && instruction->dwords <= words.size(),
          "an instruction goes beyond its bytes");
  require(instruction->operandCount <= instruction->operandStorage.size(), "too many operands");
  require(instruction->row && instruction->row->isOn(chip), "a row of another chip");
  const std::string text = toText(*instruction);
  require(!text.empty() && text.size() < 400, "an instruction has no text");
  const auto alone = decode(words.first(instruction->dwords), chip);
  require(alone && toText(*alone) == text, "an instruction depends on the bytes after it");
  require(!decode(words.first(instruction->dwords - 1u), chip), "an instruction ends too early");
  return instruction->dwords;
}

static bool isInside(std::string_view input, const void *data, size_t size) {
  if (size == 0)
    return true;
  const auto *first = static_cast<const char *>(data);
  return first >= input.data() && first + size <= input.data() + input.size();
}

static void checkObject(std::string_view input, const CodeObject &object) {
  auto isPart = [&](const auto &view) { return isInside(input, view.data(), view.size()); };
  for (const Section &section : object.sections)
    require(isPart(section.name) && isPart(section.bytes), "a section is outside");
  for (const Segment &segment : object.segments)
    require(isPart(segment.bytes) && segment.bytes.size() <= segment.memoryBytes,
            "a segment is outside");
  for (const Symbol &symbol : object.symbols)
    require(isPart(symbol.name) && symbol.section < object.sections.size(), "a symbol is outside");
  for (const Kernel &kernel : object.kernels) {
    require(isPart(kernel.name) && kernel.entry % 4 == 0, "a kernel is outside");
    const uint64_t bytes = kernel.descriptor.kernelArgumentBytes;
    for (const KernelArgument &argument : kernel.arguments) {
      require(isPart(argument.name) && isPart(argument.valueKind), "an argument is outside");
      require(argument.offset <= bytes && argument.size <= bytes - argument.offset,
              "an argument is outside its kernel's segment");
    }
  }
  const Disassembly disassembly = disassemble(object);
  require(disassembly.text.size() < 400 * (input.size() + 400), "the text is too long");
}

static bool checkRefusal(Status status) {
  require(status.error() == Error::vgpuBinary || status.error() == Error::vgpuChip,
          "a refusal without an id");
  return false;
}

bool checkAmdgcn(std::string_view input) {
  constexpr size_t maxDwords = 8;
  std::vector<uint32_t> words(std::min(maxDwords, input.size() / 4));
  if (!words.empty())
    std::memcpy(words.data(), input.data(), 4 * words.size());
  for (Chip chip : {Chip::gfx942, Chip::gfx950})
    for (size_t i = 0; i < words.size();)
      i += checkDecoding(std::span(words).subspan(i), chip);
  auto code = findCodeObject(std::as_bytes(std::span(input)));
  if (!code.isOk())
    return checkRefusal(std::move(code).takeStatus());
  Result<CodeObject> object = readCodeObject(code->bytes);
  if (!object.isOk())
    return checkRefusal(std::move(object).takeStatus());
  if (code->unpacked)
    input = *code->unpacked;
  checkObject(input, *object);
  return true;
}

std::string mutateAmdgcn(std::string_view input, Random &random) {
  if (input.size() < 4 || random.oneIn(2))
    return mutateBits(input, random);
  std::string changed(input);
  static const auto forms = testing::formsOf(Chip::gfx950);
  const std::vector<uint32_t> words = testing::firstEncoding(forms[random.below(forms.size())]);
  const size_t at = random.below(changed.size() / 4) * 4;
  changed.resize(std::max(changed.size(), at + 4 * words.size()));
  std::memcpy(changed.data() + at, words.data(), 4 * words.size());
  return changed;
}

} // namespace tilewright::fuzz
