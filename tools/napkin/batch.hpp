// JSON Lines in, JSON Lines out.
#pragma once

#include <iosfwd>

namespace napkin {

struct given_profile;

/// Kind of the lines: requests, or claims with or without `"query": "audit"`.
enum class batch_of { requests, claims };

/// Writes one line on `out` for every line of `in`, in order. Memory does not grow with the number
/// of lines. A line of more than 1 MiB, or an empty one, yields an error. Output is flushed
/// whenever the next read would block. True where no line had an error. `profile` replaces the
/// shipped one in lines of its accelerator. Requests that have been read are shared among
/// `threads`; 0: one per core. The output is the same for any number.
/// Test: tests/cli/batch_threads.sh.
bool run_batch(std::istream& in, std::ostream& out, const given_profile* profile = nullptr,
               batch_of what = batch_of::requests, int threads = 1);

}  // namespace napkin
