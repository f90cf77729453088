#include "tilewright/plugin/ffi/PythonCallback.h"

#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Concat.h"

#include <cstring>

// The functions of Python's stable ABI that this file calls. The library must also load in
// processes without Python, so the symbols are weak: they are null unless the process defines them.
extern "C" {
using PyObject = struct tilewright_py_object;
#define TILEWRIGHT_PYTHON(result, name, ...) result name(__VA_ARGS__) __attribute__((weak))
TILEWRIGHT_PYTHON(int, Py_IsInitialized, void);
TILEWRIGHT_PYTHON(int, PyGILState_Ensure, void);
TILEWRIGHT_PYTHON(void, PyGILState_Release, int);
TILEWRIGHT_PYTHON(void, Py_DecRef, PyObject *);
TILEWRIGHT_PYTHON(void, Py_IncRef, PyObject *);
TILEWRIGHT_PYTHON(PyObject *, PyImport_ImportModule, const char *);
TILEWRIGHT_PYTHON(PyObject *, PyObject_GetAttrString, PyObject *, const char *);
TILEWRIGHT_PYTHON(PyObject *, PyObject_CallObject, PyObject *, PyObject *);
TILEWRIGHT_PYTHON(PyObject *, PyTuple_New, ssize_t);
TILEWRIGHT_PYTHON(int, PyTuple_SetItem, PyObject *, ssize_t, PyObject *);
TILEWRIGHT_PYTHON(PyObject *, PyLong_FromLongLong, long long);
TILEWRIGHT_PYTHON(PyObject *, PyUnicode_FromStringAndSize, const char *, ssize_t);
TILEWRIGHT_PYTHON(const char *, PyUnicode_AsUTF8AndSize, PyObject *, ssize_t *);
TILEWRIGHT_PYTHON(PyObject *, PyMemoryView_FromMemory, char *, ssize_t, int);
TILEWRIGHT_PYTHON(void, PyErr_Clear, void);
#undef TILEWRIGHT_PYTHON
}

namespace tilewright::plugin::ffi {
namespace {

using artifact::TensorType;

/// The layout of XLA's FfiLoadedHostCallbacks. XLA's fixed id for this type is the first 64 bits of
/// the SHA-512 of its name.
struct HostCallbacks {
  void **callables;
  uint32_t count;
};
constexpr int64_t hostCallbacksType = 7357244197867843242;

constexpr int readOnly = 0x100, writable = 0x200; // PyBUF_READ, PyBUF_WRITE

class Gil {
public:
  Gil() : state(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state); }

private:
  int state;
};

/// Releases a reference when destroyed. Use only while holding the GIL.
class Reference {
public:
  explicit Reference(PyObject *object) : object(object) {}
  Reference(const Reference &) = delete;
  ~Reference() {
    if (object)
      Py_DecRef(object);
  }
  PyObject *get() const { return object; }
  PyObject *take() { return std::exchange(object, nullptr); }

private:
  PyObject *object;
};

size_t byteCount(const TensorType &type) {
  Result<numerics::Shape> shape = numerics::Shape::create(type.dims);
  return shape.isOk() ? static_cast<size_t>(shape->byteCount(type.element)) : 0;
}

/// Returns a tuple such as (memory, "f32", (2, 3)). PyTuple_SetItem takes ownership of the item.
PyObject *describe(const TensorType &type, const void *data, int access) {
  static char nothing = 0; // an empty array may have no memory
  char *bytes = data ? static_cast<char *>(const_cast<void *>(data)) : &nothing;
  PyObject *shape = PyTuple_New(static_cast<ssize_t>(type.dims.size()));
  for (size_t i = 0; i < type.dims.size(); ++i)
    PyTuple_SetItem(shape, static_cast<ssize_t>(i), PyLong_FromLongLong(type.dims[i]));
  std::string_view name = numerics::spelling(type.element);
  PyObject *tuple = PyTuple_New(3);
  PyTuple_SetItem(tuple, 0,
                  PyMemoryView_FromMemory(bytes, static_cast<ssize_t>(byteCount(type)), access));
  PyTuple_SetItem(tuple, 1,
                  PyUnicode_FromStringAndSize(name.data(), static_cast<ssize_t>(name.size())));
  PyTuple_SetItem(tuple, 2, shape);
  return tuple;
}

template <typename Pointer>
PyObject *describeAll(const std::vector<TensorType> &types, std::span<const Pointer> data,
                      int access) {
  PyObject *list = PyTuple_New(static_cast<ssize_t>(types.size()));
  for (size_t i = 0; i < types.size(); ++i)
    PyTuple_SetItem(list, static_cast<ssize_t>(i), describe(types[i], data[i], access));
  return list;
}

} // namespace

