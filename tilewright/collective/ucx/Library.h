// Library: UCX's functions, from a shared library that is loaded at run time.
#ifndef TILEWRIGHT_COLLECTIVE_UCX_LIBRARY_H
#define TILEWRIGHT_COLLECTIVE_UCX_LIBRARY_H

#include "tilewright/support/Status.h"

#include <string>
#include <ucp/api/ucp.h>

namespace tilewright::collective::ucx {

/// A pointer to each UCX function that we use, named as in UCX.
struct Library {
#define TILEWRIGHT_UCX_FUNCTIONS(F)                                                                \
  F(ucp_am_recv_data_nbx)                                                                          \
  F(ucp_am_send_nbx)                                                                               \
  F(ucp_cleanup)                                                                                   \
  F(ucp_config_modify)                                                                             \
  F(ucp_config_read)                                                                               \
  F(ucp_config_release)                                                                            \
  F(ucp_ep_close_nbx)                                                                              \
  F(ucp_ep_create)                                                                                 \
  F(ucp_init_version)                                                                              \
  F(ucp_request_check_status)                                                                      \
  F(ucp_request_free)                                                                              \
  F(ucp_worker_arm)                                                                                \
  F(ucp_worker_create)                                                                             \
  F(ucp_worker_destroy)                                                                            \
  F(ucp_worker_flush_nbx)                                                                          \
  F(ucp_worker_get_address)                                                                        \
  F(ucp_worker_get_efd)                                                                            \
  F(ucp_worker_progress)                                                                           \
  F(ucp_worker_release_address)                                                                    \
  F(ucp_worker_set_am_recv_handler)                                                                \
  F(ucs_status_string)
#define TILEWRIGHT_UCX_POINTER(name) decltype(&::name) name = nullptr;
  TILEWRIGHT_UCX_FUNCTIONS(TILEWRIGHT_UCX_POINTER)
#undef TILEWRIGHT_UCX_POINTER

  /// Loads the library, which stays loaded, because UCX has its own threads and hooks.
  ///  - carrierUnavailable (E6060): the message contains dlerror() or the name of the missing
  ///    function.
  static Result<const Library *> load(const std::string &file);
};

} // namespace tilewright::collective::ucx

#endif // TILEWRIGHT_COLLECTIVE_UCX_LIBRARY_H
