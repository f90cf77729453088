#include "tilewright/runtime/cpu/object/ObjectCode.h"

#include "tilewright/runtime/cpu/object/RuntimeSymbols.h"
#include "tilewright/runtime/cpu/object/testing/Object.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <sstream>

using namespace tilewright;
using namespace tilewright::runtime::cpu;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

static std::unique_ptr<ObjectCode> loadedFrom(std::span<const Bytes> files,
                                              const SymbolResolver &resolver = {}) {
  Result<std::unique_ptr<ObjectCode>> object = ObjectCode::load(files, resolver);
  if (object.isOk())
    return *std::move(object);
  ADD_FAILURE() << std::move(object).takeStatus().toString();
  return nullptr;
}
static std::unique_ptr<ObjectCode> loaded(const Bytes &bytes, const SymbolResolver &resolver = {}) {
  return loadedFrom({&bytes, 1}, resolver);
}
template <typename Function> static Function *function(const ObjectCode &object, const char *name) {
  return reinterpret_cast<Function *>(object.find(name));
}
static void expectFailureOf(std::span<const Bytes> files, Error error, std::string_view words) {
  Status status = ObjectCode::load(files).takeStatus();
  ASSERT_FALSE(status.isOk()) << "expected " << idOf(error);
  EXPECT_EQ(status.error(), error) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr(words));
}

static void expectFailure(const Bytes &bytes, Error error, std::string_view words) {
  expectFailureOf({&bytes, 1}, error, words);
}

TEST(ObjectCode, CodeConstantsAndDataReachEachOther) {
  std::unique_ptr<ObjectCode> object = loaded(compileForTest(R"(
    static const int squares[] = {0, 1, 4, 9, 16};
    static int counter = 40;
    static int zeros[100];
    __attribute__((noinline)) static int bump(int by) { zeros[7] += by; return counter += by; }
    int square(int i) { return ((const volatile int *)squares)[i]; }
    int count(void) { return bump(1); }
    int zero(void) { return zeros[7]; }
    static int (*const table[])(int) = {square, bump};
    int indirect(int which, int x) { return ((int (*const volatile *)(int))table)[which](x); }
  )"));
  ASSERT_TRUE(object);
  EXPECT_EQ(function<int(int)>(*object, "square")(3), 9);
  EXPECT_EQ(function<int()>(*object, "zero")(), 0);
  EXPECT_EQ(function<int()>(*object, "count")(), 41);
  EXPECT_EQ(function<int()>(*object, "count")(), 42);
  EXPECT_EQ(function<int()>(*object, "zero")(), 2);
  EXPECT_EQ(function<int(int, int)>(*object, "indirect")(0, 4), 16);
  EXPECT_EQ(object->find("bump"), nullptr) << "not global";
  EXPECT_EQ(object->find("squares"), nullptr) << "not a function";
  EXPECT_EQ(object->find("nothing"), nullptr);
}

TEST(ObjectCode, CallsTheRuntimeThroughStubs) {
  std::unique_ptr<ObjectCode> object = loaded(compileForTest(R"(
    float expf(float); double pow(double, double); double tanh(double);
    void *memcpy(void *, const void *, unsigned long);
    float twice(float x) { return expf(x) + expf(-x); }
    double power(double x) { return pow(x, 3) + tanh(x); }
    void copy(void *to, const void *from, unsigned long n) { memcpy(to, from, n); }
    typedef double F(double);
    F *address(void) { return tanh; }
  )",
                                                             "-fno-builtin"));
  ASSERT_TRUE(object);
  EXPECT_EQ(function<float(float)>(*object, "twice")(1.5f), ::expf(1.5f) + ::expf(-1.5f));
  EXPECT_EQ(function<double(double)>(*object, "power")(2.0), 8 + ::tanh(2.0));
  char from[] = "hello", to[6] = {};
  function<void(void *, const void *, size_t)>(*object, "copy")(to, from, 6);
  EXPECT_STREQ(to, "hello");
  EXPECT_EQ(function<double (*())(double)>(*object, "address")()(1.0), ::tanh(1.0));
}

