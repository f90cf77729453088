#include "tilewright/runtime/cuda/libraries/GpuLibraries.h"

#include "tilewright/support/Concat.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace tilewright::runtime::cuda::libraries {

/// NVIDIA recommends this much workspace for Blackwell.
static constexpr size_t maxWorkspace = size_t(32) << 20;

/// The files to try: the one that an environment variable names, otherwise the one beside a virtual
/// driver, otherwise the system's.
static std::vector<std::string> filesOf(const char *variable, std::vector<std::string> names,
                                        const DriverApi &api) {
  if (const char *named = std::getenv(variable); named && *named)
    return {named};
  std::error_code error;
  const std::filesystem::path beside =
      std::filesystem::path(api.library()).parent_path() / "libraries" / names.front();
  if (beside.is_absolute() && std::filesystem::exists(beside, error))
    return {beside.string()};
  return names;
}

Result<std::shared_ptr<GpuLibraries>> GpuLibraries::fromEnvironment(const DriverApi &api) {
  std::shared_ptr<GpuLibraries> made(new GpuLibraries);
  const char *text = std::getenv("TILEWRIGHT_GPU_LIBRARIES");
  const std::string_view use = text ? text : "";
  if (use == "on")
    made->wanted = Use::on;
  else if (use == "check")
    made->wanted = Use::check;
  else if (!use.empty() && use != "off")
    return Status(Error::optionValue,
                  concat("TILEWRIGHT_GPU_LIBRARIES is '", use, "', expected off, on or check"));
  made->files[Library::cublasLt] =
      filesOf("TILEWRIGHT_CUBLASLT_LIBRARY", {"libcublasLt.so.13", "libcublasLt.so.12"}, api);
  made->files[Library::cudnn] = filesOf("TILEWRIGHT_CUDNN_LIBRARY", {"libcudnn.so.9"}, api);
  return made;
}

GpuLibraries::~GpuLibraries() {
  for (auto &[key, connected] : engines)
    if (connected.engine) {
      const ContextScope scope(*connected.device);
      connected.engine.reset();
    }
}

static Result<std::unique_ptr<LibraryEngine>> connect(Library library,
                                                      const std::vector<std::string> &files) {
  Status last(Code::unavailable, "has no file");
  for (const std::string &file : files) {
    Result<LoadedLibrary> loaded =
        library == Library::cublasLt ? loadCublasLt(file) : loadCudnn(file);
    if (loaded.isOk())
      return loaded->connect(*loaded);
    last = std::move(loaded).takeStatus();
  }
  return last;
}

Result<LibraryEngine *> GpuLibraries::engineOf(Library library,
                                               const std::shared_ptr<CudaDevice> &device) {
  std::lock_guard lock(mutex);
  auto [it, isNew] = engines.try_emplace({library, device.get()});
  Connected &connected = it->second;
  if (isNew) {
    connected.device = device;
    Result<std::unique_ptr<LibraryEngine>> made = connect(library, files[library]);
    if (made.isOk())
      connected.engine = *std::move(made);
    else
      connected.problem = std::move(made).takeStatus().message();
  }
  if (!connected.engine)
    return Status(Code::unavailable, connected.problem);
  return connected.engine.get();
}

Choice GpuLibraries::choose(const std::shared_ptr<CudaDevice> &device,
                            const artifact::ScaledProduct &product) {
  Choice choice;
  for (Library library : allLibraries) {
    auto refuse = [&](std::string_view name, std::string_view reason) {
      choice.refusals.push_back(concat(name, " ", reason));
    };
    // No version can compute some products; no library is loaded for them.
    if (firstVersionFor(library, device->capability(), product) == 0) {
      refuse(nameOf(library),
             whyNot(library, newestVersion(library), device->capability(), product));
      continue;
    }
    const ContextScope scope(*device);
    Result<LibraryEngine *> engine = engineOf(library, device);
    if (!engine.isOk()) {
      refuse(nameOf(library), std::move(engine).takeStatus().message());
      continue;
    }
    if (const std::string reason =
            whyNot(library, (*engine)->version(), device->capability(), product);
        !reason.empty()) {
      refuse(nameOf(library), reason);
      continue;
    }
    Result<std::unique_ptr<LibraryPlan>> plan = (*engine)->plan(product, maxWorkspace);
    if (!plan.isOk()) {
      refuse((*engine)->text(), concat("refuses: ", std::move(plan).takeStatus().message()));
      continue;
    }
    choice.plan = *std::move(plan);
    choice.engine = (*engine)->text();
    return choice;
  }
  return choice;
}

void GpuLibraries::say(const std::string &step, const std::string &reason) {
  static std::mutex mutex;
  static auto &said = *new std::set<std::string>(); // guarded by mutex
  std::lock_guard lock(mutex);
  if (said.insert(reason).second)
    std::fprintf(stderr, "tilewright: %s: %s; the program's own kernel computes the product\n",
                 step.c_str(), reason.c_str());
}

} // namespace tilewright::runtime::cuda::libraries
