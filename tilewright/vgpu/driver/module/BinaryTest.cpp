// Containers of PTX, and the images that are refused.
#include "tilewright/vgpu/driver/module/Binary.h"
#include "tilewright/vgpu/decompress/Decompress.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <sstream>

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;

/// A fat binary that nvcc 13.0 made of one kernel; see binaries/README.md.
std::string file(const std::string &name) {
  std::ifstream in(std::string(TILEWRIGHT_SOURCE_DIR) +
                       "/tilewright/vgpu/driver/testing/binaries/" + name,
                   std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

Result<std::string> read(const std::string &image, std::string_view chip = "sm_90a") {
  return ptxOf(std::as_bytes(std::span(image)), *machine::findChip(chip));
}

std::string text(const std::string &image, std::string_view chip = "sm_90a") {
  Result<std::string> ptx = read(image, chip);
  if (ptx.isOk())
    return *ptx;
  ADD_FAILURE() << std::move(ptx).takeStatus().toString();
  return "";
}

/// A fat binary with only the machine code of another one.
std::string machineCodeOf(const std::string &image) {
  for (size_t at = 16; at + 16 < image.size();) {
    uint16_t kind = 0;
    uint32_t header = 0;
    uint64_t bytes = 0;
    std::memcpy(&kind, image.data() + at, sizeof(kind));
    std::memcpy(&header, image.data() + at + 4, sizeof(header));
    std::memcpy(&bytes, image.data() + at + 8, sizeof(bytes));
    const uint64_t size = header + bytes;
    if (kind == 2) {
      std::string result = image.substr(0, 16) + image.substr(at, size);
      std::memcpy(result.data() + 8, &size, sizeof(size));
      return result;
    }
    at += size;
  }
  ADD_FAILURE() << "there is no machine code";
  return "";
}

/// An ELF file with a section of fat binaries, as nvcc puts them into object files.
std::string elfWith(const std::string &content) {
  const std::string names("\0.shstrtab\0.nv_fatbin\0padding", 30);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof(header);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof(header) + sizeof(sections);
  sections[1].sh_size = names.size();
  sections[2].sh_name = 11;
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_offset = sections[1].sh_offset + names.size();
  sections[2].sh_size = content.size();
  std::string file(reinterpret_cast<const char *>(&header), sizeof(header));
  file.append(reinterpret_cast<const char *>(sections), sizeof(sections));
  return file + names + content;
}

class Packed : public ::testing::TestWithParam<const char *> {};

TEST_P(Packed, TheBestPtxIsTaken) {
  const std::string image = file(std::string("scale-") + GetParam() + ".fatbin");
  EXPECT_THAT(text(image, "sm_90a"), HasSubstr(".target sm_90a"));
  EXPECT_THAT(text(image, "sm_90"), HasSubstr(".target sm_80"));
  EXPECT_THAT(text(image, "sm_80"), HasSubstr(".target sm_80"));
  EXPECT_THAT(text(image, "sm_80"), HasSubstr("scale"));
}

TEST_P(Packed, EveryCutAndEveryChangedByteIsRefusedOrRead) {
  const std::string image = file(std::string("scale-") + GetParam() + ".fatbin");
  size_t refused = 0;
  for (size_t size = 0; size < image.size(); size += 7)
    refused += !read(image.substr(0, size)).isOk();
  EXPECT_GT(refused, image.size() / 7 - 40); // short prefixes may pass as text
  for (size_t at = 0; at < image.size(); at += 3) {
    std::string changed = image;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    (void)read(changed).isOk();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Packed, ::testing::Values("none", "speed", "default"));

TEST(Binary, MachineCodeAloneIsRefusedWithWhatToDo) {
  Status status = read(machineCodeOf(file("scale-none.fatbin")), "sm_80").takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuMachineCode);
  EXPECT_THAT(status.message(), HasSubstr("machine code for sm_80"));
  EXPECT_THAT(status.message(), HasSubstr("compute_80"));
  const std::string fat = file("scale-none.fatbin");
  const std::string cubin = fat.substr(fat.find("\x7f"
                                                "ELF"));
  status = read(cubin, "sm_80").takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuMachineCode);
  EXPECT_THAT(status.message(), HasSubstr("cubin"));
}

TEST(Binary, PtxForANewerChipIsNamed) {
  Status status = read(file("scale-none.fatbin"), "sm_80").takeStatus();
  EXPECT_TRUE(status.isOk());
  std::string onlyNewer = file("scale-none.fatbin");
  for (size_t at = onlyNewer.find(".target sm_80"); at != std::string::npos;
       at = onlyNewer.find(".target sm_80"))
    std::memcpy(onlyNewer.data() + at, ".target sm_89", 13);
  status = read(onlyNewer, "sm_86").takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuMachineCode);
  EXPECT_THAT(status.message(), HasSubstr("PTX for sm_89"));
}