TEST(ObjectCode, LoadsEveryUsualWayToCompile) {
  const char *source = R"(
    double exp(double); extern const int record; static double memory[4] = {1, 2, 3, 4};
    int global = 5;
    double test(int i) { memory[0] += 1; global++; return exp(memory[i]) + record + global; }
    int choose(int i) {
      switch (i) { case 0: return 7; case 1: return test(1); case 2: return 12; case 3: return test(0);
                   case 4: return 99; case 5: return 3; default: return -1; } }
  )";
  static const int record = 1000;
  for (const char *flags :
       {"", "-O0", "-fno-plt", "-ffunction-sections -fdata-sections", "-fPIE", "-g",
        "-march=x86-64-v4", "-fno-asynchronous-unwind-tables", "-Wa,-mrelax-relocations=no"}) {
    std::unique_ptr<ObjectCode> object =
        loaded(compileForTest(source, flags),
               [](std::string_view name) { return name == "record" ? &record : nullptr; });
    ASSERT_TRUE(object) << flags;
    EXPECT_EQ(function<double(int)>(*object, "test")(2), ::exp(3.0) + 1006) << flags;
    EXPECT_EQ(function<int(int)>(*object, "choose")(4), 99) << flags;
  }
}

TEST(ObjectCode, LoadsCodeForLowAddresses) {
  std::unique_ptr<ObjectCode> object = loaded(
      compileForTest("static int numbers[] = {1, 2, 3}; int get(long i) { return ++numbers[i]; }",
                     "-fno-pic -mcmodel=small"));
  ASSERT_TRUE(object);
  EXPECT_EQ(function<int(long)>(*object, "get")(2), 4);
}

TEST(ObjectCode, FilesReachEachOther) {
  // Each has local symbols of the same names, and calls the same function of the runtime.
  const char *first = R"(
    double exp(double);
    static const int table[] = {1, 2, 3};
    static int bump(int by) { static int sum = 100; return sum += by; }
    int shared = 5;
    const double numbers[] = {0.5, 1.5};
    int second(int i);
    int first(int i) {
      int sum = ((const volatile int *)table)[i] + bump(i) + shared; // before second() changes it
      return sum + second(i);
    }
    double power(double x) { return exp(x); }
    int (*pointer(void))(int) { return second; }
  )";
  const char *second = R"(
    double exp(double);
    static const int table[] = {10, 20, 30};
    static int bump(int by) { static int sum = 1000; return sum += by; }
    extern int shared;
    extern const double numbers[];
    double power(double x);
    int second(int i) { return ((const volatile int *)table)[i] + bump(i) + shared++; }
    double both(double x) { return power(x) + exp(numbers[1]); }
  )";
  for (const char *flags : {"", "-O0", "-fno-plt", "-ffunction-sections -fdata-sections", "-fPIE",
                            "-fno-pic -mcmodel=small"}) {
    const Bytes files[] = {compileForTest(first, flags), compileForTest(second, flags)};
    for (bool isSwapped : {false, true}) {
      const Bytes ordered[] = {files[isSwapped], files[!isSwapped]};
      std::unique_ptr<ObjectCode> object = loadedFrom(ordered);
      ASSERT_TRUE(object) << flags;
      auto *call = function<int(int)>(*object, "first");
      EXPECT_EQ(call(1), (2 + 101) + 5 + (20 + 1001 + 5)) << flags;
      EXPECT_EQ(call(0), (1 + 101) + 6 + (10 + 1001 + 6)) << flags;
      EXPECT_EQ(function<double(double)>(*object, "both")(2), ::exp(2.0) + ::exp(1.5)) << flags;
      EXPECT_EQ(function<int (*())(int)>(*object, "pointer")(),
                function<int(int)>(*object, "second"));
    }
  }
}

