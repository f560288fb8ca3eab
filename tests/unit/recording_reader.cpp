// A recording is read field by field: one tampered file for every way in which it can be wrong.
#include <sys/stat.h>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "recording/read_recording.hpp"

namespace unit_recording_reader {

namespace pv = perfmodel::validation;
using fault = pv::recording_fault;

namespace {

const std::string good = R"({
  "schema": "perfmodel.recording",
  "version": 1,
  "experiment": "memory_stream",
  "law": "roofline: time >= bytes / bandwidth",
  "origin": "measured",
  "run": {"date": "2026-11-21T08:15:00Z", "revision": "0123456789abcdef0123456789abcdef01234567",
          "modified": false, "program": "memory_stream.cu", "compiler": "nvcc 13.0",
          "toolkit": "13.0", "driver": "580.1", "reduced": false},
  "device": {"kind": "gpu", "name": "NVIDIA H200", "accelerator": "h200_sxm",
             "memory_bytes": 150000000000, "sm_clock_hz": 1980000000, "compute_capability": "9.0",
             "sms": 132, "gpus": 1, "l2_bytes": 52428800, "shared_memory_per_sm_bytes": 233472,
             "memory_bus_bits": 6144, "memory_clock_hz": 3201000000},
  "state": {"before": {"sm_clock_hz": 1980000000, "memory_clock_hz": 3201000000, "power_w": 120,
                       "temperature_c": 35, "slowdown": []}},
  "checks": [{"name": "copy equals its source", "error": 0, "tolerance": 0}],
  "skipped": [{"part": "8 GB", "reason": "no memory"}],
  "points": [{"quantity": "stream_time", "unit": "s",
              "parameters": {"kernel": "read", "working_set_bytes": 1073741824, "cache": "cold",
                             "bytes_read": 1073741824, "bytes_written": 0, "threads": 1048576},
              "samples": [0.000251, 0.000252]}]
})";

/// The text with the first `from` in it replaced.
std::string with(const std::string& from, const std::string& to, std::string text = good) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

