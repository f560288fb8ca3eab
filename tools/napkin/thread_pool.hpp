// Executor of a plan that evaluates candidates on several threads.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace napkin {

/// Threads of a pool for `requested` of them; 0: as many as the machine runs at once.
inline unsigned thread_count(int requested) {
  if (requested > 0) return static_cast<unsigned>(requested);
  const unsigned all = std::thread::hardware_concurrency();
  return all > 0 ? all : 1;
}

namespace detail {

/// Threads that evaluate ahead of the collection, a few candidates each.
template <class Evaluate>
class evaluation_pool {
 public:
  using result = decltype(std::declval<const Evaluate&>()(std::size_t{}, bool{}));

  /// Without a thread, or if none can be started, the caller evaluates.
  evaluation_pool(std::size_t count, unsigned threads, const Evaluate& evaluate)
      : evaluate_(evaluate), slots_(count), ahead_(8 * static_cast<std::size_t>(threads)) {
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
      next_ = slots_.size();
      changed_.notify_all();
    }
    for (std::thread& t : members_) t.join();
  }
  evaluation_pool(const evaluation_pool&) = delete;
  evaluation_pool& operator=(const evaluation_pool&) = delete;

  /// Waits for evaluation i, in turn, and throws what it threw. `any_met` is the hint for later
  /// evaluations.
  result wait_for(std::size_t i, bool any_met) {
    if (members_.empty()) return evaluate_(i, any_met);
    std::unique_lock lock(mutex_);
    collected_ = i;
    any_met_ = any_met;
    changed_.notify_all();
    changed_.wait(lock, [&] { return slots_[i].is_ready; });
    slot s = std::move(slots_[i]);
    if (s.failure) std::rethrow_exception(s.failure);
    return std::move(*s.value);
  }

 private:
  struct slot {
    std::optional<result> value{};
    std::exception_ptr failure{};
    bool is_ready = false;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return next_ == slots_.size() || next_ < collected_ + ahead_; });
      if (next_ == slots_.size()) return;
      const std::size_t i = next_++;
      const bool any_met = any_met_;
      lock.unlock();
      slot s{.is_ready = true};
      try {
        s.value.emplace(evaluate_(i, any_met));
      } catch (...) {
        s.failure = std::current_exception();
      }
      lock.lock();
      slots_[i] = std::move(s);
      changed_.notify_all();
    }
  }

  const Evaluate& evaluate_;
  std::vector<slot> slots_;
  std::size_t ahead_;
  std::size_t next_ = 0, collected_ = 0;
  bool any_met_ = false;
  std::mutex mutex_{};
  std::condition_variable changed_{};
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
