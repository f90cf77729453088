// Json: texts as JSON wants them.
#ifndef TILEWRIGHT_SUPPORT_JSON_H
#define TILEWRIGHT_SUPPORT_JSON_H

#include <string>
#include <string_view>

namespace tilewright {

/// In quotes, with what has a meaning in JSON escaped. Bytes above 127 stay: they are UTF-8.
void appendQuoted(std::string &out, std::string_view text);

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_JSON_H
