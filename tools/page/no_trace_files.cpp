// The page's module reads no trace files: a browser has none, and zlib stays out.
#include <napkin/io/codes.hpp>
#include <napkin/io/text.hpp>
#include <napkin/io/trace_files.hpp>

namespace common {

trace_file read_trace_file(const std::string& path, const trace_file_options&) {
  throw perfmodel::error(perfmodel::error_code::unreadable_file,
                         "trace: " + in_quotes(path) + " cannot be read in a browser");
}

}  // namespace common
