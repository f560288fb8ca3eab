// Executor of sweeps and of plan() that evaluates on several threads.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace napkin {

/// Threads of a pool for `requested` of them; 0: as many as the machine runs at once. More than a
/// few for each core have memory of their own and nothing to do.
inline unsigned thread_count(int requested) {
  constexpr unsigned least = 16, threads_of_core = 4;
  const unsigned all = (std::max)(std::thread::hardware_concurrency(), 1U);
  if (requested <= 0) return all;
  return (std::min)(static_cast<unsigned>(requested), (std::max)(least, threads_of_core * all));
}

namespace detail {

/// Threads that evaluate ahead of the collection. They take pieces of a few candidates, and wake a
/// thread only where it waits for their work.
template <class Evaluate>
class evaluation_pool {
 public:
  using result = decltype(std::declval<const Evaluate&>()(std::size_t{}, bool{}));

  /// Without a thread, or if none can be started, the caller evaluates.
  evaluation_pool(std::size_t count, unsigned threads, const Evaluate& evaluate)
      : evaluate_(evaluate),
        count_(count),
        pieces_((count + piece - 1) / piece),
        ahead_(2 * static_cast<std::size_t>(threads)) {
    if (threads > 1) members_.reserve(threads);
    try {
      while (threads > 1 && members_.size() < threads) {
        members_.emplace_back([this] { run(); });
      }
    } catch (const std::system_error&) {  // fewer threads than requested
    }
  }
  ~evaluation_pool() {
    {
      const std::lock_guard lock(mutex_);
      next_ = pieces_.size();
    }
    collected_one_.notify_all();
    for (std::thread& t : members_) t.join();
  }
  evaluation_pool(const evaluation_pool&) = delete;
  evaluation_pool& operator=(const evaluation_pool&) = delete;

  /// Waits for evaluation i, in turn, and throws what it threw. `any_met` is the hint for later
  /// evaluations.
  result wait_for(std::size_t i, bool any_met) {
    if (members_.empty()) return evaluate_(i, any_met);
    if (i % piece == 0) wait_for_piece(i / piece, any_met);
    if (i % piece == current_.values.size()) std::rethrow_exception(current_.failure);
    return std::move(current_.values[i % piece]);
  }

 private:
  static constexpr std::size_t piece = 4;
  /// Evaluations of one piece, up to the first that threw.
  struct evaluated {
    std::vector<result> values{};
    std::exception_ptr failure{};
    bool is_ready = false;
  };

  void wait_for_piece(std::size_t p, bool any_met) {
    std::unique_lock lock(mutex_);
    collected_ = p;
    any_met_ = any_met;
    const bool any_waits = waiting_ > 0;
    if (any_waits) collected_one_.notify_one();
    ready_.wait(lock, [&] { return pieces_[p].is_ready; });
    current_ = std::move(pieces_[p]);
  }
  evaluated evaluate_piece(std::size_t p, bool any_met) const {
    evaluated e{.is_ready = true};
    e.values.reserve(piece);
    try {
      for (std::size_t i = p * piece; i < count_ && i < (p + 1) * piece; ++i)
        e.values.push_back(evaluate_(i, any_met));
    } catch (...) {
      e.failure = std::current_exception();
    }
    return e;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++waiting_;
      collected_one_.wait(lock,
                          [&] { return next_ == pieces_.size() || next_ < collected_ + ahead_; });
      --waiting_;
      if (next_ == pieces_.size()) return;
      const std::size_t p = next_++;
      const bool any_met = any_met_;
      lock.unlock();
      evaluated e = evaluate_piece(p, any_met);
      lock.lock();
      pieces_[p] = std::move(e);
      if (p == collected_) ready_.notify_one();
    }
  }

  const Evaluate& evaluate_;
  std::size_t count_;
  std::vector<evaluated> pieces_;
  std::size_t ahead_;
  std::size_t next_ = 0, collected_ = 0, waiting_ = 0;  ///< next and collected pieces
  bool any_met_ = false;
  evaluated current_{};  ///< the piece in collection
  std::mutex mutex_{};
  std::condition_variable ready_{}, collected_one_{};
  std::vector<std::thread> members_{};  // not jthread, which libc++ has from version 20 on
};

}  // namespace detail

/// Executor of plan() on several threads, with the results of perfmodel::serial_executor.
/// Tests: the order, the exception of the first candidate, and plans of 1, 2 and 3 threads.
class thread_pool {
 public:
  /// 0: as many threads as the machine runs at once.
  explicit thread_pool(int threads = 0) : threads_(thread_count(threads)) {}

  template <class Evaluate, class Collect>
  void operator()(std::size_t count, const Evaluate& evaluate, const Collect& collect) const {
    detail::evaluation_pool<Evaluate> pool(count, threads_, evaluate);
    bool any_met = false;
    for (std::size_t i = 0; i < count; ++i) any_met = collect(i, pool.wait_for(i, any_met));
  }

 private:
  unsigned threads_;
};

}  // namespace napkin
