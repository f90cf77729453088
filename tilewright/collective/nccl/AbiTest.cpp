// Compares our declarations with NCCL's header, where it is installed.
#include "tilewright/collective/nccl/Library.h"

#include <nccl.h>

#include <gtest/gtest.h>

namespace tilewright::collective::nccl {
namespace {

TEST(NcclAbi, ConstantsAreNccls) {
  EXPECT_EQ(int(abi::success), int(ncclSuccess));
  EXPECT_EQ(int(abi::unhandledCudaError), int(ncclUnhandledCudaError));
  EXPECT_EQ(int(abi::systemError), int(ncclSystemError));
  EXPECT_EQ(int(abi::internalError), int(ncclInternalError));
  EXPECT_EQ(int(abi::invalidArgument), int(ncclInvalidArgument));
  EXPECT_EQ(int(abi::invalidUsage), int(ncclInvalidUsage));
  EXPECT_EQ(int(abi::remoteError), int(ncclRemoteError));
  EXPECT_EQ(int(abi::inProgress), int(ncclInProgress));
  EXPECT_EQ(int(abi::int8), int(ncclInt8));
  EXPECT_EQ(int(abi::uint8), int(ncclUint8));
  EXPECT_EQ(int(abi::int32), int(ncclInt32));
  EXPECT_EQ(int(abi::uint32), int(ncclUint32));
  EXPECT_EQ(int(abi::int64), int(ncclInt64));
  EXPECT_EQ(int(abi::uint64), int(ncclUint64));
  EXPECT_EQ(int(abi::float16), int(ncclFloat16));
  EXPECT_EQ(int(abi::float32), int(ncclFloat32));
  EXPECT_EQ(int(abi::float64), int(ncclFloat64));
  EXPECT_EQ(int(abi::bfloat16), int(ncclBfloat16));
  EXPECT_EQ(int(abi::float8e4m3), int(ncclFloat8e4m3));
  EXPECT_EQ(int(abi::float8e5m2), int(ncclFloat8e5m2));
  EXPECT_EQ(int(abi::sum), int(ncclSum));
  EXPECT_EQ(int(abi::prod), int(ncclProd));
  EXPECT_EQ(int(abi::max), int(ncclMax));
  EXPECT_EQ(int(abi::min), int(ncclMin));
  EXPECT_EQ(abi::undefined, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(abi::noColor, NCCL_SPLIT_NOCOLOR);
  EXPECT_EQ(abi::windowSymmetric, NCCL_WIN_COLL_SYMMETRIC);
  EXPECT_EQ(abi::shrinkDefault, NCCL_SHRINK_DEFAULT);
  EXPECT_EQ(abi::shrinkAbort, NCCL_SHRINK_ABORT);
  EXPECT_EQ(abi::revokeDefault, NCCL_REVOKE_DEFAULT);
}

TEST(NcclAbi, StructuresHaveNcclsLayout) {
  static_assert(sizeof(abi::UniqueId) == sizeof(ncclUniqueId));
  static_assert(sizeof(abi::Config) <= sizeof(ncclConfig_t)); // later versions append
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(abi::Config().magic, theirs.magic);
#define TILEWRIGHT_SAME_PLACE(field)                                                               \
  EXPECT_EQ(offsetof(abi::Config, field), offsetof(ncclConfig_t, field)) << #field;                \
  static_assert(sizeof(abi::Config::field) == sizeof(ncclConfig_t::field))
  TILEWRIGHT_SAME_PLACE(size);
  TILEWRIGHT_SAME_PLACE(magic);
  TILEWRIGHT_SAME_PLACE(version);
  TILEWRIGHT_SAME_PLACE(blocking);
  TILEWRIGHT_SAME_PLACE(cgaClusterSize);
  TILEWRIGHT_SAME_PLACE(minCTAs);
  TILEWRIGHT_SAME_PLACE(maxCTAs);
  TILEWRIGHT_SAME_PLACE(netName);
  TILEWRIGHT_SAME_PLACE(splitShare);
  TILEWRIGHT_SAME_PLACE(trafficClass);
  TILEWRIGHT_SAME_PLACE(commName);
  TILEWRIGHT_SAME_PLACE(collnetEnable);
  TILEWRIGHT_SAME_PLACE(CTAPolicy);
  TILEWRIGHT_SAME_PLACE(shrinkShare);
  TILEWRIGHT_SAME_PLACE(nvlsCTAs);
  TILEWRIGHT_SAME_PLACE(nChannelsPerNetPeer);
  TILEWRIGHT_SAME_PLACE(nvlinkCentricSched);
#undef TILEWRIGHT_SAME_PLACE
}

/// A function type with each of our types replaced by NCCL's.
template <typename T> struct Theirs {
  using type = T;
};
template <> struct Theirs<abi::Comm> {
  using type = ncclComm_t;
};
template <> struct Theirs<abi::Window> {
  using type = ncclWindow_t;
};
template <> struct Theirs<abi::Stream> {
  using type = void *;
};
template <> struct Theirs<abi::UniqueId> {
  using type = ncclUniqueId;
};
template <> struct Theirs<abi::Result> {
  using type = ncclResult_t;
};
template <> struct Theirs<abi::DataType> {
  using type = ncclDataType_t;
};
template <> struct Theirs<abi::RedOp> {
  using type = ncclRedOp_t;
};
template <> struct Theirs<abi::Config> {
  using type = ncclConfig_t;
};
template <typename T>
  requires std::is_pointer_v<T> && (!std::is_same_v<T, abi::Comm>) &&
           (!std::is_same_v<T, abi::Window>) && (!std::is_same_v<T, void *>)
struct Theirs<T> {
  using pointee = std::remove_pointer_t<T>;
  using type = std::conditional_t<std::is_const_v<pointee>,
                                  const typename Theirs<std::remove_const_t<pointee>>::type,
                                  typename Theirs<pointee>::type> *;
};
/// NCCL's, with a stream as void *.
template <typename T> struct Plain {
  using type = T;
};
template <> struct Plain<cudaStream_t> {
  using type = void *;
};
template <typename... Ours> struct Signature {
  template <typename... T> static bool is(ncclResult_t (*)(T...)) {
    return std::is_same_v<std::tuple<typename Theirs<Ours>::type...>,
                          std::tuple<typename Plain<T>::type...>>;
  }
};
template <typename... Ours> Signature<Ours...> signature(abi::Result (*)(Ours...)) { return {}; }

TEST(NcclAbi, FunctionsHaveNcclsSignatures) {
#define TILEWRIGHT_SAME_SIGNATURE(name, ...)                                                       \
  EXPECT_TRUE(decltype(signature(static_cast<abi::Result (*)(__VA_ARGS__)>(nullptr)))::is(         \
      static_cast<decltype(&nccl##name)>(nullptr)))                                                \
      << #name;
  TILEWRIGHT_NCCL_FUNCTIONS(TILEWRIGHT_SAME_SIGNATURE)
  TILEWRIGHT_NCCL_LATER_FUNCTIONS(TILEWRIGHT_SAME_SIGNATURE)
#undef TILEWRIGHT_SAME_SIGNATURE
}

#ifdef TILEWRIGHT_TEST_NCCL
/// NVIDIA's library, which loads without a GPU: it has all functions.
TEST(NcclAbi, TheInstalledLibraryLoads) {
  auto library = Library::load(TILEWRIGHT_TEST_NCCL);
  ASSERT_TRUE(library.isOk()) << std::move(library).takeStatus().toString();
  EXPECT_GE((*library)->version, 22300);
}
#endif

} // namespace
} // namespace tilewright::collective::nccl
