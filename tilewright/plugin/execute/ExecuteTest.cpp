#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/execute/Executable.h"
#include "tilewright/plugin/options/CompileOptions.h"
#include "tilewright/plugin/testing/Api.h"

#include <gtest/gtest.h>

namespace tilewright::plugin {
namespace {

using testing::ElementsAre;

/// One parameter, copied to one result of 2 x f32: a program that needs no compiler.
std::string copyProgram(artifact::Donation donation = artifact::Donation::none) {
  artifact::Executable program;
  program.name = "copy";
  program.target = {"x86_64-unknown-linux-gnu", "x86-64", {}};
  artifact::TensorType type = {numerics::ElementType::f32, {2}};
  program.parameters.push_back({type, "device", donation, ""});
  program.results.push_back({type, "device", artifact::none, ""});
  program.allocations.push_back({artifact::Storage::parameter, 0, 8, 0});
  program.allocations.push_back({artifact::Storage::result, 0, 8, 0});
  program.blocks.push_back({{{artifact::CopyStep{{0, 0, 8}, {1, 0, 8}}, "copy", ""}}});
  PJRT_Executable executable(std::make_shared<artifact::Executable>(std::move(program)), "");
  return serialize(executable);
}

struct Loaded {
  Loaded(const TestClient &client, const std::string &bytes, std::string options = "") {
    TILEWRIGHT_ARGS(Executable_DeserializeAndLoad, args);
    args.client = client.client;
    args.serialized_executable = bytes.data();
    args.serialized_executable_size = bytes.size();
    args.overridden_serialized_compile_options = options.empty() ? nullptr : options.data();
    args.overridden_serialized_compile_options_size = options.size();
    args.load_options = nullptr;
    EXPECT_CALL_OK(pjrtApi().PJRT_Executable_DeserializeAndLoad(&args));
    executable = args.loaded_executable;
  }
  ~Loaded() { TILEWRIGHT_CALL(LoadedExecutable_Destroy, args, executable, executable); }
  std::string run(PJRT_Buffer *argument, PJRT_Buffer *&result,
                  std::vector<int64_t> nonDonatable = {}, PJRT_Device *device = nullptr) {
    PJRT_ExecuteOptions options = {};
    options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    options.launch_id = 1;
    options.non_donatable_input_indices = nonDonatable.data();
    options.num_non_donatable_input_indices = nonDonatable.size();
    PJRT_Buffer *const arguments[] = {argument};
    PJRT_Buffer *const *argumentLists[] = {arguments};
    PJRT_Buffer **outputLists[] = {&result};
    PJRT_Event *events[] = {nullptr};
    TILEWRIGHT_ARGS(LoadedExecutable_Execute, args);
    args.executable = executable;
    args.options = &options;
    args.argument_lists = argumentLists;
    args.num_devices = 1;
    args.num_args = 1;
    args.output_lists = outputLists;
    args.device_complete_events = events;
    args.execute_device = device;
    std::string message = messageOf(pjrtApi().PJRT_LoadedExecutable_Execute(&args));
    return message.empty() ? await(events[0]) : message;
  }
  PJRT_LoadedExecutable *executable = nullptr;
};

bool isDeleted(PJRT_Buffer *buffer) {
  TILEWRIGHT_CALL(Buffer_IsDeleted, args, buffer, buffer);
  return args.is_deleted;
}

TEST(PluginExecute, RunsAProgramFromAFile) {
  TestClient client;
  Loaded loaded(client, copyProgram());
  PJRT_Buffer *argument = makeBuffer(client, {3, 4}, {2}), *result = nullptr;
  ASSERT_EQ(loaded.run(argument, result), "");
  EXPECT_THAT(read(result), ElementsAre(3, 4));
  EXPECT_FALSE(isDeleted(argument));
  destroyBuffer(argument);
  destroyBuffer(result);
}

TEST(PluginExecute, DeletesWhatIsDonatedUnlessTold) {
  TestClient client;
  Loaded loaded(client, copyProgram(artifact::Donation::may));
  PJRT_Buffer *argument = makeBuffer(client, {3, 4}, {2}), *result = nullptr;
  ASSERT_EQ(loaded.run(argument, result, {0}), "");
  EXPECT_FALSE(isDeleted(argument));
  destroyBuffer(result);
  ASSERT_EQ(loaded.run(argument, result), "");
  EXPECT_TRUE(isDeleted(argument));
  PJRT_Buffer *again = nullptr;
  EXPECT_THAT(loaded.run(argument, again), testing::StartsWith(idOf(Error::bufferDeleted)));
  destroyBuffer(argument);
  destroyBuffer(result);
}

TEST(PluginExecute, RunsOnTheDeviceThatTheOptionsName) {
  TestClient client(2);
  // executable_build_options { device_assignment { 1 replica, 1 computation: device 1 } }
  runtime::DeviceAssignment assignment;
  assignment.devices = {1};
  std::string proto = serialize(assignment);
  std::string build = "\x4a" + std::string(1, char(proto.size())) + proto;
  std::string options = "\x1a" + std::string(1, char(build.size())) + build;
  Loaded loaded(client, copyProgram(), options);
  TILEWRIGHT_CALL(LoadedExecutable_AddressableDevices, devices, executable, loaded.executable);
  ASSERT_EQ(devices.num_addressable_devices, 1u);
  EXPECT_EQ(devices.addressable_devices[0], client.device(1));

  TILEWRIGHT_CALL(LoadedExecutable_GetDeviceAssignment, args, executable, loaded.executable);
  EXPECT_EQ(std::string(args.serialized_bytes, args.serialized_bytes_size), proto);
  args.serialized_device_assignment_deleter(args.serialized_device_assignment);

  PJRT_Buffer *argument = makeBuffer(client, {1, 2}, {2}), *result = nullptr;
  EXPECT_NE(loaded.run(argument, result), "") << "the argument is on device 0";
  destroyBuffer(argument);
}

/// A portable program has a copy on each device on which it has run.
TEST(PluginExecute, ADeletedProgramRunsOnNoDevice) {
  TestClient client(2);
  const std::string options = "\x20\x01"; // compile_portable_executable
  Loaded loaded(client, copyProgram(), options);
  for (bool isDeleted : {false, true}) {
    if (isDeleted) {
      TILEWRIGHT_CALL(LoadedExecutable_Delete, args, executable, loaded.executable);
    }
    for (size_t device : {0, 1}) {
      PJRT_Buffer *argument = makeBuffer(client, {3, 4}, {2}), *result = nullptr;
      TILEWRIGHT_ARGS(Buffer_CopyToDevice, copy);
      copy.buffer = argument;
      copy.dst_device = client.device(device);
      ASSERT_CALL_OK(pjrtApi().PJRT_Buffer_CopyToDevice(&copy));
      const std::string message = loaded.run(copy.dst_buffer, result, {}, client.device(device));
      EXPECT_THAT(message, isDeleted ? testing::HasSubstr("'copy' was deleted and cannot run")
                                     : testing::HasSubstr(""));
      EXPECT_EQ(message.empty(), !isDeleted) << message;
      if (!isDeleted)
        destroyBuffer(result);
      destroyBuffer(copy.dst_buffer);
      destroyBuffer(argument);
    }
  }
}

TEST(PluginExecute, TellsAboutTheProgram) {
  TestClient client;
  Loaded loaded(client, copyProgram());
  TILEWRIGHT_ARGS(LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded.executable;
  ASSERT_CALL_OK(pjrtApi().PJRT_LoadedExecutable_GetExecutable(&get));
  TILEWRIGHT_CALL(Executable_Name, name, executable, get.executable);
  EXPECT_EQ(std::string(name.executable_name, name.executable_name_size), "copy");
  TILEWRIGHT_CALL(Executable_NumOutputs, outputs, executable, get.executable);
  EXPECT_EQ(outputs.num_outputs, 1u);
  TILEWRIGHT_CALL(Executable_OutputMemoryKinds, kinds, executable, get.executable);
  EXPECT_EQ(std::string(kinds.memory_kinds[0], kinds.memory_kind_sizes[0]), "device");
  TILEWRIGHT_CALL(Executable_GetCompiledMemoryStats, stats, executable, get.executable);
  EXPECT_EQ(stats.argument_size_in_bytes, 8);
  EXPECT_EQ(stats.output_size_in_bytes, 8);
  TILEWRIGHT_ARGS(Executable_Serialize, serialized);
  serialized.executable = get.executable;
  ASSERT_CALL_OK(pjrtApi().PJRT_Executable_Serialize(&serialized));
  EXPECT_EQ(std::string(serialized.serialized_bytes, serialized.serialized_bytes_size),
            copyProgram());
  serialized.serialized_executable_deleter(serialized.serialized_executable);
  TILEWRIGHT_CALL(Executable_Destroy, destroy, executable, get.executable);
}

TEST(PluginExecute, RefusesBytesThatAreNotOurs) {
  EXPECT_EQ(parseExecutable("").takeStatus().error(), Error::serializedExecutable);
  EXPECT_EQ(
      parseExecutable("TilewrightPJRT1\n\xff\xff\xff\xff\xff\xff\xff\xff").takeStatus().error(),
      Error::serializedExecutable);
  std::string bytes = copyProgram();
  bytes.resize(bytes.size() - 1);
  EXPECT_FALSE(parseExecutable(bytes).isOk());
}

TEST(PluginExecute, CompilesOnlyPortableArtifacts) {
  TestClient client;
  PJRT_Program program = {PJRT_Program_STRUCT_SIZE, nullptr, nullptr, 0, "hlo", 3};
  TILEWRIGHT_ARGS(Client_Compile, args);
  args.client = client.client;
  args.program = &program;
  args.compile_options = "";
  args.compile_options_size = 0;
  EXPECT_CALL_ERROR(pjrtApi().PJRT_Client_Compile(&args), Error::programFormat);
}

/// An executable that is not portable runs only on the device it was loaded on.
TEST(PluginExecute, RefusesAnotherDevice) {
  TestClient client(2);
  Loaded loaded(client, copyProgram());
  PJRT_ExecuteOptions options = {};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  TILEWRIGHT_ARGS(LoadedExecutable_Execute, args);
  args.executable = loaded.executable;
  args.options = &options;
  args.num_devices = 0;
  args.num_args = 0;
  args.device_complete_events = nullptr;
  args.execute_device = client.device(1);
  EXPECT_CALL_ERROR(pjrtApi().PJRT_LoadedExecutable_Execute(&args), Error::executeDevice);
}

} // namespace
} // namespace tilewright::plugin
