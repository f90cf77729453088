// compileForTest(): object code from a few lines of C, as a test needs it.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_TESTOBJECT_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_TESTOBJECT_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cpu {

/// Compiles C with the compiler that built the test: -O2, position independent.
/// Ends the process with the compiler's words if it fails.
std::vector<std::byte> compileForTest(std::string_view source, const std::string &flags = "");

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_TESTOBJECT_H
