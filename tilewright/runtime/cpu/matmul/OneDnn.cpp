#include "tilewright/runtime/cpu/matmul/OneDnn.h"

#include "tilewright/runtime/cpu/matmul/CpuFeatures.h"
#include "tilewright/runtime/cpu/matmul/Load.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <array>

#include <dlfcn.h>

namespace tilewright::runtime::cpu {

namespace {

// The parts of oneDNN's C API that we use, from its documentation. Objects are pointers; memory
// descriptors are pointers in version 3, and structs smaller than Blob in version 2.
using Object = void *;
struct alignas(64) Blob {
  char bytes[8192];
};
struct Version {
  int major, minor, patch;
  const char *hash;
  unsigned cpuRuntime, gpuRuntime;
};
struct Argument {
  int kind;
  Object memory;
};
constexpr int engineCpu = 1, streamDefault = 1, scratchpadUser = 1, queryScratchpad = 136;
constexpr int argumentSource = 1, argumentTarget = 17, argumentWeights = 33,
              argumentScratchpad = 80;
constexpr unsigned runtimeSequential = 1, runtimeOpenMp = 2;

int dataTypeOf(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return 1;
  case ElementType::bf16:
    return 2;
  case ElementType::f32:
    return 3;
  case ElementType::i32:
    return 4;
  case ElementType::i8:
    return 5;
  case ElementType::ui8:
    return 6;
  default:
    return 0;
  }
}

} // namespace

/// The library and its functions, named without the prefix "dnnl_".
struct OneDnnLibrary {
  void *handle = nullptr;
  Version version = {};
  Object engine = nullptr, attributes = nullptr;

  int (*engineCreate)(Object *, int kind, size_t index) = nullptr;
  int (*streamCreate)(Object *, Object engine, unsigned flags) = nullptr;
  int (*streamDestroy)(Object) = nullptr;
  int (*attributesCreate)(Object *) = nullptr;
  int (*setScratchpadMode)(Object attributes, int mode) = nullptr;
  int (*primitiveCreate)(Object *, Object description) = nullptr;
  int (*primitiveDestroy)(Object) = nullptr;
  int (*descriptionDestroy)(Object) = nullptr;
  int (*execute)(Object primitive, Object stream, int count, const Argument *) = nullptr;
  const void *(*queryMemory)(Object description, int what, int index) = nullptr;
  size_t (*sizeOfMemory)(const void *descriptor) = nullptr;
  int (*memoryCreate)(Object *, const void *descriptor, Object engine, void *data) = nullptr;
  int (*memoryDestroy)(Object) = nullptr;
  int (*streamWait)(Object) = nullptr;
  // Version 3.
  int (*descriptorCreate)(Object *, int rank, const int64_t *dims, int type,
                          const int64_t *strides) = nullptr;
  int (*matmulCreate)(Object *, Object engine, Object lhs, Object rhs, Object bias, Object result,
                      Object attributes) = nullptr;
  // Version 2.
  int (*descriptorInit)(Blob *, int rank, const int64_t *dims, int type,
                        const int64_t *strides) = nullptr;
  int (*matmulInit)(Blob *, const Blob *lhs, const Blob *rhs, const Blob *bias,
                    const Blob *result) = nullptr;
  int (*descriptionCreate)(Object *, const Blob *operation, Object attributes, Object engine,
                           Object hint) = nullptr;
  // OpenMP functions that limit the library to one thread.
  void (*setThreads)(int) = nullptr;
  int (*maxThreads)() = nullptr;

  static const OneDnnLibrary *get() {
    static const OneDnnLibrary library = load();
    return library.engine ? &library : nullptr;
  }

private:
  template <typename Function> bool bind(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }
  bool bindAll();
  static OneDnnLibrary load();
};