TEST(Binary, TheImageSaysItsOwnSize) {
  const std::string image = file("scale-none.fatbin");
  Result<std::span<const std::byte>> whole = wholeImage(image.data());
  ASSERT_TRUE(whole.isOk());
  EXPECT_EQ(whole->size(), image.size());
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void *data;
    const void *name = nullptr;
  } wrapper;
  wrapper.data = image.data();
  whole = wholeImage(&wrapper);
  ASSERT_TRUE(whole.isOk());
  EXPECT_EQ(whole->data(), reinterpret_cast<const std::byte *>(image.data()));
  wrapper.data = nullptr;
  EXPECT_EQ(wholeImage(&wrapper).takeStatus().error(), Error::vgpuBinary);
  whole = wholeImage(".version 7.8");
  EXPECT_EQ(whole->size(), 12u);
  EXPECT_EQ(wholeImage("")->size(), 0u);
}

TEST(Binary, AHostProgramWithASectionOfFatBinaries) {
  // Two fat binaries with padding between them, the first without PTX.
  const std::string fat = file("scale-none.fatbin");
  const std::string object = elfWith(machineCodeOf(fat) + std::string(16, '\0') + fat);
  EXPECT_THAT(text(object, "sm_80"), HasSubstr(".target sm_80"));
  Result<std::span<const std::byte>> whole = wholeImage(object.data());
  ASSERT_TRUE(whole.isOk());
  EXPECT_EQ(whole->size(), object.size());
  for (size_t size = 64; size < object.size(); size += 61)
    (void)read(object.substr(0, size)).isOk();
}

/// Only the image itself gives its size: four bytes and a zero must not be read as a header.
TEST(Binary, TheMagicOfAnElfFileAloneIsRefused) {
  EXPECT_EQ(wholeImage("\x7f"
                       "ELF")
                .takeStatus()
                .error(),
            Error::vgpuBinary);
}

TEST(Binary, OtherThingsAreNoModules) {
  EXPECT_EQ(read(std::string("\x01\x02\x03\x04", 4)).takeStatus().error(), Error::vgpuBinary);
  EXPECT_EQ(read("").takeStatus().error(), Error::vgpuBinary);
}

std::string unpacked(std::initializer_list<int> bytes, size_t size) {
  std::string packed;
  for (int byte : bytes)
    packed += static_cast<char>(byte);
  Result<std::string> result = decompress::unpackLz4(std::as_bytes(std::span(packed)), size);
  return result.isOk() ? *result : std::move(result).takeStatus().message();
}

TEST(Lz4, LiteralsAndRepeats) {
  EXPECT_EQ(unpacked({0x30, 'a', 'b', 'c'}, 3), "abc");
  // Three literals, then 4 + 3 bytes from a distance of 3: the match overlaps its output.
  EXPECT_EQ(unpacked({0x33, 'a', 'b', 'c', 3, 0, 0x10, '!'}, 11), "abcabcabca!");
  // A literal length of 15 + 2.
  EXPECT_EQ(unpacked({0xf0, 2, '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd',
                      'e', 'f', 'g'},
                     17),
            "0123456789abcdefg");
}

TEST(Lz4, DamageIsNamed) {
  EXPECT_THAT(unpacked({0x30, 'a'}, 3), HasSubstr("damaged"));
  EXPECT_THAT(unpacked({0x10, 'a', 2, 0}, 8), HasSubstr("damaged")); // before the output
  EXPECT_THAT(unpacked({0x10, 'a', 0, 0}, 8), HasSubstr("damaged"));
  EXPECT_THAT(unpacked({0x1f, 'a', 1, 0, 255, 255, 0}, 100), HasSubstr("damaged"));
  EXPECT_THAT(unpacked({0x30, 'a', 'b', 'c'}, 4), HasSubstr("3 bytes, expected 4"));
  EXPECT_THAT(unpacked({0xff, 255, 255}, 4), HasSubstr("damaged"));
}

TEST(Allocations, AreFoundByAnyAddressInThem) {
  machine::Allocations table;
  const uint64_t first = table.add(1000, 100, machine::AllocationKind::device, 0);
  table.add(2000, 50, machine::AllocationKind::host, 1);
  EXPECT_EQ(table.find(1099)->id, first);
  EXPECT_FALSE(table.find(1100));
  EXPECT_FALSE(table.find(999));
  std::shared_ptr<const machine::AllocationTable> before = table.snapshot();
  EXPECT_EQ(before, table.snapshot());
  EXPECT_TRUE(table.overlaps(1099, 5));
  EXPECT_FALSE(table.overlaps(1100, 5));
  EXPECT_TRUE(table.overlaps(900, 5000));
  EXPECT_EQ(table.remove(1000)->bytes(), 100u);
  EXPECT_FALSE(table.remove(1000));
  EXPECT_EQ(before->find(1050)->id, first) << "a snapshot does not change";
  EXPECT_EQ(table.snapshot()->find(1050), nullptr);
  EXPECT_EQ(table.findFreed(1050)->id, first);
  const uint64_t again = table.add(1000, 100, machine::AllocationKind::device, 0);
  EXPECT_NE(again, first);
  EXPECT_EQ(table.snapshot()->before(1500)->id, again);
  EXPECT_EQ(table.snapshot()->after(1500)->begin, 2000u);
  EXPECT_EQ(table.snapshot()->before(10), nullptr);
  EXPECT_EQ(table.snapshot()->after(3000), nullptr);
}

} // namespace
} // namespace tilewright::vgpu::driver
