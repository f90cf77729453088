// Json: quotes strings for JSON.
#ifndef TILEWRIGHT_SUPPORT_JSON_H
#define TILEWRIGHT_SUPPORT_JSON_H

#include <string>
#include <string_view>

namespace tilewright {

/// Adds quotes and escapes characters that have a meaning in JSON. Bytes above 127 are UTF-8 and
/// stay unchanged.
void appendQuoted(std::string &out, std::string_view text);

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_JSON_H