bool OneDnnLibrary::bindAll() {
  const Version *(*versionOf)() = nullptr;
  if (!bind(versionOf, "dnnl_version"))
    return false;
  version = *versionOf();
  const bool isBound =
      bind(engineCreate, "dnnl_engine_create") && bind(streamCreate, "dnnl_stream_create") &&
      bind(streamDestroy, "dnnl_stream_destroy") && bind(streamWait, "dnnl_stream_wait") &&
      bind(attributesCreate, "dnnl_primitive_attr_create") &&
      bind(setScratchpadMode, "dnnl_primitive_attr_set_scratchpad_mode") &&
      bind(primitiveCreate, "dnnl_primitive_create") &&
      bind(primitiveDestroy, "dnnl_primitive_destroy") &&
      bind(descriptionDestroy, "dnnl_primitive_desc_destroy") &&
      bind(execute, "dnnl_primitive_execute") &&
      bind(queryMemory, "dnnl_primitive_desc_query_md") &&
      bind(sizeOfMemory, "dnnl_memory_desc_get_size") && bind(memoryCreate, "dnnl_memory_create") &&
      bind(memoryDestroy, "dnnl_memory_destroy");
  if (!isBound)
    return false;
  if (version.major == 3) {
    if (!bind(descriptorCreate, "dnnl_memory_desc_create_with_strides") ||
        !bind(matmulCreate, "dnnl_matmul_primitive_desc_create"))
      return false;
  } else if (version.major != 2 || !bind(descriptorInit, "dnnl_memory_desc_init_by_strides") ||
             !bind(matmulInit, "dnnl_matmul_desc_init") ||
             !bind(descriptionCreate, "dnnl_primitive_desc_create")) {
    return false;
  }
  // Other runtimes would start threads that we cannot limit.
  if (version.cpuRuntime == runtimeSequential)
    return true;
  return version.cpuRuntime == runtimeOpenMp && bind(setThreads, "omp_set_num_threads") &&
         bind(maxThreads, "omp_get_max_threads");
}

OneDnnLibrary OneDnnLibrary::load() {
  OneDnnLibrary library;
  for (const char *name : {"libdnnl.so.3", "libdnnl.so.2"}) {
    library = OneDnnLibrary();
    library.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library.handle)
      continue;
    // Never close the library: OpenMP's threads may outlive every use.
    if (library.bindAll() && library.engineCreate(&library.engine, engineCpu, 0) == 0 &&
        library.attributesCreate(&library.attributes) == 0 &&
        library.setScratchpadMode(library.attributes, scratchpadUser) == 0)
      return library;
    library.engine = nullptr;
  }
  return library;
}

namespace {

/// Limits the library to the calling thread; the destructor restores the previous setting.
class OnOneThread {
public:
  explicit OnOneThread(const OneDnnLibrary &library) : library(library) {
    if (library.setThreads) {
      before = library.maxThreads();
      if (before != 1)
        library.setThreads(1);
    }
  }
  ~OnOneThread() {
    if (library.setThreads && before != 1)
      library.setThreads(before);
  }

private:
  const OneDnnLibrary &library;
  int before = 1;
};

/// The calling thread's oneDNN stream, which lives as long as the thread.
Object streamOfThread(const OneDnnLibrary &library) {
  struct Owner {
    const OneDnnLibrary &library;
    Object stream = nullptr;
    explicit Owner(const OneDnnLibrary &library) : library(library) {
      if (library.streamCreate(&stream, library.engine, streamDefault) != 0)
        stream = nullptr;
    }
    ~Owner() {
      if (stream)
        library.streamDestroy(stream);
    }
  };
  static thread_local Owner owner(library);
  return owner.stream;
}

/// A memory descriptor of the library.
struct Descriptor {
  Blob blob;               // version 2
  Object object = nullptr; // version 3
  const void *get() const { return object ? object : static_cast<const void *>(&blob); }
};

} // namespace

/// The oneDNN kernel for tiles of one size.
struct OneDnnMatmul::Piece {
  Descriptor lhs, rhs, result;
  Object description = nullptr, primitive = nullptr;
  const void *scratchpad = nullptr;
  int64_t scratchpadBytes = 0;

