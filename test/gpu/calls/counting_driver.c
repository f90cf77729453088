// A CUDA driver that forwards to the one that COUNTED_DRIVER names, and counts two of its functions.
// It lacks the function that HIDDEN_FUNCTION names, as an older driver does.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t synchronizations, graphLaunches;
int64_t countedSynchronizations(void) { return __atomic_load_n(&synchronizations, __ATOMIC_SEQ_CST); }
int64_t countedGraphLaunches(void) { return __atomic_load_n(&graphLaunches, __ATOMIC_SEQ_CST); }

static int (*theirSynchronize)(void *stream);
static int synchronize(void *stream) {
  __atomic_fetch_add(&synchronizations, 1, __ATOMIC_SEQ_CST);
  return theirSynchronize(stream);
}
static int (*theirLaunch)(void *graph, void *stream);
static int launch(void *graph, void *stream) {
  __atomic_fetch_add(&graphLaunches, 1, __ATOMIC_SEQ_CST);
  return theirLaunch(graph, stream);
}

static void *find(const char *name) {
  static void *driver;
  if (!driver)
    driver = dlopen(getenv("COUNTED_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return driver ? dlsym(driver, name) : NULL;
}

int cuInit(unsigned flags) { return ((int (*)(unsigned))find("cuInit"))(flags); }

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status) {
  int (*get)(const char *, void **, int, uint64_t, int *) =
      (int (*)(const char *, void **, int, uint64_t, int *))find("cuGetProcAddress_v2");
  const char *hidden = getenv("HIDDEN_FUNCTION");
  if (hidden && !strcmp(name, hidden))
    return 500; // CUDA_ERROR_NOT_FOUND
  const int result = get(name, function, version, flags, status);
  if (result || !*function)
    return result;
  if (!strcmp(name, "cuStreamSynchronize")) {
    theirSynchronize = (int (*)(void *))*function;
    *function = (void *)synchronize;
  } else if (!strcmp(name, "cuGraphLaunch")) {
    theirLaunch = (int (*)(void *, void *))*function;
    *function = (void *)launch;
  }
  return 0;
}
