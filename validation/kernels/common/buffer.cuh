// Memory that frees itself, and that holds NaN until something is written to it.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "checked.cuh"

namespace perfmodel::validation {

/// Device memory for `size` values. Every byte is 0xFF at first: a NaN in fp32, bf16, fp16 and fp8
/// e4m3, -1 in an integer, so that an unwritten value cannot pass for a result.
template <class T>
class device_buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    PERFMODEL_CUDA(cudaMalloc(&data_, size * sizeof(T)));
    poison();
  }
  explicit device_buffer(std::span<const T> from) : device_buffer(from.size()) { upload(from); }
  device_buffer(device_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  device_buffer& operator=(device_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~device_buffer() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

  void poison() {
    PERFMODEL_CUDA(cudaMemset(data_, 0xFF, bytes()));
    PERFMODEL_CUDA(cudaDeviceSynchronize());
  }
  void upload(std::span<const T> from) {
    if (from.size() != size_) throw measurement_error("upload: the sizes differ");
    PERFMODEL_CUDA(cudaMemcpy(data_, from.data(), bytes(), cudaMemcpyHostToDevice));
    // From pageable memory the copy may return before its last part is there.
    PERFMODEL_CUDA(cudaDeviceSynchronize());
  }
  std::vector<T> download() const { return download(0, size_); }
  std::vector<T> download(std::size_t first, std::size_t count) const {
    if (first + count > size_) throw measurement_error("download: beyond the buffer");
    PERFMODEL_CUDA(cudaDeviceSynchronize());
    std::vector<T> out(count);
    PERFMODEL_CUDA(
        cudaMemcpy(out.data(), data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Page-locked host memory.
template <class T>
class pinned_buffer {
 public:
  explicit pinned_buffer(std::size_t size) : size_(size) {
    PERFMODEL_CUDA(cudaMallocHost(&data_, size * sizeof(T)));
  }
  pinned_buffer(const pinned_buffer&) = delete;
  pinned_buffer& operator=(const pinned_buffer&) = delete;
  ~pinned_buffer() { cudaFreeHost(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace perfmodel::validation
