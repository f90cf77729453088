// Library: MPI's functions in its standard ABI, from a library that is loaded at run time.
#ifndef TILEWRIGHT_COLLECTIVE_MPI_LIBRARY_H
#define TILEWRIGHT_COLLECTIVE_MPI_LIBRARY_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <string>

namespace tilewright::collective::mpi {

/// The part of MPI's standard ABI (MPI 5, chapter 20) that we use. The ABI allows one build to run
/// with the MPI library of any site. Declared here, because few sites have the header. Handles are
/// opaque pointers that are never dereferenced, and constants are numbers.
namespace abi {
template <typename Tag> using Handle = Tag *;
using Comm = Handle<struct CommTag>;
using Datatype = Handle<struct DatatypeTag>;
using Op = Handle<struct OpTag>;
using Errhandler = Handle<struct ErrhandlerTag>;
using Message = Handle<struct MessageTag>;
using Request = Handle<struct RequestTag>;
using Count = int64_t;

struct Status {
  int source = 0, tag = 0, error = 0;
  int internal[5] = {};
};

inline Comm world() { return reinterpret_cast<Comm>(0x101); }
inline Datatype byte() { return reinterpret_cast<Datatype>(0x247); }
inline Datatype int64() { return reinterpret_cast<Datatype>(0x258); }
inline Op sum() { return reinterpret_cast<Op>(0x21); }
inline Errhandler errorsReturn() { return reinterpret_cast<Errhandler>(0x143); }
inline constexpr int success = 0, anySource = -1;
inline constexpr int threadSerialized = 2048, threadMultiple = 4096;
inline constexpr size_t longestErrorText = 512, longestVersionText = 8192;
} // namespace abi

/// A pointer to each MPI function that we use, named as in MPI without the prefix MPI_.
struct Library {
#define TILEWRIGHT_MPI_FUNCTIONS(F)                                                                \
  F(Abi_get_version, int *major, int *minor)                                                       \
  F(Comm_rank, abi::Comm, int *rank)                                                               \
  F(Comm_set_errhandler, abi::Comm, abi::Errhandler)                                               \
  F(Comm_size, abi::Comm, int *size)                                                               \
  F(Error_string, int code, char *text, int *length)                                               \
  F(Finalize, void)                                                                                \
  F(Finalized, int *flag)                                                                          \
  F(Get_count_c, const abi::Status *, abi::Datatype, abi::Count *)                                 \
  F(Get_library_version, char *text, int *length)                                                  \
  F(Improbe, int source, int tag, abi::Comm, int *flag, abi::Message *, abi::Status *)             \
  F(Imrecv_c, void *bytes, abi::Count, abi::Datatype, abi::Message *, abi::Request *)              \
  F(Init_thread, int *argc, char ***argv, int required, int *provided)                             \
  F(Initialized, int *flag)                                                                        \
  F(Ireduce_scatter_block, const void *in, void *out, int count, abi::Datatype, abi::Op,           \
    abi::Comm, abi::Request *)                                                                     \
  F(Isend_c, const void *bytes, abi::Count, abi::Datatype, int to, int tag, abi::Comm,             \
    abi::Request *)                                                                                \
  F(Query_thread, int *provided)                                                                   \
  F(Test, abi::Request *, int *flag, abi::Status *)
#define TILEWRIGHT_MPI_POINTER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  TILEWRIGHT_MPI_FUNCTIONS(TILEWRIGHT_MPI_POINTER)
#undef TILEWRIGHT_MPI_POINTER

  std::string file;
  std::string errorText(int code) const;

  /// Loads the library, which stays loaded, because a process can initialize and finalize MPI only
  /// once.
  ///  - carrierUnavailable (E6060): the message contains dlerror(), the name of the missing
  ///    function, or the ABI version; also if this process has already loaded another MPI through
  ///    this function.
  static Result<const Library *> load(const std::string &file);
};

} // namespace tilewright::collective::mpi

#endif // TILEWRIGHT_COLLECTIVE_MPI_LIBRARY_H
