// What the passes of one answer keep of their collectives: the lines that say what any message takes.
#pragma once

#include <optional>
#include <perfmodel/collectives.hpp>
#include <perfmodel/core/short_list.hpp>

namespace perfmodel::detail {

/// The lines of a collective, of every algorithm that may run.
template <Scalar T>
struct collective_lines {
  short_list<basic_price_line<T>, 12> lines{};

  /// The least of them; a message below one byte waits in proportion.
  constexpr duration<T> time(const bytes<T>& message) const {
    if (lines.empty()) return {};
    const auto along = [&](const basic_price_line<T>& l) {
      const duration<T> t = l.wait + message * l.per_byte;
      return message > l.largest ? t + duration<T>::from_value((message - l.largest).value()) : t;
    };
    duration<T> least = along(lines[0]);
    for (std::size_t i = 1; i < lines.size(); ++i) least = min(least, along(lines[i]));
    return scalar_min(T(1.0), message.value()) * least;
  }
};

/// What valid collectives take under a cost policy, as time_of_collective. Where that knows the lines of a
/// plain number they are found once for each collective, whatever its message.
/// Test: tests/property/kept_passes.cpp, against time_of_collective.
template <Scalar T, class Cost>
class kept_collectives {
 public:
  constexpr explicit kept_collectives(const Cost& cost) : cost_(cost) {}

  constexpr duration<T> time(const basic_interconnect<T>& fabric, const basic_collective<T>& c) {
    if constexpr (std::is_floating_point_v<T> && PricesByLines<Cost, T>) {
      if (const entry* known = find(fabric, c)) return known->lines.time(c.message.quantity());
      if (size_ < kept_.size()) {
        if (const auto lines = lines_of(fabric, c)) {
          kept_[size_] = entry{&fabric, c, *lines};
          return kept_[size_++]->lines.time(c.message.quantity());
        }
      }
    }
    return time_of_collective(fabric, c, cost_).time;
  }

 private:
  struct entry {
    const basic_interconnect<T>* fabric = nullptr;
    basic_collective<T> of{};
    collective_lines<T> lines{};

    constexpr bool is(const basic_interconnect<T>& f, const basic_collective<T>& c) const {
      return fabric == &f && of.operation == c.operation && of.ranks == c.ranks &&
             of.format == c.format && of.algorithm == c.algorithm &&
             of.implementation == c.implementation && of.launch == c.launch;
    }
  };

  constexpr const entry* find(const basic_interconnect<T>& fabric,
                              const basic_collective<T>& c) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (kept_[i]->is(fabric, c)) return &*kept_[i];
    }
    return nullptr;
  }

  constexpr std::optional<collective_lines<T>> lines_of(const basic_interconnect<T>& fabric,
                                                        basic_collective<T> c) const {
    collective_lines<T> all;
    const algorithm_list run = candidates(fabric, c, cost_);
    if (c.ranks == 1 || !fabric.bandwidth.is_stated()) return all;
    positive("bandwidth", fabric.bandwidth.quantity());
    c.message = message_bytes<T>(lift<T>(1.0 * byte));
    for (const collective_algorithm a : run) {
      const auto s = schedule_of(c, a, steps_and_share(c.operation, a, c.ranks));
      const bool known =
          cost_.lines(fabric, s, [&](const basic_price_line<T>& l) { all.lines.push_back(l); });
      if (!known) return std::nullopt;
    }
    return all;
  }

  const Cost& cost_;
  std::array<std::optional<entry>, 4> kept_{};
  std::size_t size_ = 0;
};

}  // namespace perfmodel::detail
