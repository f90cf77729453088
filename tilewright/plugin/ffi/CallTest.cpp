#include "tilewright/plugin/ffi/Call.h"
#include "tilewright/plugin/ffi/Functions.h"
#include "tilewright/plugin/ffi/PythonCallback.h"
#include "tilewright/plugin/ffi/Registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace tilewright::plugin::ffi {
namespace {

using artifact::Attribute;
using artifact::Elements;
using artifact::TensorType;
using numerics::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename T> Attribute scalar(std::string name, ElementType type, T value) {
  Elements elements = {type, true, std::vector<std::byte>(sizeof(T))};
  std::memcpy(elements.bytes.data(), &value, sizeof(T));
  return {std::move(name), std::move(elements)};
}
Attribute list(std::string name, std::vector<int64_t> values) {
  auto *bytes = reinterpret_cast<const std::byte *>(values.data());
  return {std::move(name), Elements{ElementType::i64, false,
                                    std::vector<std::byte>(bytes, bytes + 8 * values.size())}};
}

/// Answers a version query as the FFI's headers do.
bool answersVersion(XLA_FFI_CallFrame *frame, int minor = XLA_FFI_API_MINOR) {
  if (!frame->extension_start)
    return false;
  auto *extension = reinterpret_cast<XLA_FFI_Metadata_Extension *>(frame->extension_start);
  extension->metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  extension->metadata->api_version.minor_version = minor;
  return true;
}

XLA_FFI_Error *fail(XLA_FFI_CallFrame *frame, const char *message) {
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message,
                                    XLA_FFI_Error_Code_ABORTED};
  return frame->api->XLA_FFI_Error_Create(&args);
}

std::string seen; // what the handler received

/// Writes twice its operand and stores the names of its attributes in `seen`.
XLA_FFI_Error *twice(XLA_FFI_CallFrame *frame) {
  if (answersVersion(frame))
    return nullptr;
  seen.clear();
  for (int64_t i = 0; i < frame->attrs.size; ++i)
    seen += std::string(frame->attrs.names[i]->ptr, frame->attrs.names[i]->len) + ":" +
            std::to_string(frame->attrs.types[i]) + " ";
  auto *in = static_cast<XLA_FFI_Buffer *>(frame->args.args[0]);
  auto *out = static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0]);
  int64_t count = 1;
  for (int64_t i = 0; i < in->rank; ++i)
    count *= in->dims[i];
  for (int64_t i = 0; i < count; ++i)
    static_cast<float *>(out->data)[i] = 2 * static_cast<const float *>(in->data)[i];
  return nullptr;
}

Result<std::unique_ptr<Call>> make(XLA_FFI_Handler *handler, TensorType type,
                                   std::vector<Attribute> attributes = {}) {
  return Call::create("test", {nullptr, nullptr, nullptr, handler}, attributes, {type}, {type});
}

Status run(Call &call, const void *in, void *out, const UserData *userData = nullptr) {
  const void *operands[] = {in};
  void *results[] = {out};
  return call.run(operands, results, {userData, nullptr, 5, 3});
}

/// jaxlib's TakeStatus moves an absl::Status out of an error and frees its memory with `delete`.
TEST(FfiCall, AnErrorBeginsWithWhatIsAnAbslStatus) {
  const XLA_FFI_Api &api = functions();
  XLA_FFI_Stream_Get_Args args = {XLA_FFI_Stream_Get_Args_STRUCT_SIZE, nullptr, nullptr, nullptr};
  XLA_FFI_Error *error = api.XLA_FFI_Stream_Get(&args);
  ASSERT_NE(error, nullptr);
  uintptr_t status = 0;
  std::memcpy(&status, error, sizeof(status));
  EXPECT_EQ(status, (uintptr_t(XLA_FFI_Error_Code_UNIMPLEMENTED) << 2) + 1);
  XLA_FFI_Error_GetMessage_Args message = {XLA_FFI_Error_GetMessage_Args_STRUCT_SIZE, nullptr,
                                           error, nullptr};
  api.XLA_FFI_Error_GetMessage(&message);
  EXPECT_THAT(message.message, HasSubstr("a CPU device has no stream"));
  ::operator delete(static_cast<void *>(error));
}