TEST(ObjectCode, ADefinitionReplacesAWeakOne) {
  const Bytes files[] = {
      compileForTest("__attribute__((weak)) int f(void) { return 1; } int g(void) { return f(); }"),
      compileForTest("int f(void) { return 2; }"),
      compileForTest("__attribute__((weak)) int f(void) { return 3; } int h(void) { return f(); }"),
  };
  std::unique_ptr<ObjectCode> object = loadedFrom(files);
  ASSERT_TRUE(object);
  for (const char *name : {"f", "g", "h"})
    EXPECT_EQ(function<int()>(*object, name)(), 2) << name;
  const Bytes weak[] = {files[0], files[2]};
  object = loadedFrom(weak);
  ASSERT_TRUE(object);
  for (const char *name : {"f", "g", "h"})
    EXPECT_EQ(function<int()>(*object, name)(), 1) << name;

  // A weak reference that nothing defines is null; a reference that is not weak needs a definition.
  const char *reference = "__attribute__((weak)) int f(void); int isThere(void) { return f != 0; }";
  object = loaded(compileForTest(reference));
  ASSERT_TRUE(object);
  EXPECT_EQ(function<int()>(*object, "isThere")(), 0);
  const Bytes both[] = {compileForTest(reference),
                        compileForTest("int f(void); int g(void) { return f(); }")};
  expectFailureOf(both, Error::objectSymbol, "needs 'f'");
  const Bytes defined[] = {both[0], files[1]};
  object = loadedFrom(defined);
  ASSERT_TRUE(object);
  EXPECT_EQ(function<int()>(*object, "isThere")(), 1);
}

TEST(ObjectCode, ASymbolIsDefinedOnce) {
  const Bytes file = compileForTest("int f(void) { return 1; }");
  const Bytes functions[] = {file, file};
  expectFailureOf(functions, Error::objectMalformed, "the object code defines 'f' twice");
  const Bytes data[] = {compileForTest("int x = 1; int f(void) { return x; }"),
                        compileForTest("int x = 2; int g(void) { return x; }")};
  expectFailureOf(data, Error::objectMalformed, "defines 'x' twice");
}

TEST(ObjectCode, EveryFileIsChecked) {
  const Bytes good = compileForTest("int f(void) { return 1; }");
  const Bytes foreign[] = {good, Bytes(1000, std::byte(1))};
  expectFailureOf(foreign, Error::objectFormat, "is not an ELF file");
  // Together they exceed the limit on zero-filled data.
  const char *zeros = "static char zeros[1l << 25]; char NAME(long i) { return ++zeros[i]; }";
  const Bytes large[] = {compileForTest(zeros, "-DNAME=f"), compileForTest(zeros, "-DNAME=g"),
                         compileForTest(zeros, "-DNAME=h")};
  EXPECT_TRUE(ObjectCode::load(std::span(large).first(2)).isOk());
  expectFailureOf(large, Error::objectUnsupported, "bytes of zero-filled data");
}

TEST(ObjectCode, NothingIsWritableAndExecutable) {
  std::unique_ptr<ObjectCode> object =
      loaded(compileForTest("int data = 1; const int c = 2; int f(void) { return data++ + c; }"));
  ASSERT_TRUE(object);
  const auto code = reinterpret_cast<uintptr_t>(object->find("f"));
  std::ifstream maps("/proc/self/maps");
  std::string line, access;
  bool isFound = false;
  while (std::getline(maps, line)) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end >> access;
    if (begin <= code && code < end) {
      isFound = true;
      EXPECT_EQ(access.substr(0, 3), "r-x");
    }
    if (begin <= code + 4096 && code + 4096 < end)
      EXPECT_EQ(access.find("wx"), std::string::npos) << line;
  }
  EXPECT_TRUE(isFound);
}

TEST(ObjectCode, AnEmptyObjectLoads) {
  std::unique_ptr<ObjectCode> object = loaded(compileForTest(""));
  ASSERT_TRUE(object);
  EXPECT_EQ(object->find("f"), nullptr);
}

TEST(ObjectCode, MissingFunctionsAreNamed) {
  expectFailure(
      compileForTest("int system(const char *); int f(void) { return system(\"true\"); }"),
      Error::objectSymbol, "needs 'system'");
}

TEST(ObjectCode, ForeignFilesAreToldFromObjects) {
  expectFailure({}, Error::objectFormat, "has only 0 bytes");
  expectFailure(Bytes(1000, std::byte(1)), Error::objectFormat, "is not an ELF file");
  Bytes bytes = compileForTest("int f(void) { return 1; }");
  const auto put = [](Bytes bytes, size_t at, uint16_t value) {
    std::memcpy(bytes.data() + at, &value, 2);
    return bytes;
  };
  expectFailure(put(bytes, offsetof(Elf64_Ehdr, e_machine), EM_AARCH64), Error::objectFormat,
                "another machine (e_machine 183)");
  expectFailure(put(bytes, offsetof(Elf64_Ehdr, e_type), ET_DYN), Error::objectFormat, "of type 3");
  expectFailure(put(bytes, offsetof(Elf64_Ehdr, e_shnum), 0xFEFF), Error::objectMalformed,
                "more than fit in its");
  expectFailure(put(bytes, offsetof(Elf64_Ehdr, e_shstrndx), 0x7FFF), Error::objectMalformed,
                "has its section names in section");
}

