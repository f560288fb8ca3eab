// NCCL's all-reduce in one process. The library is opened at run time: a machine may have its
// header and not the library, or the library elsewhere than the linker looks.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

#include "checked.cuh"

#if __has_include(<nccl.h>)
#include <nccl.h>
#define PERFMODEL_HAS_NCCL 1
#else
#define PERFMODEL_HAS_NCCL 0
#endif

namespace perfmodel::validation {

#if PERFMODEL_HAS_NCCL

/// Source of the names and signatures: nccl.h, of which only the declarations are used.
class nccl {
 public:
  nccl() : library_(dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL)) {
    found_ = library_ != nullptr && find(init_, "ncclCommInitAll") &&
             find(destroy_, "ncclCommDestroy") && find(begin_, "ncclGroupStart") &&
             find(end_, "ncclGroupEnd") && find(reduce_, "ncclAllReduce") &&
             find(text_, "ncclGetErrorString");
  }
  nccl(const nccl&) = delete;
  nccl& operator=(const nccl&) = delete;
  // The library stays open: it has threads of its own.

  bool available() const { return found_; }

  /// One communicator a device, 0 .. ranks - 1.
  std::vector<ncclComm_t> communicators(int ranks) const {
    std::vector<ncclComm_t> out(static_cast<std::size_t>(ranks), nullptr);
    checked(init_(out.data(), ranks, nullptr), "ncclCommInitAll");
    return out;
  }
  void destroy(ncclComm_t c) const { destroy_(c); }

  /// Sums `count` floats of all ranks into each rank's `to`, from place `first` of the buffers on.
  void all_reduce(const std::vector<ncclComm_t>& of, const std::vector<float*>& from,
                  const std::vector<float*>& to, std::size_t first, std::size_t count,
                  const std::vector<cudaStream_t>& streams) const {
    checked(begin_(), "ncclGroupStart");
    for (std::size_t r = 0; r < of.size(); ++r) {
      checked(reduce_(from[r] + first, to[r] + first, count, ncclFloat, ncclSum, of[r], streams[r]),
              "ncclAllReduce");
    }
    checked(end_(), "ncclGroupEnd");
  }

 private:
  template <class Function>
  bool find(Function& out, const char* name) {
    out = reinterpret_cast<Function>(dlsym(library_, name));
    return out != nullptr;
  }
  void checked(ncclResult_t status, const char* call) const {
    if (status != ncclSuccess) fail_call(call, text_(status), __FILE__, __LINE__);
  }

  void* library_ = nullptr;
  bool found_ = false;
  decltype(&ncclCommInitAll) init_ = nullptr;
  decltype(&ncclCommDestroy) destroy_ = nullptr;
  decltype(&ncclGroupStart) begin_ = nullptr;
  decltype(&ncclGroupEnd) end_ = nullptr;
  decltype(&ncclAllReduce) reduce_ = nullptr;
  decltype(&ncclGetErrorString) text_ = nullptr;
};

#endif

}  // namespace perfmodel::validation
