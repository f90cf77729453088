// HandleEngine: the common part of the engines for cuBLASLt and cuDNN. Both libraries have a table
// of functions and a handle for each device.
#ifndef TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_HANDLEENGINE_H
#define TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_HANDLEENGINE_H

#include "tilewright/runtime/cuda/libraries/LibraryEngine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::runtime::cuda::libraries {

using artifact::ScaledProduct;
using numerics::ElementType;

/// A library that dlopen() has loaded; it stays loaded.
class OpenLibrary {
public:
  static Result<OpenLibrary> open(const std::string &file);

  template <typename F> Status find(const char *name, F *&function) const {
    TILEWRIGHT_ASSIGN(void *address, find(name));
    function = reinterpret_cast<F *>(address);
    return Status();
  }

private:
  OpenLibrary(std::string file, void *handle) : file(std::move(file)), handle(handle) {}
  Result<void *> find(const char *name) const;

  std::string file;
  void *handle;
};

/// OK if `status` is 0, which means success in both libraries; otherwise unavailable, with the
/// library's text for the status, from `describe`.
template <typename S>
Status checkCall(S status, const char *(*describe)(S), std::string_view library,
                 std::string_view function) {
  if (static_cast<int>(status) == 0)
    return Status();
  const char *text = describe(status);
  return Status(Code::unavailable, concat(library, function, " failed with ", int(status), " (",
                                          text ? text : "unknown status", ")"));
}

/// `Functions` has Create, Destroy and check; a `Plan` is constructed from functions, a handle and
/// a product.
template <Library which, typename Functions, typename Handle, typename Plan>
class HandleEngine final : public LibraryEngine {
public:
  /// LoadedLibrary::connect
  static Result<std::unique_ptr<LibraryEngine>> connect(const LoadedLibrary &loaded) {
    auto functions = std::static_pointer_cast<const Functions>(loaded.functions);
    Handle handle = nullptr;
    TILEWRIGHT_TRY(functions->check(functions->Create(&handle), "Create"));
    return std::unique_ptr<LibraryEngine>(
        new HandleEngine(std::move(functions), handle, loaded.version));
  }
  ~HandleEngine() override { functions->Destroy(handle); }

  Library library() const override { return which; }
  int version() const override { return number; }
  Result<std::unique_ptr<LibraryPlan>> plan(const ScaledProduct &product,
                                            size_t maxWorkspace) override {
    auto made = std::make_unique<Plan>(*functions, handle, product);
    TILEWRIGHT_TRY(made->prepare(maxWorkspace));
    return std::unique_ptr<LibraryPlan>(std::move(made));
  }

private:
  HandleEngine(std::shared_ptr<const Functions> functions, Handle handle, int version)
      : functions(std::move(functions)), handle(handle), number(version) {}

  const std::shared_ptr<const Functions> functions;
  const Handle handle;
  const int number;
};

} // namespace tilewright::runtime::cuda::libraries

#endif // TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_HANDLEENGINE_H
