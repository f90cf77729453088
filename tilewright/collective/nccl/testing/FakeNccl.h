// FakeNccl: NCCL's functions as recorders of calls. It moves no data and checks no semantics: it
// only shows which calls the engine makes, in which order. vgpu/nccl is the library that computes.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_TESTING_FAKENCCL_H
#define TILEWRIGHT_COLLECTIVE_NCCL_TESTING_FAKENCCL_H

#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/collective/nccl/Library.h"

namespace tilewright::collective::nccl::test {

/// The calls of all ranks since clear(), such as "Split(0, color 1, key 0)". The first number is
/// the communicator, numbered as they are made.
std::vector<std::string> calls();
void clear();

/// Makes every call of this function fail with this result; empty: no call fails.
void failCalls(std::string function, abi::ncclResult_t result);
/// The state that ncclCommGetAsyncError reports.
void setState(abi::ncclResult_t state);

/// A library with all functions, or with those of 2.23 only.
const Library &library();
const Library &oldLibrary();

/// Device memory is host memory; records "zeros" and "copy" among the calls.
class FakeAccess final : public DeviceAccess {
public:
  Status makeCurrent(int64_t rank) override;
  Status copy(DeviceStream stream, std::byte *to, const std::byte *from, size_t bytes) override;
  Status fillWithZeros(DeviceStream stream, std::byte *to, size_t bytes) override;
};

} // namespace tilewright::collective::nccl::test

#endif // TILEWRIGHT_COLLECTIVE_NCCL_TESTING_FAKENCCL_H
