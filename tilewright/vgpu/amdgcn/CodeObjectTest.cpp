#include "tilewright/vgpu/amdgcn/CodeObject.h"

#include "tilewright/vgpu/amdgcn/Disassemble.h"
#include "tilewright/vgpu/amdgcn/MessagePack.h"
#include "tilewright/vgpu/amdgcn/testing/MakeObject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::vgpu::amdgcn {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

Status failureOf(const std::string &file) { return readCodeObject(bytesOf(file)).takeStatus(); }

TEST(CodeObject, AKernelHasItsDescriptorAndMetadata) {
  const std::string file = makeObject({.metadata = makeMetadata("add")});
  Result<CodeObject> object = readCodeObject(bytesOf(file));
  ASSERT_TRUE(object.isOk()) << std::move(object).takeStatus().toString();
  EXPECT_EQ(object->chip, Chip::gfx942);
  const Kernel *kernel = object->find("add");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->entry, 0x1100u);
  EXPECT_EQ(kernel->descriptor.ldsBytes, 2048u);
  EXPECT_EQ(kernel->descriptor.scratchBytesPerLane, 16u);
  EXPECT_EQ(kernel->descriptor.kernelArgumentBytes, 24u);
  EXPECT_EQ(kernel->descriptor.vgprs(), 48u);
  EXPECT_EQ(kernel->descriptor.firstAgpr(), 32u);
  EXPECT_EQ(kernel->descriptor.userSgprs(), 14u);
  EXPECT_TRUE(kernel->descriptor.usesScratch());
  EXPECT_TRUE(kernel->descriptor.hasGroupId(0));
  EXPECT_FALSE(kernel->descriptor.hasGroupId(1));
  EXPECT_TRUE(kernel->descriptor.hasArgumentPointer());
  EXPECT_FALSE(kernel->descriptor.hasDispatchPointer());
  EXPECT_EQ(kernel->descriptor.preloadedDwords(), 6u);
  EXPECT_EQ(kernel->vgprs, 42u);
  EXPECT_EQ(kernel->agprs, 8u);
  EXPECT_EQ(kernel->waveSize, 64u);
  EXPECT_EQ(kernel->maxWorkgroupSize, 1024u);
  ASSERT_EQ(kernel->arguments.size(), 2u);
  EXPECT_EQ(kernel->arguments[0].name, "x");
  EXPECT_EQ(kernel->arguments[0].valueKind, "global_buffer");
  EXPECT_EQ(kernel->arguments[1].offset, 8u);
  EXPECT_EQ(kernel->arguments[1].valueKind, "hidden_block_count_x");
}

TEST(CodeObject, AFileThatIsNotACodeObjectIsRefusedByItsKind) {
  EXPECT_THAT(failureOf("hello").message(), HasSubstr("neither an ELF file nor a bundle"));
  std::string file = makeObject();
  file[18] = 62; // EM_X86_64
  EXPECT_THAT(failureOf(file).message(),
              HasSubstr("machine 62, expected a 64-bit file for machine 224"));
}

TEST(CodeObject, AnotherChipIsRefusedByItsNumber) {
  const Status status = failureOf(makeObject({.machine = 0x49}));
  EXPECT_EQ(status.error(), Error::vgpuChip);
  EXPECT_THAT(status.message(), HasSubstr("machine 73"));
  EXPECT_THAT(status.message(), HasSubstr("compile for gfx942 or gfx950"));
}

TEST(CodeObject, AnEntryOutsideOfTheCodeIsRefused) {
  EXPECT_THAT(failureOf(makeObject({.entryOffset = 0x5000})).message(),
              HasSubstr("kernel 'add' begins at 24576, where there is no code"));
  EXPECT_THAT(failureOf(makeObject({.entryOffset = 0x102})).message(),
              HasSubstr("where there is no code"));
}