  bool prepare(const OneDnnLibrary &library, const MatmulProblem &problem, int64_t rows,
               int64_t columns);
  void run(const OneDnnLibrary &library, const std::byte *lhsData, const std::byte *rhsData,
           std::byte *resultData) const;
  ~Piece() {
    const OneDnnLibrary *library = OneDnnLibrary::get();
    if (primitive)
      library->primitiveDestroy(primitive);
    if (description)
      library->descriptionDestroy(description);
  }
};

bool OneDnnMatmul::Piece::prepare(const OneDnnLibrary &library, const MatmulProblem &problem,
                                  int64_t rows, int64_t columns) {
  auto describe = [&](Descriptor &to, ElementType type, int64_t height, int64_t width,
                      int64_t rowStride, int64_t columnStride) {
    const int64_t dims[] = {height, width}, strides[] = {rowStride, columnStride};
    return library.descriptorCreate
               ? library.descriptorCreate(&to.object, 2, dims, dataTypeOf(type), strides) == 0
               : library.descriptorInit(&to.blob, 2, dims, dataTypeOf(type), strides) == 0;
  };
  if (!describe(lhs, problem.lhsType, rows, problem.summed, problem.lhsRows.stride,
                problem.lhsSummed.stride) ||
      !describe(rhs, problem.rhsType, problem.summed, columns, problem.rhsSummed.stride,
                problem.rhsColumns.stride) ||
      !describe(result, problem.resultType, rows, columns, problem.resultRows.stride,
                problem.resultColumns.stride))
    return false;
  if (library.matmulCreate) {
    if (library.matmulCreate(&description, library.engine, lhs.object, rhs.object, nullptr,
                             result.object, library.attributes) != 0)
      return false;
  } else {
    Blob operation;
    if (library.matmulInit(&operation, &lhs.blob, &rhs.blob, nullptr, &result.blob) != 0 ||
        library.descriptionCreate(&description, &operation, library.attributes, library.engine,
                                  nullptr) != 0)
      return false;
  }
  if (library.primitiveCreate(&primitive, description) != 0)
    return false;
  scratchpad = library.queryMemory(description, queryScratchpad, 0);
  scratchpadBytes = scratchpad ? static_cast<int64_t>(library.sizeOfMemory(scratchpad)) : 0;
  return true;
}

void OneDnnMatmul::Piece::run(const OneDnnLibrary &library, const std::byte *lhsData,
                              const std::byte *rhsData, std::byte *resultData) const {
  OnOneThread onOneThread(library);
  std::array<Argument, 4> arguments = {};
  int count = 0;
  auto add = [&](int kind, const void *descriptor, const void *data) {
    library.memoryCreate(&arguments[static_cast<size_t>(count)].memory, descriptor, library.engine,
                         const_cast<void *>(data));
    arguments[static_cast<size_t>(count++)].kind = kind;
  };
  add(argumentSource, lhs.get(), lhsData);
  add(argumentWeights, rhs.get(), rhsData);
  add(argumentTarget, result.get(), resultData);
  if (scratchpadBytes > 0)
    add(argumentScratchpad, scratchpad,
        PanelScratch::ofThread().get(PanelScratch::partial, scratchpadBytes));
  Object stream = streamOfThread(library);
  library.execute(primitive, stream, count, arguments.data());
  library.streamWait(stream);
  for (int i = 0; i < count; ++i)
    library.memoryDestroy(arguments[static_cast<size_t>(i)].memory);
}

static bool isPlain(const Placement &outer, const Placement &inner) {
  return outer.isEven() && inner.isEven() && (outer.stride == 1 || inner.stride == 1);
}