TEST(ObjectCode, WhatKernelsDoNotHaveIsRefused) {
  expectFailure(compileForTest("_Thread_local int x = 1; int f(void) { return x++; }"),
                Error::objectUnsupported, "section '.tdata'");
  expectFailure(
      compileForTest("volatile int x; __attribute__((constructor)) void f(void) { x++; }"),
      Error::objectUnsupported, "section '.init_array'");
  expectFailure(
      compileForTest("static char zeros[1l << 40]; char f(long i) { return ++zeros[i]; }"),
      Error::objectUnsupported, "bytes of zero-filled data");
  expectFailure(compileForTest(R"(int f(void) {
                  int x; __asm__("movl expf(%%rip), %0" : "=r"(x)); return x; })"),
                Error::objectUnsupported,
                "refers to external symbol 'expf' with a 32-bit relative relocation");
  expectFailure(compileForTest(R"(int f(void) {
                  int x; __asm__("movzwl f@SIZE(%%rip), %0" : "=r"(x)); return x; })"),
                Error::objectUnsupported, "has a relocation of type");
  expectFailure(compileForTest("int x __attribute__((common)); int f(void) { return x++; }"),
                Error::objectUnsupported, "common symbol 'x'");
}

TEST(ObjectCode, MemoryIsLimited) {
  Bytes bytes = compileForTest("int f(void) { return 1; }");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  // A page for each empty section, for as many sections as an object may have.
  Elf64_Shdr section = {};
  section.sh_type = SHT_PROGBITS;
  section.sh_flags = SHF_ALLOC;
  section.sh_addralign = 4096;
  section.sh_size = 1;
  Bytes table(300000 * sizeof section);
  for (size_t i = 0; i < 300000; ++i)
    std::memcpy(table.data() + i * sizeof section, &section, sizeof section);
  std::memcpy(table.data(), bytes.data() + header.e_shoff, header.e_shnum * sizeof section);
  const uint64_t count = 300000;
  std::memcpy(table.data() + offsetof(Elf64_Shdr, sh_size), &count, 8);
  header.e_shoff = bytes.size();
  header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.insert(bytes.end(), table.begin(), table.end());
  expectFailure(bytes, Error::objectMemory, "exceeds the limit of 1073741824 bytes");
}

/// For any bytes, loading returns an object or an error. Nothing is called.
TEST(ObjectCode, DamagedObjectsDoNoHarm) {
  const Bytes good = compileForTest(R"(
    double exp(double); static double memory[4] = {1}; const int table[5] = {1};
    double f(int i) { return exp(memory[i]) + table[i]; }
    double g(int i) { return f(i) + memory[i]++; })");
  for (size_t size = 0; size < good.size(); ++size) {
    const Bytes cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    (void)ObjectCode::load({&cut, 1}).isOk();
  }
  size_t failures = 0;
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      Bytes bytes = good;
      bytes[at] = std::byte(value);
      Status status = ObjectCode::load({&bytes, 1}).takeStatus();
      failures += !status.isOk();
      if (!status.isOk())
        EXPECT_TRUE(status.error().has_value()) << status.message();
    }
  EXPECT_GT(failures, 100u);
}

TEST(RuntimeSymbols, AreSortedAndUnique) {
  const std::span<const RuntimeSymbol> symbols = runtimeSymbols();
  for (size_t i = 1; i < symbols.size(); ++i)
    EXPECT_LT(symbols[i - 1].name, symbols[i].name);
  for (const RuntimeSymbol &symbol : symbols)
    EXPECT_EQ(findRuntimeSymbol(symbol.name), symbol.address);
  EXPECT_EQ(findRuntimeSymbol("system"), nullptr);
}