TEST(CodeObject, ArgumentsOutsideOfTheirSegmentAreRefused) {
  const ArgumentPlace x = {0, 8}, last = {20, 4};
  auto failure = [](ArgumentPlace x, ArgumentPlace hidden) {
    const Status status = failureOf(makeObject({.metadata = makeMetadata("add", x, hidden)}));
    EXPECT_TRUE(status.isOk() || status.error() == Error::vgpuBinary);
    return std::string(status.message());
  };
  EXPECT_EQ(failure(x, last), "");
  EXPECT_EQ(failure({0, 20}, last), "");
  EXPECT_EQ(failure({20, 0}, last), "") << "an empty argument is nowhere";
  EXPECT_THAT(failure(x, {21, 4}),
              HasSubstr("damaged code object: argument 1 of kernel 'add' has 4 bytes at 21, which "
                        "is outside the kernel's 24 bytes of arguments"));
  EXPECT_THAT(failure({25, 0}, last), HasSubstr("argument 0 of kernel 'add' has 0 bytes at 25"));
  // The end of the argument is beyond 2^64, where the sum is small again.
  EXPECT_THAT(failure({~uint64_t(0) - 7, 16}, last),
              HasSubstr("argument 0 of kernel 'add' has 16 bytes at 18446744073709551608"));
  EXPECT_THAT(failure({8, ~uint64_t(0)}, last), HasSubstr("which is outside"));
  EXPECT_THAT(failure({uint64_t(1) << 60, 8}, last), HasSubstr("which is outside"));
}

TEST(CodeObject, ArgumentsThatOverlapAreRefused) {
  for (auto [x, hidden] : {std::pair<ArgumentPlace, ArgumentPlace>{{0, 12}, {8, 4}},
                           {{8, 4}, {8, 4}},
                           {{10, 8}, {4, 8}}}) {
    const Status status = failureOf(makeObject({.metadata = makeMetadata("add", x, hidden)}));
    EXPECT_EQ(status.error(), Error::vgpuBinary);
    EXPECT_THAT(status.message(), HasSubstr("of kernel 'add' overlap: "));
  }
  EXPECT_THAT(failureOf(makeObject({.metadata = makeMetadata("add", {10, 8}, {4, 8})})).message(),
              HasSubstr("arguments 1 and 0 of kernel 'add' overlap: 8 bytes at 4 and 8 bytes at "
                        "10"));
}

TEST(CodeObject, ATruncatedFileIsRefusedWhereverItEnds) {
  const std::string file = makeObject({.metadata = makeMetadata("add")});
  for (size_t size = 0; size < file.size(); ++size) {
    const std::string part = file.substr(0, size);
    const Status status = failureOf(part);
    ASSERT_FALSE(status.isOk()) << "with " << size << " of " << file.size() << " bytes";
    ASSERT_EQ(status.error(), Error::vgpuBinary);
  }
}

TEST(CodeObject, AChangedByteNeverCrashesTheReader) {
  const std::string file = makeObject({.metadata = makeMetadata("add")});
  for (size_t at = 0; at < file.size(); ++at)
    for (unsigned change : {0x01u, 0x80u, 0xffu}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ change);
      Result<CodeObject> object = readCodeObject(bytesOf(changed));
      if (object.isOk())
        disassemble(*object);
    }
}

TEST(Bundle, TheEntryOfTheChipIsFound) {
  const std::string first = makeObject(), second = makeObject({.machine = 0x4f});
  const std::pair<std::string, std::string> entries[] = {
      {"host-x86_64-unknown-linux--", ""},
      {"hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", first},
      {"hipv4-amdgcn-amd-amdhsa--gfx950", second}};
  const std::string bundle = makeBundle(entries);
  for (Chip chip : {Chip::gfx942, Chip::gfx950}) {
    auto code = findCodeObject(bytesOf(bundle), chip);
    ASSERT_TRUE(code.isOk());
    Result<CodeObject> object = readCodeObject(code->bytes);
    ASSERT_TRUE(object.isOk());
    EXPECT_EQ(object->chip, chip);
  }
  EXPECT_TRUE(findCodeObject(bytesOf(bundle)).isOk());
  for (size_t size = 24; size < 24 + 8 + 3 * 24; ++size)
    EXPECT_FALSE(findCodeObject(bytesOf(bundle).first(size)).isOk());
}

TEST(Bundle, AMissingChipIsReportedWithThoseThatAreThere) {
  const std::pair<std::string, std::string> entries[] = {{"hipv4-amdgcn-amd-amdhsa--gfx90a", "x"}};
  const std::string bundle = makeBundle(entries);
  const Status status = findCodeObject(bytesOf(bundle), Chip::gfx950).takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuChip);
  EXPECT_THAT(status.message(), HasSubstr("no code for gfx950, only for "
                                          "hipv4-amdgcn-amd-amdhsa--gfx90a"));
}