std::unique_ptr<OneDnnMatmul> OneDnnMatmul::create(const MatmulProblem &problem, unsigned threads) {
  const OneDnnLibrary *library = OneDnnLibrary::get();
  auto isOneOf = [](ElementType type, std::initializer_list<ElementType> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  using enum ElementType;
  const bool isReal = problem.lhsType == problem.rhsType &&
                      isOneOf(problem.lhsType, {f32, bf16, f16}) &&
                      isOneOf(problem.resultType, {problem.lhsType, f32});
  // Without VNNI, oneDNN adds pairs of byte products in 16 bits and saturates, so the sums are
  // wrong.
  const bool isByte = CpuFeatures::host().avx512Vnni && isOneOf(problem.lhsType, {i8, ui8}) &&
                      problem.rhsType == i8 && problem.resultType == i32;
  if (!library || !(isReal || isByte) || problem.rows <= 0 || problem.columns <= 0 ||
      problem.summed <= 0 || !isPlain(problem.lhsRows, problem.lhsSummed) ||
      !isPlain(problem.rhsSummed, problem.rhsColumns) ||
      !isPlain(problem.resultRows, problem.resultColumns))
    return nullptr;

  std::unique_ptr<OneDnnMatmul> matmul(new OneDnnMatmul());
  matmul->problem = problem;
  // Choose tiles so that there are enough for all threads, with sides that fill cache lines.
  constexpr int64_t unit = 32;
  auto pieceOf = [&](int64_t size, int64_t count) {
    return std::min(size, ((size + count - 1) / count + unit - 1) / unit * unit);
  };
  const int64_t wanted = problem.batchCount() >= threads ? 1 : threads;
  matmul->rows = problem.rows >= problem.columns ? pieceOf(problem.rows, wanted) : problem.rows;
  matmul->columns =
      problem.rows >= problem.columns ? problem.columns : pieceOf(problem.columns, wanted);
  matmul->rowPieces = (problem.rows + matmul->rows - 1) / matmul->rows;
  matmul->columnPieces = (problem.columns + matmul->columns - 1) / matmul->columns;
  OnOneThread onOneThread(*library);
  for (int lower = 0; lower < 2; ++lower)
    for (int right = 0; right < 2; ++right) {
      const int64_t rows = lower ? problem.rows % matmul->rows : matmul->rows;
      const int64_t columns = right ? problem.columns % matmul->columns : matmul->columns;
      if (rows == 0 || columns == 0)
        continue;
      matmul->pieces[lower][right] = std::make_unique<Piece>();
      if (!matmul->pieces[lower][right]->prepare(*library, problem, rows, columns))
        return nullptr;
    }
  return matmul;
}

OneDnnMatmul::~OneDnnMatmul() = default;

void OneDnnMatmul::run(const MatmulOperands &operands, ThreadPool &pool) const {
  const OneDnnLibrary &library = *OneDnnLibrary::get();
  auto bytes = [](ElementType type) { return static_cast<int64_t>(numerics::storageBytes(type)); };
  const int64_t perProduct = rowPieces * columnPieces;
  pool.parallelFor(problem.batchCount() * perProduct, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % rowPieces * rows, column = i / rowPieces % columnPieces * columns;
      int64_t rest = i / perProduct;
      int64_t lhs = row * problem.lhsRows.stride, rhs = column * problem.rhsColumns.stride;
      int64_t result = row * problem.resultRows.stride + column * problem.resultColumns.stride;
      for (size_t d = problem.batch.size(); d-- > 0;) {
        const BatchDimension &dim = problem.batch[d];
        lhs += rest % dim.size * dim.lhsStride;
        rhs += rest % dim.size * dim.rhsStride;
        result += rest % dim.size * dim.resultStride;
        rest /= dim.size;
      }
      const Piece &piece = *pieces[row + rows > problem.rows][column + columns > problem.columns];
      piece.run(library,
                static_cast<const std::byte *>(operands.lhs) + lhs * bytes(problem.lhsType),
                static_cast<const std::byte *>(operands.rhs) + rhs * bytes(problem.rhsType),
                static_cast<std::byte *>(operands.result) + result * bytes(problem.resultType));
    }
  });
}

std::string OneDnnMatmul::name() {
  const OneDnnLibrary *library = OneDnnLibrary::get();
  if (!library)
    return "onednn";
  return concat("onednn ", library->version.major, ".", library->version.minor, ".",
                library->version.patch);
}

std::string OneDnnMatmul::whyAbsent() {
  return OneDnnLibrary::get() ? concat(name(), ": has no kernel for these types and strides")
                              : "onednn: libdnnl.so.3 and libdnnl.so.2 are not installed";
}

} // namespace tilewright::runtime::cpu