TEST(FfiCall, PassesBuffersAndAttributesInOrderOfTheirNames) {
  TensorType type = {ElementType::f32, {3}};
  Result<std::unique_ptr<Call>> call =
      make(twice, type,
           {scalar("z", ElementType::i32, 3),
            {"a", std::string("text")},
            {"m", std::vector<Attribute>{scalar("inner", ElementType::f64, 1.5)}},
            list("l", {1, 2})});
  ASSERT_TRUE(call.isOk());
  float in[] = {1, 2, 3}, out[3] = {};
  ASSERT_TRUE(run(**call, in, out).isOk());
  EXPECT_THAT(out, ElementsAre(2, 4, 6));
  EXPECT_EQ(seen, "a:4 l:1 m:2 z:3 ");
}

/// LAPACK's matrices are column-major; ours are row-major.
TEST(FfiCall, BringsBuffersIntoTheOrderThatTheHandlerWants) {
  static std::vector<float> given;
  auto keep = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    auto *in = static_cast<XLA_FFI_Buffer *>(frame->args.args[0]);
    given.assign(static_cast<float *>(in->data), static_cast<float *>(in->data) + 6);
    std::memcpy(static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0])->data, in->data, 24);
    return nullptr;
  };
  TensorType type = {ElementType::f32, {2, 3}};
  Result<std::unique_ptr<Call>> call =
      make(keep, type,
           {list(std::string(operandLayouts), {0, 1}), list(std::string(resultLayouts), {0, 1})});
  ASSERT_TRUE(call.isOk());
  float in[] = {1, 2, 3, 4, 5, 6}, out[6] = {};
  ASSERT_TRUE(run(**call, in, out).isOk());
  EXPECT_THAT(given, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 4, 5, 6));
  Status status = make(keep, type, {list(std::string(operandLayouts), {1, 1})}).takeStatus();
  EXPECT_EQ(status.error(), Error::handlerInvalid);
}

/// The plan's types then have the physical order of dimensions, and nothing is copied.
TEST(FfiCall, TakesTransposedBuffersAsTheyAre) {
  static std::vector<int64_t> dims;
  auto keep = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    auto *in = static_cast<XLA_FFI_Buffer *>(frame->args.args[0]);
    auto *out = static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0]);
    dims.assign(in->dims, in->dims + in->rank);
    dims.insert(dims.end(), out->dims, out->dims + out->rank);
    std::memcpy(out->data, in->data, 96);
    return frame->attrs.size == 0 ? nullptr : fail(frame, "has attributes");
  };
  Result<std::unique_ptr<Call>> call = make(keep, {ElementType::f32, {2, 3, 4}},
                                            {list(std::string(operandLayouts), {1, 0, 2}),
                                             list(std::string(resultLayouts), {0, 1, 2}),
                                             {std::string(transposedBuffers), std::string()}});
  ASSERT_TRUE(call.isOk());
  float in[24], out[24] = {};
  for (int i = 0; i < 24; ++i)
    in[i] = static_cast<float>(i);
  ASSERT_TRUE(run(**call, in, out).isOk());
  EXPECT_EQ(0, std::memcmp(in, out, sizeof in));
  // From the major to the minor dimension: 2, 0, 1 of the operand and 2, 1, 0 of the result.
  EXPECT_THAT(dims, ElementsAre(3, 4, 2, 4, 3, 2));
}

