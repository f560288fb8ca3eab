// Traces of requests in any format, replayed as they are read and from memory.
#include <napkin/io/trace_files.hpp>
#include "fuzz.hpp"

#include <cstdint>
#include <perfmodel/serving/simulation/trace.hpp>

namespace fuzz {

int input_of_trace(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("trace");
  const std::string& path = file.holding({reinterpret_cast<const char*>(data), size});
  fuzz::one_input([&] {
    const auto reader = common::stream_trace_file(path);
    perfmodel::streamed_trace_source source(*reader);
    perfmodel::simulated_request r;
    while (source.next_arrival() != perfmodel::request_source::never) source.take(r);
  });
  return fuzz::one_input([&] {
    const auto read = common::read_trace_file(path);
    perfmodel::trace_source source(read.workload, {.in_flight_limit = 4, .session_limit = 2});
    perfmodel::simulated_request r;
    perfmodel::request_record done;
    std::int64_t sent = 0;
    double last = 0.0;
    while (source.next_arrival() != perfmodel::request_source::never) {
      source.take(r);
      if (r.arrival < last) fuzz::finding("a request is sent before the one before it", path);
      last = r.arrival;
      done.index = r.index;
      source.completed(done, last);
      ++sent;
    }
    if (sent != source.size()) fuzz::finding("requests of a trace are lost", path);
  });
}

}  // namespace fuzz
