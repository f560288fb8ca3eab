// Whether a sanitizer checks what runs here: it takes 50 times as long, so it sees fewer samples of
// the same.
#pragma once

namespace perfmodel_test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace perfmodel_test
