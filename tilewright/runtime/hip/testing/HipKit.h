// Code objects of kernels.c for tests.
#ifndef TILEWRIGHT_RUNTIME_HIP_TESTING_HIPKIT_H
#define TILEWRIGHT_RUNTIME_HIP_TESTING_HIPKIT_H

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright::runtime::hip {

/// The code object for a chip: "gfx942" or "gfx950".
const std::vector<std::byte> &testObject(const std::string &chip);

} // namespace tilewright::runtime::hip

#endif // TILEWRIGHT_RUNTIME_HIP_TESTING_HIPKIT_H
