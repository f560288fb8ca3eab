// What the host's measurements share: time, interleaved samples, random data.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../recording/recording.hpp"

namespace perfmodel::validation {

struct host_session {
  device_description device{};
  bool reduced = false;
  int samples = 9;
  std::string fault{};  ///< what to break, so that a check has to notice

  bool breaks(std::string_view name) const { return fault == name; }
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Time that this thread has spent on a core: not what it waited for one while others had it.
inline double now_on_core() {
  std::timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Keeps a value from being optimised away.
template <class T>
inline void keep(const T& v) {
  asm volatile("" : : "g"(&v) : "memory");
}

/// In [-1, 1): the same for the same seed and place, everywhere. Source: SplitMix64 (Steele, Lea
/// and Flood, OOPSLA 2014).
constexpr float random_value(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15ULL + place * 0xD1B54A32D192ED03ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  z ^= z >> 31U;
  return static_cast<float>(z >> 40U) * (2.0F / 16777216.0F) - 1.0F;
}

/// One thing to time: what it is, and how to do it once.
struct timed_case {
  point what;
  std::function<void(int repetition)> run;
  double units = 1.0;    ///< in one repetition; a sample is the time of one
  bool threads = false;  ///< waits for other threads: timed by the clock on the wall
  int repeats = 1;

  double clock() const { return threads ? now() : now_on_core(); }
};

/// Times every case in turn, again and again, so that a disturbance of the machine spreads over all
/// and the median of each escapes it. Each sample lasts at least a millisecond. One thread is timed
/// on its core, so that another program in its place does not count.
inline void measure_all(const host_session& s, recording& r, std::vector<timed_case>& cases) {
  for (timed_case& c : cases) {
    c.run(0);
    const double began = c.clock();
    c.run(1);
    const double one = (std::max)(c.clock() - began, 1e-8);
    const double least = s.reduced ? 1e-4 : 1e-3;
    c.repeats = static_cast<int>((std::clamp)(least / one, 1.0, 100000.0));
  }
  for (int sample = 0; sample < s.samples; ++sample) {
    for (timed_case& c : cases) {
      c.run(0);  // the others have been through the caches
      const double began = c.clock();
      for (int i = 0; i < c.repeats; ++i) c.run(i);
      c.what.samples.push_back((std::max)((c.clock() - began) / c.repeats / c.units, 1e-13));
    }
  }
  for (timed_case& c : cases) r.add(std::move(c.what));
}

void measure_stream(const host_session& s, recording& r);
void measure_chase(const host_session& s, recording& r);
void measure_arithmetic(const host_session& s, recording& r);
void measure_roofline(const host_session& s, recording& r);
void measure_gemm(const host_session& s, recording& r);
void measure_littles_law(const host_session& s, recording& r);
void measure_threads(const host_session& s, recording& r);
void measure_overlap(const host_session& s, recording& r);

}  // namespace perfmodel::validation