TEST(FfiCall, PacksFourBits) {
  static std::vector<uint8_t> given;
  auto keep = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    auto *in = static_cast<XLA_FFI_Buffer *>(frame->args.args[0]);
    given.assign(static_cast<uint8_t *>(in->data), static_cast<uint8_t *>(in->data) + 2);
    std::memcpy(static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0])->data, in->data, 2);
    return nullptr;
  };
  Result<std::unique_ptr<Call>> call = make(keep, {ElementType::ui4, {3}});
  ASSERT_TRUE(call.isOk());
  uint8_t in[] = {1, 2, 15}, out[3] = {};
  ASSERT_TRUE(run(**call, in, out).isOk());
  EXPECT_THAT(given, ElementsAre(0x21, 0x0f));
  EXPECT_THAT(out, ElementsAre(1, 2, 15));
}

TEST(FfiCall, GivesBackTheHandlersError) {
  auto refuse = [](XLA_FFI_CallFrame *frame) { return fail(frame, "not today"); };
  Result<std::unique_ptr<Call>> call = make(refuse, {ElementType::f32, {1}});
  ASSERT_TRUE(call.isOk());
  float in = 0, out = 0;
  Status status = run(**call, &in, &out);
  EXPECT_EQ(status.code(), Code::aborted);
  EXPECT_EQ(status.message(), "not today");
}

TEST(FfiCall, WaitsForWhatAHandlerLeavesRunning) {
  auto later = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    XLA_FFI_Future_Create_Args create = {sizeof(create), nullptr, nullptr};
    frame->api->XLA_FFI_Future_Create(&create);
    frame->future = create.future;
    auto *out = static_cast<float *>(static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0])->data);
    std::thread([api = frame->api, future = create.future, out] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      *out = 9;
      XLA_FFI_Future_SetAvailable_Args set = {sizeof(set), nullptr, future};
      api->XLA_FFI_Future_SetAvailable(&set);
    }).detach();
    return nullptr;
  };
  Result<std::unique_ptr<Call>> call = make(later, {ElementType::f32, {1}});
  ASSERT_TRUE(call.isOk());
  float in = 0, out = 0;
  ASSERT_TRUE(run(**call, &in, &out).isOk());
  EXPECT_EQ(out, 9);
}

TEST(FfiCall, KeepsTheStateOfInstantiationUntilItGoes) {
  static int alive = 0;
  static XLA_FFI_TypeId type = {0};
  ASSERT_TRUE(Registry::global()
                  .addType("test state", type.type_id,
                           [](void *state) {
                             delete static_cast<int *>(state);
                             --alive;
                           })
                  .isOk());
  auto instantiate = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    ++alive;
    XLA_FFI_State_Set_Args set = {XLA_FFI_State_Set_Args_STRUCT_SIZE, nullptr, frame->ctx,
                                  XLA_FFI_ExecutionStage_INSTANTIATE, &type,   new int(41)};
    return frame->api->XLA_FFI_State_Set(&set);
  };
  auto execute = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    XLA_FFI_State_Get_Args get = {XLA_FFI_State_Get_Args_STRUCT_SIZE, nullptr, frame->ctx,
                                  XLA_FFI_ExecutionStage_INSTANTIATE, &type,   nullptr};
    if (XLA_FFI_Error *error = frame->api->XLA_FFI_State_Get(&get))
      return error;
    auto *out = static_cast<float *>(static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0])->data);
    *out = static_cast<float>(++*static_cast<int *>(get.state));
    return nullptr;
  };
  TensorType tensor = {ElementType::f32, {}};
  {
    Result<std::unique_ptr<Call>> call =
        Call::create("test", {instantiate, nullptr, nullptr, execute}, {}, {tensor}, {tensor});
    ASSERT_TRUE(call.isOk());
    EXPECT_EQ(alive, 1);
    float in = 0, out = 0;
    ASSERT_TRUE(run(**call, &in, &out).isOk());
    ASSERT_TRUE(run(**call, &in, &out).isOk());
    EXPECT_EQ(out, 43);
  }
  EXPECT_EQ(alive, 0);
}

