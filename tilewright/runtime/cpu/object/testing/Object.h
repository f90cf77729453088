// compileForTest(): compiles a few lines of C to object code for a test.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_TESTING_OBJECT_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_TESTING_OBJECT_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cpu {

/// Compiles C with the compiler that built the test: -O2, position independent. If that fails, ends
/// the process with the compiler's output.
std::vector<std::byte> compileForTest(std::string_view source, const std::string &flags = "");

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_TESTING_OBJECT_H
