// Memory in large pages, so that a chase meets caches and not the translation of addresses.
#pragma once

#include <cstddef>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace perfmodel::validation {

/// Asks for pages of 2 MiB where the system has them on request (Linux: transparent huge pages).
/// If it refuses, the memory is as good, and a random walk through it pays for its TLB misses.
template <class T>
struct large_page_allocator {
  using value_type = T;
  static constexpr std::size_t page = std::size_t{2} << 20U;

  large_page_allocator() = default;
  template <class U>
  large_page_allocator(const large_page_allocator<U>&) {}  // NOLINT: rebinding is implicit

  T* allocate(std::size_t n) {
    const std::size_t bytes = (n * sizeof(T) + page - 1) / page * page;
    void* memory = ::operator new (bytes, std::align_val_t{page});
#ifdef __linux__
    static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) {
    ::operator delete (memory, std::align_val_t{page});
  }

  friend bool operator==(const large_page_allocator&, const large_page_allocator&) {
    return true;
  }
};

}  // namespace perfmodel::validation
