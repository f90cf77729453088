// The reader accepts what the writer wrote, and rejects everything else with a reason.

#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Format.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/artifact/testing/SampleExecutable.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace tilewright;
using namespace tilewright::artifact;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

static Bytes sampleBytes() { return writeExecutable(sampleExecutable()); }

template <typename T> static void put(Bytes &bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Reading `bytes` must fail with `error`, with `words` in the message.
static void expectFailure(const Bytes &bytes, Error error, std::string_view words) {
  Status status = readExecutable(bytes).takeStatus();
  ASSERT_FALSE(status.isOk()) << "expected " << idOf(error);
  EXPECT_EQ(status.error(), error) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr(words));
}

TEST(ExecutableReader, GivesBackWhatWasWritten) {
  Executable sample = sampleExecutable();
  Bytes bytes = writeExecutable(sample);

  Result<Executable> read = readExecutable(bytes);

  ASSERT_TRUE(read.isOk()) << std::move(read).takeStatus().toString();
  EXPECT_NE(read->fingerprint, sample.fingerprint);
  EXPECT_EQ(writeExecutable(*read), bytes);
  sample.fingerprint = read->fingerprint;
  EXPECT_EQ(*read, sample);
}

TEST(ExecutableReader, GivesBackLaunchesOfAGpu) {
  Executable sample = sampleGpuExecutable();
  Bytes bytes = writeExecutable(sample);

  Result<Executable> read = readExecutable(bytes);

  ASSERT_TRUE(read.isOk()) << std::move(read).takeStatus().toString();
  EXPECT_EQ(writeExecutable(*read), bytes);
  sample.fingerprint = read->fingerprint;
  EXPECT_EQ(*read, sample);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(readExecutable(std::span(bytes).first(size)).isOk()) << size;
}

TEST(ExecutableReader, ConstantsAreReadyForKernels) {
  Result<Executable> read = readExecutable(sampleBytes());
  ASSERT_TRUE(read.isOk());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read->constants.data()) % 64, 0u);
}

TEST(ExecutableReader, FingerprintsTellProgramsApart) {
  Executable other = sampleExecutable();
  other.constants[3] ^= std::byte(1);
  Result<Executable> a = readExecutable(sampleBytes()), b = readExecutable(sampleBytes()),
                     c = readExecutable(writeExecutable(other));
  ASSERT_TRUE(a.isOk() && b.isOk() && c.isOk());
  EXPECT_EQ(a->fingerprint, b->fingerprint);
  EXPECT_NE(a->fingerprint, c->fingerprint);
}

TEST(ExecutableReader, ForeignFilesAreToldFromExecutables) {
  expectFailure({}, Error::executableMagic, "tilewright compile");
  Bytes text(1000, std::byte('m'));
  expectFailure(text, Error::executableMagic, "not the program itself");
}

TEST(ExecutableReader, NewerVersionNamesBoth) {
  Bytes bytes = sampleBytes();
  put(bytes, versionAt, formatVersion + 1);
  expectFailure(bytes, Error::executableVersion,
                "has format " + std::to_string(formatVersion + 1) + ", but this runtime reads " +
                    std::to_string(formatVersion) + ";");
}

TEST(ExecutableReader, TruncatedSaysHowMuchIsThere) {
  Bytes bytes = sampleBytes();
  const std::string size = std::to_string(bytes.size());
  bytes.resize(bytes.size() - 1);
  expectFailure(bytes, Error::executableTruncated, " of " + size + " bytes");
}

TEST(ExecutableReader, EveryPrefixIsRefused) {
  const Bytes bytes = sampleBytes();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(readExecutable(std::span(bytes).first(size)).isOk()) << size;
}

TEST(ExecutableReader, EveryChangedBitIsNoticed) {
  Bytes bytes = sampleBytes();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_FALSE(readExecutable(bytes).isOk()) << bit;
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
  }
}

TEST(ExecutableReader, DamageIsNamedAsSuch) {
  Bytes bytes = sampleBytes();
  bytes.back() ^= std::byte(0x80);
  expectFailure(bytes, Error::executableChecksum, "damaged after it was written");
}

TEST(ExecutableReader, SectionsHaveOnePlace) {
  Bytes bytes = sampleBytes();
  put(bytes, tableAt + 8, uint64_t(320));
  seal(bytes);
  expectFailure(bytes, Error::executableSection, "section 1 of the executable begins at byte 320");

  bytes = sampleBytes();
  put(bytes, tableAt + 16, ~uint64_t(0));
  seal(bytes);
  expectFailure(bytes, Error::executableSection, "section 1");

  bytes = sampleBytes();
  put(bytes, tableAt, uint32_t(2));
  seal(bytes);
  expectFailure(bytes, Error::executableSection, "has number 2");

  bytes = sampleBytes();
  bytes[headerBytes] = std::byte(1);
  seal(bytes);
  expectFailure(bytes, Error::executableSection, "between sections must be 0, got ");

  bytes = sampleBytes();
  bytes.push_back(std::byte(0));
  seal(bytes);
  expectFailure(bytes, Error::executableSection, "but should have");
}

