// Error codes of requests and files; those of values are perfmodel's.
#pragma once

#include <perfmodel/core/error.hpp>

namespace common::code {

inline constexpr perfmodel::error_code malformed_request{1};  ///< not JSON, or not an object
inline constexpr perfmodel::error_code unknown_query{2};
inline constexpr perfmodel::error_code unknown_key{3};
inline constexpr perfmodel::error_code missing_key{4};
inline constexpr perfmodel::error_code wrong_type{5};

}  // namespace common::code