/// The header of a compressed bundle of version 3, before the data.
std::string compressedHeader(uint16_t version, uint16_t method, uint64_t size) {
  std::string header = "CCOB";
  auto add = [&](auto value) {
    header.append(reinterpret_cast<const char *>(&value), sizeof value);
  };
  add(version);
  add(method);
  add(uint64_t(0)); // the size of the file
  add(size);
  add(uint64_t(0)); // a hash
  return header;
}

TEST(Bundle, ACompressedBundleIsUnpackedOrRefusedByName) {
  auto failure = [](const std::string &file) {
    return std::string(findCodeObject(bytesOf(file)).takeStatus().message());
  };
  EXPECT_THAT(failure("CCOB"), HasSubstr("version 0, expected 1 to 3"));
  EXPECT_THAT(failure(compressedHeader(9, 1, 10)), HasSubstr("version 9"));
  EXPECT_THAT(failure(compressedHeader(3, 0, 10)), HasSubstr("method 0, but only 1 (Zstandard)"));
  EXPECT_THAT(failure(compressedHeader(3, 1, uint64_t(1) << 60) + "data"),
              HasSubstr("4 compressed bytes cannot unpack to 1152921504606846976"));
  EXPECT_THAT(failure(compressedHeader(3, 1, 10) + "data"), HasSubstr("Zstandard"));
  // A Zstandard frame with one raw block: the bytes of a bundle without entries.
  const std::string bundle = makeBundle({});
  std::string frame("\x28\xb5\x2f\xfd\x20", 5);
  frame += static_cast<char>(bundle.size());
  frame += static_cast<char>(bundle.size() << 3 | 1);
  frame += static_cast<char>(bundle.size() >> 5);
  frame += '\0';
  frame += bundle;
  EXPECT_THAT(failure(compressedHeader(3, 1, bundle.size()) + frame),
              HasSubstr("the bundle has no code for gfx942 or gfx950, only for nothing"));
}

TEST(MessagePack, EveryTypeIsRead) {
  constexpr char document[] = "\x9a\xc0\xc3\xca\x3f\x80\x00\x00\xd0\xff\xcd\x01\x00\xd3\xff\xff\xff"
                              "\xff\xff\xff\xff\xfe\xa1x\xc4\x01y\xdc\x00\x01\x05\x81\xa1k\xe0";
  const std::string bytes(document, sizeof document - 1);
  Result<PackedValue> value = readMessagePack(bytesOf(bytes));
  ASSERT_TRUE(value.isOk()) << std::move(value).takeStatus().toString();
  ASSERT_EQ(value->elements.size(), 10u);
  EXPECT_EQ(value->elements[0].kind, PackedValue::Kind::nil);
  EXPECT_EQ(value->elements[1].integer, 1);
  EXPECT_EQ(value->elements[2].real, 1.0);
  EXPECT_EQ(value->elements[3].integer, -1);
  EXPECT_EQ(value->elements[4].integer, 256);
  EXPECT_EQ(value->elements[5].integer, -2);
  EXPECT_EQ(value->elements[6].string, "x");
  EXPECT_EQ(value->elements[7].string, "y");
  EXPECT_EQ(value->elements[8].elements[0].integer, 5);
  EXPECT_EQ(value->elements[9].integerOf("k"), -32);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(readMessagePack(bytesOf(bytes).first(size)).isOk());
}

TEST(MessagePack, HugeCountsAndDeepNestingAreRefused) {
  EXPECT_THAT(readMessagePack(bytesOf("\xdd\xff\xff\xff\xff")).takeStatus().message(),
              HasSubstr("declares 4294967295 values but has 0 bytes"));
  EXPECT_THAT(readMessagePack(bytesOf(std::string(100, '\x91'))).takeStatus().message(),
              HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(readMessagePack(bytesOf("\x01\x02")).takeStatus().message(),
              HasSubstr("1 unexpected bytes"));
}

} // namespace
} // namespace tilewright::vgpu::amdgcn
