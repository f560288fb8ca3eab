// Work of a plan on several threads, taken in its own order.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace perfmodel::detail {

/// `asked` threads; 0: as many as the machine runs at once.
inline unsigned threads_of(int asked) {
  if (asked > 0) return static_cast<unsigned>(asked);
  const unsigned all = std::thread::hardware_concurrency();
  return all > 0 ? all : 1;
}

/// Threads that work ahead of what is taken, a few pieces each.
template <class Work>
class crew {
 public:
  using result = decltype(std::declval<const Work&>()(std::size_t{}));

  /// Where no thread can be started nobody works ahead.
  crew(std::size_t count, unsigned threads, const Work& work)
      : work_(work), pieces_(count), ahead_(8 * static_cast<std::size_t>(threads)) {
    if (threads > 1) members_.reserve(threads);
    try {
      while (threads > 1 && members_.size() < threads) {
        members_.emplace_back([this] { works(); });
      }
    } catch (const std::system_error&) {  // as many as there are
    }
  }
  ~crew() {
    {
      const std::lock_guard lock(held_);
      next_ = pieces_.size();
      changed_.notify_all();
    }
    for (std::thread& t : members_) t.join();
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  /// Piece i, which is asked for in turn. Throws what its work threw.
  result take(std::size_t i) {
    if (members_.empty()) return work_(i);
    std::unique_lock lock(held_);
    taken_ = i;
    changed_.notify_all();
    changed_.wait(lock, [&] { return pieces_[i].ready; });
    piece p = std::move(pieces_[i]);
    if (p.failed) std::rethrow_exception(p.failed);
    return std::move(*p.done);
  }

 private:
  struct piece {
    std::optional<result> done{};
    std::exception_ptr failed{};
    bool ready = false;
  };

  void works() {
    std::unique_lock lock(held_);
    while (true) {
      changed_.wait(lock, [&] { return next_ == pieces_.size() || next_ < taken_ + ahead_; });
      if (next_ == pieces_.size()) return;
      const std::size_t i = next_++;
      lock.unlock();
      piece p{.ready = true};
      try {
        p.done.emplace(work_(i));
      } catch (...) {
        p.failed = std::current_exception();
      }
      lock.lock();
      pieces_[i] = std::move(p);
      changed_.notify_all();
    }
  }

  const Work& work_;
  std::vector<piece> pieces_;
  std::size_t ahead_;
  std::size_t next_ = 0, taken_ = 0;
  std::mutex held_{};
  std::condition_variable changed_{};
  std::vector<std::thread> members_{};  // not jthread, which libc++ has from version 20 on
};

/// take(i, work(i)) for i = 0 .. count - 1, in this order and on the caller's thread, while threads work
/// ahead: what is taken does not depend on how many they are. What a piece of work throws is thrown where
/// it would be taken. Where no thread can be started the caller works.
/// Tests: the order, and the exception of the first piece, with one thread and with several.
template <class Work, class Take>
void in_order(std::size_t count, unsigned threads, const Work& work, const Take& take) {
  crew<Work> workers(count, threads, work);
  for (std::size_t i = 0; i < count; ++i) take(i, workers.take(i));
}

}  // namespace perfmodel::detail
