// What the programs of validation/host measure is right, and their checks notice when it is not.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "host/arithmetic.cpp"
#include "host/chase.cpp"
#include "host/gemm.cpp"
#include "host/littles_law.cpp"
#include "host/stream.cpp"
#include "host/threads.cpp"
// Last: names of constants in it are names of locals above.
#include "host/roofline.cpp"

namespace unit_validation_host_checks {

namespace pv = perfmodel::validation;

namespace {

using measurement = void (*)(const pv::host_session&, pv::recording&);

pv::recording measured(measurement measure, const std::string& fault) {
  pv::host_session session;
  session.device.kind = "cpu";
  session.device.memory_bytes = 1e9;
  session.device.caches = {{1, 32768, 1}, {2, 262144, 1}};
  session.reduced = true;
  session.samples = 2;
  session.fault = fault;
  pv::recording r("experiment", "law", session.device, {});
  measure(session, r);
  return r;
}

struct broken {
  measurement measure;
  const char* fault;
  const char* noticed_by;
};

}  // namespace

TEST_CASE("each host measurement checks its results and has samples") {
  for (const measurement m :
       {pv::measure_stream, pv::measure_chase, pv::measure_arithmetic, pv::measure_roofline,
        pv::measure_gemm, pv::measure_littles_law, pv::measure_threads, pv::measure_overlap}) {
    const pv::recording r = measured(m, "");
    CHECK(!r.checks().empty());
    REQUIRE(!r.points().empty());
    for (const pv::point& p : r.points()) {
      CHECK(p.samples.size() == 2);
      for (const double seconds : p.samples) CHECK(seconds > 0.0);
    }
  }
}

TEST_CASE("a host measurement with a fault in it fails its check") {
  for (const broken& b : {broken{pv::measure_stream, "swap_bytes", "bytes that differ"},
                          broken{pv::measure_stream, "drop_read", "the sum of what was read"},
                          broken{pv::measure_chase, "drop_hop", "where the walk"},
                          broken{pv::measure_arithmetic, "drop_fma", "closed form"},
                          broken{pv::measure_roofline, "drop_fma", "closed form"},
                          broken{pv::measure_gemm, "drop_term", "product of"},
                          broken{pv::measure_littles_law, "drop_hop", "walks end"},
                          broken{pv::measure_threads, "drop_thread", "threads that ran"},
                          broken{pv::measure_overlap, "drop_copy", "the copy beside"}}) {
    INFO(b.fault);
    CHECK_THROWS_WITH(measured(b.measure, b.fault),
                      Catch::Matchers::ContainsSubstring("check failed") &&
                          Catch::Matchers::ContainsSubstring(b.noticed_by));
  }
}

TEST_CASE("a stream moves each byte of its working set once") {
  const pv::recording streams = measured(pv::measure_stream, "");
  for (const pv::point& p : streams.points()) {
    double set = 0, moved = 0;
    for (const pv::parameter& q : p.parameters) {
      if (q.name == "working_set_bytes") set = std::get<double>(q.is);
      if (q.name == "bytes_read" || q.name == "bytes_written") moved += std::get<double>(q.is);
    }
    CHECK(moved == set);
  }
}

}  // namespace unit_validation_host_checks