TEST(FfiCall, PassesUserDataByType) {
  auto look = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    XLA_FFI_TypeId type = {77};
    XLA_FFI_ExecutionContext_Get_Args get = {XLA_FFI_ExecutionContext_Get_Args_STRUCT_SIZE, nullptr,
                                             frame->ctx, &type, nullptr};
    if (XLA_FFI_Error *error = frame->api->XLA_FFI_ExecutionContext_Get(&get))
      return error;
    *static_cast<float *>(static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0])->data) =
        *static_cast<float *>(get.data);
    return nullptr;
  };
  Result<std::unique_ptr<Call>> call = make(look, {ElementType::f32, {}});
  ASSERT_TRUE(call.isOk());
  float in = 0, out = 0, passed = 12;
  UserData userData = {{77, &passed}};
  ASSERT_TRUE(run(**call, &in, &out, &userData).isOk());
  EXPECT_EQ(out, 12);
  EXPECT_EQ(run(**call, &in, &out).code(), Code::notFound);
}

TEST(FfiRegistry, KeepsOneHandlerForAName) {
  Registry registry;
  XLA_FFI_Handler_Bundle bundle = {nullptr, nullptr, nullptr, twice};
  EXPECT_TRUE(registry.addHandlers("twice", Platform::host, bundle).isOk());
  EXPECT_TRUE(registry.addHandlers("twice", Platform::host, bundle).isOk());
  EXPECT_TRUE(registry.find("twice", Platform::host));
  EXPECT_FALSE(registry.find("thrice", Platform::host));
  EXPECT_FALSE(registry.find("twice", Platform::cuda));
  auto other = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    answersVersion(frame);
    return nullptr;
  };
  bundle.execute = other;
  EXPECT_EQ(registry.addHandlers("twice", Platform::host, bundle).error(), Error::handlerInvalid);
  EXPECT_EQ(registry.addHandlers("nothing", Platform::host, {}).error(), Error::handlerInvalid);
  // Each platform has its own.
  EXPECT_TRUE(registry.addHandlers("twice", Platform::cuda, bundle).isOk());
  EXPECT_EQ(registry.find("twice", Platform::cuda)->execute, bundle.execute);
  EXPECT_EQ(registry.find("twice", Platform::host)->execute, twice);
  EXPECT_FALSE(registry.find("twice", Platform::rocm));
  EXPECT_TRUE(registry.addHandlers("twice", Platform::rocm, bundle).isOk());
  EXPECT_EQ(registry.find("twice", Platform::rocm)->execute, bundle.execute);
}

TEST(FfiRegistry, KnowsThePlatformsOfJax) {
  EXPECT_EQ(platformNamed(""), Platform::host);
  EXPECT_EQ(platformNamed("CUDA"), Platform::cuda);
  EXPECT_EQ(platformNamed("ROCM"), Platform::rocm);
  EXPECT_EQ(platformNamed("TPU"), std::nullopt);
}

TEST(FfiRegistry, RefusesHandlersOfANewerVersion) {
  auto newer = [](XLA_FFI_CallFrame *frame) -> XLA_FFI_Error * {
    answersVersion(frame, XLA_FFI_API_MINOR + 1);
    return nullptr;
  };
  Registry registry;
  Status status = registry.addHandlers("newer", Platform::host, {nullptr, nullptr, nullptr, newer});
  EXPECT_EQ(status.error(), Error::handlerInvalid);
  EXPECT_THAT(status.message(), HasSubstr("build it against the headers"));
}

TEST(PythonCallback, NeedsAnIndexAndAPython) {
  EXPECT_EQ(PythonCallback::create({}, {}, {}).takeStatus().error(), Error::callbackInvalid);
  Result<PythonCallback> callback =
      PythonCallback::create({scalar("index", ElementType::ui64, uint64_t(0))}, {}, {});
  ASSERT_TRUE(callback.isOk());
  Status status = callback->run({}, {}, {});
  EXPECT_EQ(status.error(), Error::callbackInvalid);
  EXPECT_THAT(status.message(), HasSubstr("this process does not run Python"));
}

} // namespace
} // namespace tilewright::plugin::ffi
