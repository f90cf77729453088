// ClientFixture: a client and helpers to use it, for the tests of the runtime and for the
// conformance suite of devices. The two differ in the client and in the programs that it loads.
#ifndef TILEWRIGHT_RUNTIME_TESTING_CLIENTFIXTURE_H
#define TILEWRIGHT_RUNTIME_TESTING_CLIENTFIXTURE_H

#include "tilewright/runtime/Client.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tilewright::runtime {

class ClientFixture : public ::testing::Test {
protected:
  static constexpr int64_t length = 16;
  static TensorType floats(int64_t count = length) { return {ElementType::f32, {count}}; }

  Device &device(size_t index = 0) { return *client->devices()[index]; }
  Memory &memory(size_t index = 0) { return device(index).defaultMemory(); }

  std::unique_ptr<Buffer> buffer(float value, size_t index = 0, int64_t count = length) {
    std::vector<float> host(static_cast<size_t>(count), value);
    auto made = Buffer::fromHost({host.data(), floats(count), {}}, memory(index));
    EXPECT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    return made.isOk() ? *std::move(made) : nullptr;
  }
  static Result<Execution> execute(LoadedExecutable &executable, std::vector<Buffer *> arguments,
                                   const ExecuteOptions &options = {}) {
    std::span<Buffer *const> list(arguments);
    return executable.execute(std::span(&list, 1), options);
  }
  template <typename T = float> static std::vector<T> read(const Buffer &buffer) {
    std::vector<T> host(buffer.byteCount() / sizeof(T));
    auto copied = buffer.toHost(host.data(), buffer.byteCount());
    EXPECT_TRUE(copied.isOk()) << std::move(copied).takeStatus().toString();
    if (copied.isOk()) {
      Status status = copied->await();
      EXPECT_TRUE(status.isOk()) << status.toString();
    }
    return host;
  }

  /// The arguments of a program that takes one buffer on each device.
  struct Arguments {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Buffer *> pointers;
    std::vector<std::span<Buffer *const>> lists; // one per device, of `pointers`
  };
  /// Puts `values[i]` on device i.
  Arguments onEachDevice(const std::vector<float> &values);

  // Test bodies. Their programs add one to their only argument; `donating` programs take it over.

  /// Four threads run chains of ten programs each, which `choose` selects. Between the programs
  /// they read the value, and copy it to `elsewhere` and back.
  void expectChainsAddUp(int chains, Memory &elsewhere,
                         const std::function<LoadedExecutable &(std::mt19937 &)> &choose);
  /// Four threads donate the same buffer: exactly one succeeds.
  void expectDonatedOnce(LoadedExecutable &donating, int rounds);
  /// Threads that read a buffer during its donation see the old value or an error.
  void expectReadersSeeTheOldValue(LoadedExecutable &donating, int rounds);
  /// Destroys the client after so many launches; it waits for those that are still running.
  void expectClientEndsWithWorkInFlight(std::shared_ptr<LoadedExecutable> program, int launches);

  /// A donated buffer becomes the result; its next use is an error whose message contains `error`.
  void expectDonationBecomesTheResult(LoadedExecutable &donating, const std::string &error = "");
  /// Donates the result of `slow` after a read of it was requested; the read still sees it. Calls
  /// `launched`, if given, after the donation was launched.
  void expectDonationWaitsForReaders(LoadedExecutable &slow, LoadedExecutable &donating,
                                     const std::function<void()> &launched = {});
  /// The memory limit allows one result of the program, but not two; the message of the second run
  /// contains `error`.
  void expectMemoryForOneResult(LoadedExecutable &program, const std::string &error);

  std::unique_ptr<Client> client;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_TESTING_CLIENTFIXTURE_H