class written_file {
 public:
  explicit written_file(const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "recording_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    path_ = folder_ / "tampered.json";
    std::ofstream(path_) << text;
  }
  ~written_file() { std::filesystem::remove_all(folder_); }
  written_file(const written_file&) = delete;
  written_file& operator=(const written_file&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path folder_, path_;
};

/// The fault of a text, and that its message names the file and `says`.
void refuses(const std::string& text, fault expected, const std::string& says) {
  const written_file file(text);
  INFO(says);
  try {
    static_cast<void>(pv::read_recording(file.path()));
    FAIL("not refused");
  } catch (const pv::recording_error& e) {
    INFO(e.what());
    CHECK(e.fault() == expected);
    const std::string message = e.what();
    CHECK(message.find(file.path()) == 0);
    CHECK(message.find(says) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST_CASE("recording: what is right is read") {
  const written_file file(good);
  const pv::recorded r = pv::read_recording(file.path());
  CHECK(r.experiment == "memory_stream");
  CHECK(r.measured);
  CHECK(r.run.driver == "580.1");
  CHECK(r.device.sms == 132);
  CHECK(r.device.memory_clock_hz == 3201e6);
  REQUIRE(r.before);
  CHECK(r.before->power_w == 120.0);
  CHECK_FALSE(r.after);
  REQUIRE(r.points.size() == 1);
  CHECK(r.points[0].samples == std::vector<double>{0.000251, 0.000252});
  CHECK(pv::number_of(r.points[0], "working_set_bytes") == 1073741824.0);
  CHECK(pv::word_of(r.points[0], "cache") == "cold");
  CHECK(pv::number_of(r.points[0], "kernel", 7.0) == 7.0);  // a word is no number
  CHECK(r.skipped[0].reason == "no memory");
  // A deviation is small as it may be.
  const written_file close(
      with("\"error\": 0", "\"error\": 1e-40", with("\"tolerance\": 0", "\"tolerance\": 1e-39")));
  CHECK(pv::read_recording(close.path()).checks[0].error == 1e-40);
}

TEST_CASE("recording: what the writer writes, the reader reads") {
  pv::device_description d;
  d.kind = "cpu";
  d.name = "a \"CPU\" \\ with a tab\t";
  d.memory_bytes = 8e9;
  d.cores = 2;
  d.threads = 2;
  d.caches = {{1, 32768.0, 1}, {2, 2097152.0, 1}};
  pv::run_description run;
  run.date = pv::date_now();
  run.revision = "unknown";
  run.program = "test";
  run.compiler = "test";
  pv::recording w("pointer_chase", "a plateau for each level", d, run);
  w.check("the chain closes", 0.0, 0.0);
  w.add({"load_latency",
         "s",
         {{"working_set_bytes", 4096}, {"stride_bytes", 64}, {"hops", 64}, {"cache", "warm"}},
         {1.25e-9, 1.5e-9}});
  const written_file file("");
  w.write(file.path());
  const pv::recorded r = pv::read_recording(file.path());
  CHECK(r.device.name == d.name);
  CHECK(r.device.caches.size() == 2);
  CHECK(r.device.caches[1].bytes == 2097152.0);
  CHECK(r.points[0].samples == std::vector<double>{1.25e-9, 1.5e-9});
}

namespace {

const pv::parameters of_a_load{
    {"working_set_bytes", 4096}, {"stride_bytes", 64}, {"hops", 64}, {"cache", "warm"}};

pv::recording recording_of_loads() {
  pv::device_description d;
  d.kind = "cpu";
  d.name = "a CPU";
  d.memory_bytes = 8e9;
  d.cores = d.threads = 2;
  pv::run_description run;
  run.date = pv::date_now();
  run.revision = "unknown";
  run.program = run.compiler = "test";
  return {"pointer_chase", "a plateau for each level", d, run};
}

pv::point load_of(double seconds) {
  return {"load_latency", "s", of_a_load, {seconds}};
}

/// Goes on after a failure, until it is told to stop.
struct patient_host : pv::recording_host {
  bool stop = false;
  int failures = 0;
  void go_on() override {
    if (stop) throw pv::run_stopped("stopped");
  }
  void failed(const pv::failed_part&) override { ++failures; }
};

std::vector<double> read_loads(const std::string& path) {
  std::vector<double> out;
  for (const pv::point& p : pv::read_recording(path).points) out.push_back(p.samples.front());
  return out;
}

}  // namespace

TEST_CASE("recording: a failed part leaves no point, and the others stand") {
  const written_file file("");
  pv::recording w = recording_of_loads();
  patient_host host;
  w.watched_by(host);
  w.part("one", [&] {
    w.check("right", 0.0, 0.0);
    w.add(load_of(1e-9));
  });
  w.part("two", [&] {
    w.add(load_of(2e-9));
    w.check("wrong", 1.0, 0.5);
  });
  w.part("three", [&] {
    w.check("right too", 0.0, 0.0);
    w.add(load_of(3e-9));
  });
  w.part("all of four", [&] {
    w.part("its half", [&] { w.add(load_of(4e-9)); });
    throw std::bad_alloc();
  });
  w.write(file.path());
  const pv::recorded r = pv::read_recording(file.path());
  CHECK(read_loads(file.path()) == std::vector<double>{1e-9, 3e-9});
  CHECK(r.checks.size() == 2);
  REQUIRE(r.failed.size() == 2);
  CHECK(host.failures == 2);
  CHECK(r.failed[0].part == "two");
  CHECK(r.failed[0].reason == "check failed: wrong: error 1, allowed 0.5");
  CHECK(r.failed[1].part == "all of four");
}

TEST_CASE("recording: with nothing but failures it is read, and has no number") {
  const written_file file("");
  pv::recording w = recording_of_loads();
  patient_host host;
  w.watched_by(host);
  w.part("one", [&] {
    w.add(load_of(1e-9));
    w.check("wrong", std::nan(""), 0.5);
  });
  w.write(file.path());
  const pv::recorded r = pv::read_recording(file.path());
  CHECK(r.points.empty());
  REQUIRE(r.failed.size() == 1);
  CHECK(r.failed[0].reason == "check failed: wrong: error NaN, allowed 0.5");
}

TEST_CASE("recording: what is measured is in the file at once, part by part") {
  const written_file file("");
  pv::recording w = recording_of_loads();
  patient_host host;
  w.watched_by(host);
  w.save_to(file.path());
  w.part("one", [&] {
    w.check("right", 0.0, 0.0);
    w.add(load_of(1e-9));
  });
  CHECK(read_loads(file.path()) == std::vector<double>{1e-9});
  CHECK(pv::read_recording(file.path()).failed.at(0).part == "the rest");
  w.part("two", [&] {
    w.add(load_of(2e-9));
    CHECK(read_loads(file.path()) == std::vector<double>{1e-9});  // its check is to come
    w.check("right too", 0.0, 0.0);
  });
  CHECK(read_loads(file.path()) == std::vector<double>{1e-9, 2e-9});
  CHECK_THROWS_AS(w.part("three",
                         [&] {
                           w.add(load_of(3e-9));
                           host.stop = true;
                           w.add(load_of(4e-9));
                         }),
                  pv::run_stopped);
  CHECK(w.failed().empty());
  CHECK(read_loads(file.path()) == std::vector<double>{1e-9, 2e-9});
  w.write(file.path());
  CHECK(pv::read_recording(file.path()).failed.empty());
}

TEST_CASE("recording: a sample at a lower clock than the others is set aside") {
  const written_file file("");
  pv::recording w = recording_of_loads();
  w.check("right", 0.0, 0.0);
  pv::repetitions samples{1e-9, 2e-9, 3e-9, 4e-9, 5e-9};
  samples.sm_clock_hz = {1980e6, 1975e6, 1900e6, 1980e6, 1965e6};  // 97 % of 1975 MHz: 1916
  w.add({"load_latency", "s", of_a_load, samples});
  w.write(file.path());
  const pv::point p = pv::read_recording(file.path()).points.at(0);
  CHECK(p.samples == std::vector<double>{1e-9, 2e-9, 4e-9, 5e-9});
  CHECK(p.throttled == std::vector<double>{3e-9});
  CHECK(pv::number_of(p, "sm_clock_hz") == 1975e6);
}

TEST_CASE("recording: a GPU that does not state its clocks is read") {
  const written_file file(
      with("\"sm_clock_hz\": 1980000000, \"compute", "\"sm_clock_hz\": 0, \"compute",
           with("\"memory_clock_hz\": 3201000000}", "\"memory_clock_hz\": 0}")));
  CHECK(pv::read_recording(file.path()).device.sm_clock_hz == 0.0);
}

TEST_CASE("recording: no file, no JSON, another file") {
  CHECK_THROWS_AS(pv::read_recording("/nowhere/at/all.json"), pv::recording_error);
  refuses("", fault::unreadable, "cannot be read");
  refuses(std::string(17U << 20U, ' '), fault::unreadable, "is larger than 16 MiB");
  const written_file pipe("x");
  std::filesystem::remove(pipe.path());
  REQUIRE(mkfifo(pipe.path().c_str(), 0600) == 0);
  try {
    static_cast<void>(pv::read_recording(pipe.path()));
    FAIL("waited for a pipe");
  } catch (const pv::recording_error& e) {
    CHECK(e.fault() == fault::unreadable);
    CHECK(std::string(e.what()).ends_with("is not a file"));
  }
  // What the file says is shown on one line, and not all of it.
  refuses(with("\"law\"", std::string("\"").append(5000, 'k').append("\"")), fault::unknown_key,
          "kkk...");
  refuses(with("\"law\"", "\"a\\u0000b\\nc\""), fault::unknown_key, "a b c is not a key");
  refuses("{", fault::not_json, "not JSON");
  refuses(good + "x", fault::not_json, "not JSON");
  refuses("[1, 2]", fault::wrong_schema, "schema");
  refuses("{}", fault::wrong_schema, "schema");
  refuses(with("perfmodel.recording", "perfmodel.other"), fault::wrong_schema, "schema");
}

TEST_CASE("recording: a version from the future") {
  refuses(with("\"version\": 1", "\"version\": 2"), fault::future_version,
          "version is 2; allowed: up to 1");
  refuses(with("\"version\": 1", "\"version\": 0"), fault::not_allowed, "version");
  refuses(with("\"version\": 1", "\"version\": \"1\""), fault::wrong_type, "version");
}

TEST_CASE("recording: a number that is none") {
  refuses(with("0.000251", "null"), fault::wrong_type, "points[0].samples[0] is null");
  refuses(with("0.000251", "\"NaN\""), fault::wrong_type, "points[0].samples[0] is \"NaN\"");
  refuses(with("0.000251", "NaN"), fault::not_json, "not JSON");
  refuses(with("0.000251", "1e999"), fault::not_json, "1e999");
  refuses(with("\"sms\": 132", "\"sms\": true"), fault::wrong_type, "device.sms is true");
  refuses(with("\"sms\": 132", "\"sms\": 131.5"), fault::not_allowed, "device.sms is 131.5");
  refuses(with("\"threads\": 1048576", "\"threads\": -1"), fault::not_allowed,
          "points[0].parameters.threads is -1");
  refuses(with("\"bytes_read\": 1073741824", "\"bytes_read\": 1e31"), fault::not_allowed,
          "allowed: up to 1e30");
  refuses(with("\"sms\": 132", "\"sms\": 2e9"), fault::not_allowed, "a whole number, 1 to 1e9");
}

TEST_CASE("recording: nesting without end is refused before it is walked") {
  const std::string deep(100000, '[');
  refuses(with("\"sms\": 132", std::string("\"sms\": ").append(deep)), fault::not_json,
          "16 levels");
}

TEST_CASE("recording: a cpu names no accelerator") {
  const std::size_t from = good.find("\"device\""), to = good.find("\"state\"");
  const std::string cpu =
      "\"device\": {\"kind\": \"cpu\", \"name\": \"x\", \"accelerator\": \"h200_sxm\", "
      "\"memory_bytes\": 1e9, \"sm_clock_hz\": 0, \"cores\": 2, \"threads\": 2, \"caches\": []}, ";
  refuses(good.substr(0, from) + cpu + good.substr(to), fault::not_allowed, "of a cpu");
}

TEST_CASE("recording: a wrong unit") {
  refuses(with("\"unit\": \"s\"", "\"unit\": \"ms\""), fault::wrong_unit,
          "points[0].unit is \"ms\"; allowed: \"s\" for stream_time");
  refuses(with("\"unit\": \"s\"", "\"unit\": \"\""), fault::wrong_unit, "points[0].unit");
}

TEST_CASE("recording: a missing field, an unknown one, one that stands there twice") {
  refuses(with("\"sms\": 132, ", ""), fault::missing_key, "device.sms is missing");
  refuses(with("\"memory_bytes\": 150000000000, ", ""), fault::missing_key, "device.memory_bytes");
  refuses(with("\"driver\": \"580.1\", ", ""), fault::missing_key, "run.driver is missing");
  refuses(with("\"sms\": 132", "\"sm_count\": 132"), fault::unknown_key,
          "device.sm_count is not a key");
  refuses(with("\"law\":", "\"note\": \"\", \"law\":"), fault::unknown_key, "note is not a key");
  refuses(with("\"sms\": 132", "\"sms\": 132, \"sms\": 999"), fault::duplicate_key, "sms");
  refuses(with("\"origin\": \"measured\"", "\"origin\": \"published\""), fault::unknown_key,
          "run is not a key");
  refuses(with("\"origin\": \"measured\"", "\"origin\": \"guessed\""), fault::not_allowed,
          "allowed: measured, published");
}

TEST_CASE("recording: an unknown experiment, another's quantity, a parameter that is not there") {
  refuses(with("memory_stream", "memory_dream"), fault::unknown_experiment, "memory_stream");
  refuses(with("stream_time", "gemm_time"), fault::unknown_quantity, "stream_time");
  refuses(with("\"bytes_read\": 1073741824, ", ""), fault::missing_parameter,
          "points[0].parameters.bytes_read is missing: stream_time needs it");
  refuses(with("\"kernel\": \"read\", ", ""), fault::missing_parameter, "kernel");
  refuses(with("\"kernel\": \"read\"", "\"kernel\": \"reed\""), fault::not_allowed,
          "allowed: read, copy, triad, write");
  refuses(with("\"cache\": \"cold\"", "\"cache\": \"cool\""), fault::not_allowed, "cold, warm");
  refuses(with("\"threads\": 1048576", "\"threads\": [1]"), fault::wrong_type, "threads");
}

TEST_CASE("recording: a parameter that may be missing is checked where it is there") {
  const auto launch = [](const std::string& work) {
    const std::string text =
        with("\"kernel\": \"read\", ",
             "\"mode\": \"graph\", \"side\": \"device\", \"kernels\": 10, " + work);
    return with("memory_stream", "launch", with("stream_time", "launch_time", text));
  };
  const auto read = [](const std::string& text) {
    const written_file file(text);
    return pv::read_recording(file.path());
  };
  CHECK(read(launch("")).points.size() == 1);
  CHECK(pv::word_of(read(launch("\"work\": \"scale\", ")).points.front(), "work") == "scale");
  refuses(launch("\"work\": \"scales\", "), fault::not_allowed, "allowed: empty, scale");
}

TEST_CASE("recording: no points, no samples, no checks, a failed one") {
  const std::size_t from = good.find("[{\"quantity\"");
  refuses(good.substr(0, from) + "[]}", fault::no_points, "points");
  refuses(with("[0.000251, 0.000252]", "[]"), fault::no_samples, "points[0].samples");
  refuses(with("0.000251", "0"), fault::bad_sample, "points[0].samples[0] is 0");
  refuses(with("0.000251", "-0.000251"), fault::bad_sample, "more than 0");
  refuses(with("0.000251", "1e-300"), fault::bad_sample, "from 1e-30 on");
  // An intensity of 5e-324 / 1e9 is 0, from which no curve gets away by factors.
  refuses(with("\"bytes_read\": 1073741824", "\"bytes_read\": 5e-324"), fault::not_allowed,
          "points[0].parameters.bytes_read is 5e-324; allowed: 0, or from 1e-30 on in size");
  refuses(with("[{\"name\": \"copy equals its source\", \"error\": 0, \"tolerance\": 0}]", "[]"),
          fault::no_checks, "checks");
  refuses(with("\"error\": 0,", "\"error\": 0.1,"), fault::failed_check, "checks[0].error is 0.1");
  refuses(with("\"points\": [{", "\"failed\": [{\"part\": \"a\"}], \"points\": [{"),
          fault::missing_key, "failed[0].reason");
  refuses(with("[0.000251, 0.000252]", "[0.000251], \"throttled\": [0]"), fault::bad_sample,
          "points[0].throttled[0] is 0");
}

TEST_CASE("recording: dates and revisions") {
  refuses(with("2026-11-21T08:15:00Z", "2026-11-21 08:15"), fault::not_allowed, "run.date");
  refuses(with("2026-11-21T08:15:00Z", "2026-13-21T08:15:00Z"), fault::not_allowed, "run.date");
  refuses(with("2026-11-21T08:15:00Z", "2026-11-00T08:15:00Z"), fault::not_allowed, "run.date");
  refuses(with("2026-11-21T08:15:00Z", "2026-11-21T24:15:00Z"), fault::not_allowed, "run.date");
  refuses(with("0123456789abcdef0123456789abcdef01234567", "main"), fault::not_allowed,
          "40 hexadecimal digits");
}

TEST_CASE("recording: every fault has a code of its own") {
  std::set<std::string> codes;
  for (int i = 1; i <= static_cast<int>(fault::failed_check); ++i) {
    codes.insert(pv::recording_error(static_cast<fault>(i), "").code());
  }
  CHECK(codes.size() == 18);
  CHECK(*codes.begin() == "PM-R01");
  CHECK(*codes.rbegin() == "PM-R18");
}

TEST_CASE("recording: the committed ones are read") {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(PERFMODEL_SOURCE_DIR) / "validation/recordings")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().string());
    CHECK_NOTHROW(pv::read_recording(entry.path().string()));
    ++files;
  }
  CHECK(files >= 2);
}

}  // namespace unit_recording_reader
