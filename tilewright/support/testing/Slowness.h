#ifndef TILEWRIGHT_SUPPORT_TESTING_SLOWNESS_H
#define TILEWRIGHT_SUPPORT_TESTING_SLOWNESS_H

#include <cstdlib>

namespace tilewright {

/// By how much a test multiplies the times that we promise. In .ci/run tests share a busy machine
/// and some run under a sanitizer, so a bound can only tell an answer from a hang. .ci/nightly runs
/// each test alone and says so; then the bounds are the promises.
inline int slowness() {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
  return 20;
#endif
#endif
  return std::getenv("TILEWRIGHT_TEST_ALONE") ? 1 : 20;
}

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TESTING_SLOWNESS_H
