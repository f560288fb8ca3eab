// JSON Lines in, JSON Lines out.
#pragma once

#include <iosfwd>

namespace napkin {

struct given_profile;

/// What the lines are: requests, or claims whose query is audit, named or not.
enum class batch_of { requests, claims };

/// Answers every line of `in` by one line on `out`, in order. Memory does not grow with the number
/// of lines; a line of more than 1 MiB is not read but answered by an error, as is an empty one.
/// Output is handed on whenever the next read would wait. True where no line had an error.
/// `profile` stands for the machine in lines of its accelerator.
bool answer_batch(std::istream& in, std::ostream& out, const given_profile* profile = nullptr,
                  batch_of what = batch_of::requests);

}  // namespace napkin