bool isPythonCallback(std::string_view target) {
  return target == "xla_ffi_python_cpu_callback" ||
         target == "xla_ffi_partitioned_python_cpu_callback" ||
         target == "xla_ffi_python_gpu_callback" ||
         target == "xla_ffi_partitioned_python_gpu_callback";
}

Result<PythonCallback> PythonCallback::create(const std::vector<artifact::Attribute> &attributes,
                                              std::vector<TensorType> operands,
                                              std::vector<TensorType> results) {
  for (const artifact::Attribute &attribute : attributes) {
    auto *value = std::get_if<artifact::Elements>(&attribute.value);
    if (attribute.name != "index" || !value || value->bytes.size() != sizeof(uint64_t))
      continue;
    PythonCallback callback;
    std::memcpy(&callback.index, value->bytes.data(), sizeof(uint64_t));
    callback.operandTypes = std::move(operands);
    callback.resultTypes = std::move(results);
    return callback;
  }
  return Status(Error::callbackInvalid, "a host callback has no 64-bit attribute 'index'");
}

Status PythonCallback::run(std::span<const void *const> operands, std::span<void *const> results,
                           const CallContext &context) const {
  if (!Py_IsInitialized || !Py_IsInitialized())
    return Status(Error::callbackInvalid,
                  "the program calls back into Python, but this process does not run Python");
  const UserData *userData = context.userData;
  auto found = userData ? userData->find(hostCallbacksType) : UserData::const_iterator();
  auto *callbacks = userData && found != userData->end()
                        ? static_cast<const HostCallbacks *>(found->second)
                        : nullptr;
  if (!callbacks || index >= callbacks->count)
    return Status(Error::callbackInvalid,
                  concat("the program calls host callback ", index, ", but the caller passed only ",
                         callbacks ? callbacks->count : 0,
                         " callbacks; a program with callbacks cannot be loaded from a file"));

  Gil gil;
  Reference module(PyImport_ImportModule("tilewright.callbacks"));
  Reference function(module.get() ? PyObject_GetAttrString(module.get(), "call") : nullptr);
  if (!function.get()) {
    PyErr_Clear();
    return Status(Error::callbackInvalid,
                  "host callbacks require the Python package 'tilewright'; install its wheel");
  }
  auto *callable = static_cast<PyObject *>(callbacks->callables[index]);
  Py_IncRef(callable);
  Reference arguments(PyTuple_New(3));
  PyTuple_SetItem(arguments.get(), 0, callable);
  PyTuple_SetItem(arguments.get(), 1, describeAll(operandTypes, operands, readOnly));
  PyTuple_SetItem(arguments.get(), 2, describeAll<void *>(resultTypes, results, writable));
  // Returns a string: empty, or the error message. The Python function catches all exceptions.
  Reference answer(PyObject_CallObject(function.get(), arguments.get()));
  ssize_t size = 0;
  const char *text = answer.get() ? PyUnicode_AsUTF8AndSize(answer.get(), &size) : nullptr;
  if (!text) {
    PyErr_Clear();
    return Status(Error::callbackFailed, "a host callback returned no result");
  }
  return size == 0 ? Status()
                   : Status(Error::callbackFailed, std::string(text, static_cast<size_t>(size)));
}

} // namespace tilewright::plugin::ffi
