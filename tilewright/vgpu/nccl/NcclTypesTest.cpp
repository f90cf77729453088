// Compares our declarations with nccl.h, where that is installed.
#include <nccl.h>

// The macros of the header have the names of our constants.
static constexpr int uniqueIdBytes = NCCL_UNIQUE_ID_BYTES, noColour = NCCL_SPLIT_NOCOLOR,
                     symmetricWindow = NCCL_WIN_COLL_SYMMETRIC,
                     windowAlignment = NCCL_WIN_REQUIRED_ALIGNMENT,
                     shrinkDefault = NCCL_SHRINK_DEFAULT, shrinkAbort = NCCL_SHRINK_ABORT,
                     revokeDefault = NCCL_REVOKE_DEFAULT, undefinedInt = NCCL_CONFIG_UNDEF_INT;
static const ncclConfig_t theirConfig = NCCL_CONFIG_INITIALIZER;
static const ncclSimInfo_t theirInfo = NCCL_SIM_INFO_INITIALIZER;
#undef NCCL_UNIQUE_ID_BYTES
#undef NCCL_SPLIT_NOCOLOR
#undef NCCL_WIN_DEFAULT
#undef NCCL_WIN_COLL_SYMMETRIC
#undef NCCL_WIN_REQUIRED_ALIGNMENT
#undef NCCL_SHRINK_DEFAULT
#undef NCCL_SHRINK_ABORT
#undef NCCL_REVOKE_DEFAULT
#undef NCCL_CONFIG_UNDEF_INT

#include "tilewright/vgpu/nccl/NcclTypes.h"

#include "gtest/gtest.h"

#include <cstring>
#include <type_traits>

namespace tilewright::vgpu::nccl {
namespace {

/// Whether a caller with one declaration and a function with the other agree.
template <typename A, typename B> constexpr bool isPassedAlike() {
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
         std::is_class_v<A> == std::is_class_v<B> && std::is_enum_v<A> == std::is_enum_v<B> &&
         alignof(A) == alignof(B);
}
template <typename... A, typename... B>
constexpr bool areAlike(::ncclResult_t (*)(A...), ncclResult_t (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B))
    return (isPassedAlike<A, B>() && ...);
  else
    return false;
}

TEST(NcclTypes, FunctionsHaveTheParametersOfTheHeader) {
  // The functions that our version has and this header lacks are not compared.
#if NCCL_VERSION_CODE >= 22807
#define TILEWRIGHT_NCCL_FUNCTION(name, since, parameters, arguments)                               \
  EXPECT_TRUE(areAlike(static_cast<decltype(&::name)>(nullptr),                                    \
                       static_cast<ncclResult_t(*) parameters>(nullptr)))                          \
      << #name;
#include "tilewright/collective/nccl/Functions.def"
#undef TILEWRIGHT_NCCL_FUNCTION
#else
  GTEST_SKIP() << "nccl.h is of version " << NCCL_VERSION_CODE << ", ours of 22809";
#endif
}

TEST(NcclTypes, ConstantsAndEnumerationsAreEqual) {
  EXPECT_EQ(NCCL_UNIQUE_ID_BYTES, uniqueIdBytes);
  EXPECT_EQ(sizeof(ncclUniqueId), sizeof(::ncclUniqueId));
  EXPECT_EQ(NCCL_SPLIT_NOCOLOR, noColour);
  EXPECT_EQ(NCCL_WIN_COLL_SYMMETRIC, symmetricWindow);
  EXPECT_EQ(NCCL_WIN_REQUIRED_ALIGNMENT, windowAlignment);
  EXPECT_EQ(NCCL_SHRINK_DEFAULT, shrinkDefault);
  EXPECT_EQ(NCCL_SHRINK_ABORT, shrinkAbort);
  EXPECT_EQ(NCCL_REVOKE_DEFAULT, revokeDefault);
  EXPECT_EQ(NCCL_CONFIG_UNDEF_INT, undefinedInt);
#define EXPECT_EQUAL(name) EXPECT_EQ(static_cast<int>(name), static_cast<int>(::name)) << #name
  EXPECT_EQUAL(ncclSuccess);
  EXPECT_EQUAL(ncclUnhandledCudaError);
  EXPECT_EQUAL(ncclSystemError);
  EXPECT_EQUAL(ncclInternalError);
  EXPECT_EQUAL(ncclInvalidArgument);
  EXPECT_EQUAL(ncclInvalidUsage);
  EXPECT_EQUAL(ncclRemoteError);
  EXPECT_EQUAL(ncclInProgress);
  EXPECT_EQUAL(ncclNumResults);
  EXPECT_EQUAL(ncclSum);
  EXPECT_EQUAL(ncclProd);
  EXPECT_EQUAL(ncclMax);
  EXPECT_EQUAL(ncclMin);
  EXPECT_EQUAL(ncclAvg);
  EXPECT_EQUAL(ncclNumOps);
  EXPECT_EQUAL(ncclMaxRedOp);
  EXPECT_EQUAL(ncclInt8);
  EXPECT_EQUAL(ncclUint8);
  EXPECT_EQUAL(ncclInt32);
  EXPECT_EQUAL(ncclUint32);
  EXPECT_EQUAL(ncclInt64);
  EXPECT_EQUAL(ncclUint64);
  EXPECT_EQUAL(ncclFloat16);
  EXPECT_EQUAL(ncclFloat32);
  EXPECT_EQUAL(ncclFloat64);
  EXPECT_EQUAL(ncclBfloat16);
  EXPECT_EQUAL(ncclFloat8e4m3);
  EXPECT_EQUAL(ncclFloat8e5m2);
  EXPECT_EQUAL(ncclNumTypes);
  EXPECT_EQUAL(ncclScalarDevice);
  EXPECT_EQUAL(ncclScalarHostImmediate);
}

TEST(NcclTypes, StructuresHaveTheSameBytes) {
#if NCCL_VERSION_CODE / 100 == 228
  ncclConfig_t ours;
  ours.version = theirConfig.version;
  ASSERT_EQ(sizeof ours, sizeof theirConfig);
  EXPECT_EQ(std::memcmp(&ours, &theirConfig, sizeof ours), 0);
#define EXPECT_PLACE(member)                                                                       \
  EXPECT_EQ(offsetof(ncclConfig_t, member), offsetof(::ncclConfig_t, member)) << #member;          \
  static_assert(sizeof(ncclConfig_t::member) == sizeof(::ncclConfig_t::member))
  EXPECT_PLACE(size);
  EXPECT_PLACE(magic);
  EXPECT_PLACE(version);
  EXPECT_PLACE(blocking);
  EXPECT_PLACE(cgaClusterSize);
  EXPECT_PLACE(minCTAs);
  EXPECT_PLACE(maxCTAs);
  EXPECT_PLACE(netName);
  EXPECT_PLACE(splitShare);
  EXPECT_PLACE(trafficClass);
  EXPECT_PLACE(commName);
  EXPECT_PLACE(collnetEnable);
  EXPECT_PLACE(CTAPolicy);
  EXPECT_PLACE(shrinkShare);
  EXPECT_PLACE(nvlsCTAs);
  EXPECT_PLACE(nChannelsPerNetPeer);
  EXPECT_PLACE(nvlinkCentricSched);
#endif
  ncclSimInfo_t info;
  ASSERT_EQ(sizeof info, sizeof theirInfo);
  EXPECT_EQ(info.magic, theirInfo.magic);
  EXPECT_EQ(info.estimatedTime, theirInfo.estimatedTime);
}

} // namespace
} // namespace tilewright::vgpu::nccl
