// Threads that share the lines of a batch.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace napkin {

/// Threads that call work(thread, i) for each i below a count, in any order; the caller is one of
/// them, thread 0. The others begin at the first call and wait between calls, so that what a thread
/// has memoised remains. Where none can be started, the caller works alone.
class line_pool {
 public:
  using work = std::function<void(unsigned thread, std::size_t i)>;

  explicit line_pool(unsigned threads) : threads_(threads) {}
  ~line_pool() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    begins_.notify_all();
    for (std::thread& t : members_) t.join();
  }
  line_pool(const line_pool&) = delete;
  line_pool& operator=(const line_pool&) = delete;

  unsigned threads() const { return threads_; }

  /// Returns after all calls; throws what one of them threw.
  void run(std::size_t count, const work& f) {
    std::unique_lock lock(mutex_);
    start_members();
    work_ = &f;
    count_ = count;
    next_ = finished_ = 0;
    if (members_.size() > 0) begins_.notify_all();
    while (next_ < count_) take(lock, 0);
    ended_.wait(lock, [this] { return finished_ == count_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void start_members() {
    try {
      while (members_.size() + 1 < threads_) {
        const auto thread = static_cast<unsigned>(members_.size() + 1);
        members_.emplace_back([this, thread] { wait_for_work(thread); });
      }
    } catch (const std::system_error&) {
      threads_ = static_cast<unsigned>(members_.size() + 1);
    }
  }
  void wait_for_work(unsigned thread) {
    std::unique_lock lock(mutex_);
    while (true) {
      begins_.wait(lock, [this] { return stops_ || next_ < count_; });
      if (stops_) return;
      take(lock, thread);
      if (finished_ == count_) ended_.notify_one();
    }
  }
  /// Calls the work for the next i, without the lock.
  void take(std::unique_lock<std::mutex>& lock, unsigned thread) {
    const std::size_t i = next_++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*work_)(thread, i);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    ++finished_;
  }

  unsigned threads_;
  const work* work_ = nullptr;
  std::size_t count_ = 0, next_ = 0, finished_ = 0;
  bool stops_ = false;
  std::exception_ptr failure_{};
  std::mutex mutex_{};
  std::condition_variable begins_{}, ended_{};
  std::vector<std::thread> members_{};
};

}  // namespace napkin