/// The sample with other bytes at the start of a section, which must have as many.
static Bytes withSection(Section section, std::initializer_list<uint8_t> content) {
  Bytes bytes = sampleBytes();
  uint64_t offset = 0;
  const size_t entry = tableAt + (static_cast<size_t>(section) - 1) * tableEntryBytes;
  std::memcpy(&offset, bytes.data() + entry + 8, 8);
  std::memcpy(bytes.data() + offset, content.begin(), content.size());
  seal(bytes);
  return bytes;
}
static Bytes withPlan(std::initializer_list<uint8_t> plan) {
  return withSection(Section::plan, plan);
}

TEST(ExecutableReader, CountsAreHeldAgainstTheBytesThatFollow) {
  // 2^63 types; allocating memory for them would end the process.
  expectFailure(withPlan({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}),
                Error::executableEncoding, "declares 9223372036854775808 types");
  expectFailure(withSection(Section::objects, {0xFF, 0x7F}), Error::executableEncoding,
                "the object code of the executable declares 16383 objects, more than its bytes");
  expectFailure(withSection(Section::objects, {0x02, 0xFF, 0x7F}), Error::executableEncoding,
                "declares 16383 bytes, more than its bytes can hold");
  expectFailure(withSection(Section::objects, {0x01}), Error::executableEncoding,
                "the object code of the executable has 31 unexpected bytes at its end");
}

TEST(ExecutableReader, NumbersAreReadInOneWay) {
  expectFailure(withPlan({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}),
                Error::executableEncoding, "a number that is not valid LEB128");
  expectFailure(withPlan({0x81, 0x00}), Error::executableEncoding,
                "a number that is not valid LEB128");
}

TEST(ExecutableReader, ChoicesAreKnown) {
  expectFailure(withPlan({0x01, 0x60, 0x00}), Error::executableEncoding,
                "has the enum value 96, expected less than");
}

/// The sample with only this library call.
template <typename Call> static Bytes withCall(Call call) {
  Executable e = sampleExecutable();
  e.libraries = {{std::move(call), {}}};
  return writeExecutable(e);
}

TEST(ExecutableReader, EveryLibraryCallIsGivenBack) {
  // The calls in order, each with fields that differ from their initial values.
  auto expectRead = []<typename Call>(Call call) {
    eachField(call, []<typename T>(const char *, T &value) {
      if constexpr (std::is_same_v<T, Integers>)
        value = {1, -2, int64_t(1) << 40};
      else if constexpr (std::is_same_v<T, std::string>)
        value = "text";
      else if constexpr (std::is_same_v<T, std::optional<ElementType>>)
        value = ElementType::f16;
      else if constexpr (std::is_same_v<T, bool>)
        value = !value;
      else if constexpr (numerics::LibraryEnum<T>)
        value = static_cast<T>(numerics::enumCount<T> - 1);
      else
        value = -7;
    });
    Result<Executable> read = readExecutable(withCall(call));
    ASSERT_TRUE(read.isOk()) << std::move(read).takeStatus().toString();
    EXPECT_EQ(read->libraries[0].call, LibraryCall(call)) << toString(call);
  };
  [&]<typename... Calls>(std::type_identity<std::variant<Calls...>>) {
    (expectRead(Calls()), ...);
  }(std::type_identity<AnyLibraryCall>());
}

TEST(ExecutableReader, EnumsOfLibraryCallsAreChecked) {
  for (LibraryCall call :
       {LibraryCall(SortCall{.comparator = static_cast<Comparator>(3)}),
        LibraryCall(ReduceCall{.body = static_cast<Combiner>(11)}),
        LibraryCall(FftCall{.fftType = static_cast<FftType>(4)}),
        LibraryCall(DotGeneralCall{.productType = static_cast<ElementType>(120)})})
    expectFailure(withCall(call), Error::executableEncoding, "has the enum value");
}

TEST(LibraryCalls, PrintTheirFields) {
  EXPECT_EQ(toString(SortCall{.dimension = 1, .comparator = Comparator::greater}),
            "sort(dimension = 1, comparator = gt, comparator_operand = 0, "
            "comparator_total_order = false)");
  EXPECT_EQ(toString(PadCall{{1}, {2}, {0}}),
            "pad(edge_padding_low = [1], edge_padding_high = [2], interior_padding = [0])");
  EXPECT_EQ(toString(LapackCall{.routine = LapackRoutine::trsm, .options = "LUNN"}),
            "lapack(routine = trsm, options = \"LUNN\", low = 1, high = 0)");
  EXPECT_EQ(toString(ReshapeCall{}), "reshape()");
}

TEST(ExecutableReader, NestedAttributesSpendLittleStack) {
  Executable e = sampleExecutable();
  for (int depth = 0; depth < 30; ++depth) {
    std::vector<Attribute> outer(1);
    outer[0] = {"a", std::move(e.statistics)};
    e.statistics = std::move(outer);
  }
  expectFailure(writeExecutable(e), Error::executableEncoding, "nests attributes deeper than 16");
}
