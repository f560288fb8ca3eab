// Published collective latencies of machines that AIConfigurator did not measure. The default of a
// fabric without measurements is fitted to them and scored on them. Printed numbers, out of place
// where a table has both; one machine each, so a default is what they have in common.
#pragma once

#include <array>
#include <perfmodel/parallel/algorithms.hpp>

namespace published {

/// One number of a public table. `gpu` names an accelerator of the catalogue with the same fabric.
struct public_row {
  const char* source;
  const char* gpu;
  perfmodel::collective_op operation;
  perfmodel::collective_implementation kernels;
  int ranks;
  double bytes;
  double us;
};

namespace posted {
// A GKE guide, "A4 GPU Testbed on GKE": all_reduce_perf -g 8.
inline constexpr const char* gke_a4 = "A4 GPU Testbed on GKE, 8 x B200";
// google/dranet, its page on the NVIDIA DRA driver: NCCL 2.26.6, two of the node's GPUs.
inline constexpr const char* dranet = "google/dranet, 2 x B200";
// vllm-project/vllm pull request 37756, benchmark_device_communicators.py, in a graph. The table
// printed between those of 4 and 8 ranks; its crossovers are the ones the request gives for 6.
inline constexpr const char* vllm_b300 = "vllm-project/vllm pull request 37756, 6 x B300";
// vllm-project/vllm pull request 42324, the same benchmark.
inline constexpr const char* vllm_b200 = "vllm-project/vllm pull request 42324, 2 x B200";
// A guide to GB300 on Oracle's cloud: NCCL 2.28.7.
inline constexpr const char* oci_gb300 = "OCI GB300 guide, 4 and 8 of one rack";
// vllm-project/vllm pull request 24111, the same benchmark.
inline constexpr const char* vllm_h100 = "vllm-project/vllm pull request 24111, 6 x H100";
// ByteDance-Seed/Triton-distributed issue 57.
inline constexpr const char* triton_h100 = "ByteDance-Seed/Triton-distributed issue 57, 8 x H100";
// NVIDIA/nccl issue 2169: NCCL 2.30.4, alltoall_perf.
inline constexpr const char* nccl_2169 = "NVIDIA/nccl issue 2169, 4 x H100";
// gardenlinux/gardenlinux issue 4556: NCCL 2.27.7, its defaults.
inline constexpr const char* gardenlinux = "gardenlinux/gardenlinux issue 4556, RTX PRO 6000";
// flashinfer-ai/flashinfer pull request 5023: NCCL in a graph; rows of 8192 bytes, all ranks' rows.
inline constexpr const char* flashinfer =
    "flashinfer-ai/flashinfer pull request 5023, RTX PRO 6000";
// EfficientMoE/Omni-Infinity, multi-GPU validation: NCCL 2.28.9, untuned, bus bandwidth at 512 MiB.
inline constexpr const char* omni = "EfficientMoE/Omni-Infinity, RTX PRO 6000";
// local-inference-lab/rtx6kpro, optimization/pcie-oneshot-allreduce.md: cards below switches.
inline constexpr const char* rtx6kpro_4 = "local-inference-lab/rtx6kpro, 4 x RTX PRO 6000";
// local-inference-lab/rtx6kpro, hardware/pcie-bandwidth.md: 8 cards below three switches.
inline constexpr const char* rtx6kpro_8 = "local-inference-lab/rtx6kpro, 8 x RTX PRO 6000";
// sgl-project/sglang pull request 32479.
inline constexpr const char* sglang = "sgl-project/sglang pull request 32479, 8 x RTX 6000D";
// NVIDIA/nccl issue 1530: no peer access.
inline constexpr const char* nccl_1530 = "NVIDIA/nccl issue 1530, 8 x RTX 4090";
// vllm-project/vllm issue 50576: two islands of four cards.
inline constexpr const char* a800 = "vllm-project/vllm issue 50576, 8 x A800 PCIe";
// MooreThreads/SimuMax, configs/system/a100_pcie.json: shares of 30 GB/s, fitted to its nccl-tests.
inline constexpr const char* simumax = "MooreThreads/SimuMax, A100 PCIe";
}  // namespace posted

namespace detail {
constexpr double kib = 1024.0, mib = 1024.0 * 1024.0, gib = 1024.0 * mib;
using perfmodel::collective_implementation;
using perfmodel::collective_op;

/// Time of `bytes` at a bus bandwidth in GB/s, in us.
constexpr double at(collective_op op, int ranks, double bytes, double gb_per_s) {
  return perfmodel::bus_factor(op, ranks) * bytes / gb_per_s * 1e-3;
}
constexpr public_row nccl(const char* source, const char* gpu, collective_op op, int ranks,
                          double bytes, double us) {
  return {source, gpu, op, collective_implementation::nccl, ranks, bytes, us};
}
constexpr public_row sum(const char* source, const char* gpu, int ranks, double bytes, double us) {
  return nccl(source, gpu, collective_op::all_reduce, ranks, bytes, us);
}
constexpr public_row gather(const char* source, const char* gpu, int ranks, double bytes,
                            double us) {
  return nccl(source, gpu, collective_op::all_gather, ranks, bytes, us);
}
constexpr public_row two_shot(const char* source, const char* gpu, int ranks, double bytes,
                              double us) {
  return {source, gpu, collective_op::all_reduce, collective_implementation::two_shot, ranks,
          bytes,  us};
}
constexpr public_row one_shot(const char* source, const char* gpu, int ranks, double bytes,
                              double us) {
  return {source, gpu, collective_op::all_reduce, collective_implementation::one_shot, ranks,
          bytes,  us};
}
/// 512 MiB at the bus bandwidth printed.
constexpr public_row bulk(const char* source, const char* gpu, collective_op op, int ranks,
                          double gb_per_s) {
  return nccl(source, gpu, op, ranks, 512 * mib, at(op, ranks, 512 * mib, gb_per_s));
}
}  // namespace detail

/// H100, which has NCCL rows on 2, 4 and 8 ranks but none of the engines' kernels.
inline constexpr auto public_h100 = [] {
  using namespace detail;
  using namespace posted;
  constexpr const char* h100 = "h100_sxm";
  return std::array{sum(vllm_h100, h100, 6, 0.5 * mib, 23.0),
                    sum(vllm_h100, h100, 6, 1 * mib, 25.0),
                    sum(vllm_h100, h100, 6, 1.5 * mib, 32.0),
                    sum(vllm_h100, h100, 6, 2 * mib, 43.0),
                    sum(vllm_h100, h100, 6, 3 * mib, 47.0),
                    sum(vllm_h100, h100, 6, 4 * mib, 53.0),
                    sum(triton_h100, h100, 8, 128, 19.19),
                    sum(triton_h100, h100, 8, 16 * kib, 20.71),
                    sum(triton_h100, h100, 8, 64 * kib, 23.05),
                    sum(triton_h100, h100, 8, 256 * kib, 24.76),
                    sum(triton_h100, h100, 8, 1 * mib, 32.42),
                    sum(triton_h100, h100, 8, 4 * mib, 59.43),
                    sum(triton_h100, h100, 8, 16 * mib, 135.68),
                    nccl(nccl_2169, h100, collective_op::all_to_all, 4, 500 * mib, 1174.14)};
}();
inline constexpr auto public_h100_kernels = [] {
  using namespace detail;
  using namespace posted;
  constexpr const char* h100 = "h100_sxm";
  return std::array{
      one_shot(vllm_h100, h100, 6, 0.5 * mib, 13.0), one_shot(vllm_h100, h100, 6, 1 * mib, 21.0),
      one_shot(vllm_h100, h100, 6, 1.5 * mib, 30.0), one_shot(vllm_h100, h100, 6, 2 * mib, 38.0),
      one_shot(vllm_h100, h100, 6, 3 * mib, 53.0),   one_shot(vllm_h100, h100, 6, 4 * mib, 70.0),
      two_shot(vllm_h100, h100, 6, 0.5 * mib, 15.0), two_shot(vllm_h100, h100, 6, 1 * mib, 17.0),
      two_shot(vllm_h100, h100, 6, 1.5 * mib, 20.0), two_shot(vllm_h100, h100, 6, 2 * mib, 26.0),
      two_shot(vllm_h100, h100, 6, 3 * mib, 29.0),   two_shot(vllm_h100, h100, 6, 4 * mib, 37.0)};
}();

/// NVLink 5. The engine's own kernels are captured.
inline constexpr auto public_nvlink5 = [] {
  using namespace detail;
  using namespace posted;
  constexpr const char* b200 = "b200_sxm";
  constexpr const char* b300 = "b300_sxm";
  return std::array{
      sum(gke_a4, b200, 8, 8 * mib, 80.32),
      sum(gke_a4, b200, 8, 16 * mib, 110.5),
      sum(gke_a4, b200, 8, 32 * mib, 172.6),
      sum(gke_a4, b200, 8, 64 * mib, 280.0),
      sum(gke_a4, b200, 8, 128 * mib, 396.9),
      sum(gke_a4, b200, 8, 256 * mib, 714.7),
      sum(gke_a4, b200, 8, 512 * mib, 1335.6),
      gather(dranet, b200, 2, 64 * mib, 100.1),
      gather(dranet, b200, 2, 128 * mib, 179.7),
      gather(dranet, b200, 2, 256 * mib, 334.1),
      gather(dranet, b200, 2, 512 * mib, 626.8),
      sum(vllm_b200, b200, 2, 0.5 * mib, 13.0),
      sum(vllm_b200, b200, 2, 1 * mib, 17.0),
      sum(vllm_b200, b200, 2, 1.5 * mib, 19.0),
      sum(vllm_b300, b300, 6, 32 * kib, 24.0),
      sum(vllm_b300, b300, 6, 64 * kib, 25.0),
      sum(vllm_b300, b300, 6, 128 * kib, 26.0),
      sum(vllm_b300, b300, 6, 256 * kib, 27.0),
      sum(vllm_b300, b300, 6, 512 * kib, 27.0),
      sum(vllm_b300, b300, 6, 1 * mib, 27.0),
      sum(vllm_b300, b300, 6, 2 * mib, 32.0),
      sum(vllm_b300, b300, 6, 4 * mib, 46.0),
      sum(vllm_b300, b300, 6, 8 * mib, 80.0),
      sum(vllm_b300, b300, 6, 16 * mib, 83.0),
      sum(vllm_b300, b300, 6, 32 * mib, 141.0),
      sum(vllm_b300, b300, 6, 64 * mib, 219.0),
      sum(vllm_b300, b300, 6, 128 * mib, 393.0),
      sum(oci_gb300, "gb300", 4, 8 * gib, 18920.0),
      sum(oci_gb300, "gb300", 8, 8 * gib, 17930.0),
      nccl(oci_gb300, "gb300", collective_op::all_to_all, 4, 8 * gib, 10308.0),
      nccl(oci_gb300, "gb300", collective_op::all_to_all, 8, 8 * gib, 11059.0),
  };
}();
inline constexpr auto public_nvlink5_kernels = [] {
  using namespace detail;
  using namespace posted;
  constexpr const char* b300 = "b300_sxm";
  return std::array{one_shot(vllm_b300, b300, 6, 16 * kib, 7.0),
                    one_shot(vllm_b300, b300, 6, 32 * kib, 8.0),
                    one_shot(vllm_b300, b300, 6, 64 * kib, 8.0),
                    one_shot(vllm_b300, b300, 6, 128 * kib, 8.0),
                    one_shot(vllm_b300, b300, 6, 256 * kib, 9.0),
                    one_shot(vllm_b300, b300, 6, 512 * kib, 11.0),
                    one_shot(vllm_b300, b300, 6, 1 * mib, 17.0),
                    one_shot(vllm_b300, b300, 6, 2 * mib, 26.0),
                    one_shot(vllm_b300, b300, 6, 4 * mib, 45.0),
                    one_shot(vllm_b300, b300, 6, 8 * mib, 80.0),
                    one_shot(vllm_b300, b300, 6, 16 * mib, 150.0),
                    one_shot(vllm_b300, b300, 6, 32 * mib, 291.0),
                    one_shot(vllm_b300, b300, 6, 64 * mib, 575.0),
                    one_shot(vllm_b300, b300, 6, 128 * mib, 1142.0),
                    two_shot(vllm_b300, b300, 6, 16 * kib, 19.0),
                    two_shot(vllm_b300, b300, 6, 32 * kib, 20.0),
                    two_shot(vllm_b300, b300, 6, 64 * kib, 21.0),
                    two_shot(vllm_b300, b300, 6, 128 * kib, 22.0),
                    two_shot(vllm_b300, b300, 6, 256 * kib, 22.0),
                    two_shot(vllm_b300, b300, 6, 512 * kib, 23.0),
                    two_shot(vllm_b300, b300, 6, 1 * mib, 23.0),
                    two_shot(vllm_b300, b300, 6, 2 * mib, 36.0),
                    two_shot(vllm_b300, b300, 6, 4 * mib, 49.0),
                    two_shot(vllm_b300, b300, 6, 8 * mib, 74.0),
                    two_shot(vllm_b300, b300, 6, 16 * mib, 136.0),
                    two_shot(vllm_b300, b300, 6, 32 * mib, 250.0),
                    two_shot(vllm_b300, b300, 6, 64 * mib, 488.0),
                    two_shot(vllm_b300, b300, 6, 128 * mib, 975.0)};
}();

/// PCIe. RTX PRO 6000 stands for generation 5, L40S for generation 4.
inline constexpr auto public_pcie = [] {
  using namespace detail;
  using namespace posted;
  constexpr const char* gen5 = "rtx_pro_6000";
  constexpr const char* gen4 = "l40s";
  return std::array{
      sum(gardenlinux, gen5, 2, 8, 8.72),
      sum(gardenlinux, gen5, 2, 512, 9.08),
      sum(gardenlinux, gen5, 2, 1 * kib, 9.09),
      sum(gardenlinux, gen5, 4, 2 * kib, 14.69),
      sum(gardenlinux, gen5, 4, 8 * kib, 15.17),
      sum(gardenlinux, gen5, 4, 32 * kib, 16.65),
      sum(gardenlinux, gen5, 4, 64 * kib, 18.45),
      sum(gardenlinux, gen5, 4, 128 * kib, 27.31),
      sum(gardenlinux, gen5, 4, 256 * kib, 45.85),
      sum(gardenlinux, gen5, 4, 512 * kib, 84.93),
      sum(gardenlinux, gen5, 4, 1 * mib, 102.1),
      sum(gardenlinux, gen5, 4, 2 * mib, 192.3),
      gather(flashinfer, gen5, 2, 8 * kib, 8.31),
      gather(flashinfer, gen5, 2, 32 * kib, 10.68),
      gather(flashinfer, gen5, 2, 128 * kib, 16.67),
      gather(flashinfer, gen5, 2, 512 * kib, 31.62),
      gather(flashinfer, gen5, 2, 2 * mib, 76.03),
      gather(flashinfer, gen5, 2, 8 * mib, 254.34),
      gather(flashinfer, gen5, 2, 32 * mib, 968.34),
      gather(flashinfer, gen5, 2, 256 * mib, 7601.61),
      gather(flashinfer, gen5, 4, 8 * kib, 13.61),
      gather(flashinfer, gen5, 4, 16 * kib, 14.67),
      gather(flashinfer, gen5, 4, 32 * kib, 18.56),
      bulk(omni, gen5, collective_op::all_gather, 2, 18.9),
      bulk(omni, gen5, collective_op::all_to_all, 2, 20.3),
      bulk(omni, gen5, collective_op::all_gather, 4, 19.1),
      bulk(omni, gen5, collective_op::all_to_all, 4, 17.1),
      sum(rtx6kpro_4, gen5, 4, 1 * kib, 13.5),
      sum(rtx6kpro_4, gen5, 4, 4 * kib, 13.2),
      sum(rtx6kpro_4, gen5, 4, 16 * kib, 14.7),
      sum(rtx6kpro_4, gen5, 4, 64 * kib, 71.2),
      sum(rtx6kpro_4, gen5, 4, 256 * kib, 40.9),
      sum(rtx6kpro_4, gen5, 4, 1 * mib, 85.2),
      sum(rtx6kpro_8, gen5, 8, 256, 24.6),
      sum(rtx6kpro_8, gen5, 8, 8 * kib, 24.2),
      sum(rtx6kpro_8, gen5, 8, 64 * kib, 24.1),
      sum(rtx6kpro_8, gen5, 8, 256 * kib, 28.0),
      bulk(rtx6kpro_8, gen5, collective_op::all_reduce, 8, 22.2),
      sum(sglang, gen5, 8, 4 * kib, 45.0),
      sum(nccl_1530, gen4, 8, 8, 42.14),
      sum(a800, gen4, 8, 8 * kib, 56.9),
      sum(a800, gen4, 8, 16 * kib, 63.8),
      sum(a800, gen4, 8, 64 * kib, 49.8),
      sum(a800, gen4, 8, 128 * kib, 132.2),
      sum(a800, gen4, 8, 512 * kib, 160.4),
      bulk(simumax, gen4, collective_op::all_reduce, 2, 0.6965 * 30.0),
      bulk(simumax, gen4, collective_op::all_reduce, 4, 0.6924 * 30.0),
      bulk(simumax, gen4, collective_op::all_reduce, 8, 0.4176 * 30.0),
      bulk(simumax, gen4, collective_op::all_gather, 2, 0.6866 * 30.0),
      bulk(simumax, gen4, collective_op::all_gather, 4, 0.6915 * 30.0),
      bulk(simumax, gen4, collective_op::all_gather, 8, 0.4497 * 30.0),
      bulk(simumax, gen4, collective_op::reduce_scatter, 2, 0.6419 * 30.0),
      bulk(simumax, gen4, collective_op::reduce_scatter, 4, 0.6845 * 30.0),
      bulk(simumax, gen4, collective_op::reduce_scatter, 8, 0.3688 * 30.0),
      bulk(simumax, gen4, collective_op::all_to_all, 2, 0.6969 * 30.0),
      bulk(simumax, gen4, collective_op::all_to_all, 4, 0.6380 * 30.0),
      bulk(simumax, gen4, collective_op::all_to_all, 8, 0.2754 * 30.0),
  };
}();
inline constexpr auto public_pcie_kernels = [] {
  using namespace detail;
  using namespace posted;
  constexpr const char* gen5 = "rtx_pro_6000";
  return std::array{one_shot(rtx6kpro_4, gen5, 4, 1 * kib, 6.1),
                    one_shot(rtx6kpro_4, gen5, 4, 8 * kib, 6.4),
                    one_shot(rtx6kpro_4, gen5, 4, 32 * kib, 9.2),
                    one_shot(rtx6kpro_4, gen5, 4, 128 * kib, 17.6),
                    one_shot(rtx6kpro_4, gen5, 4, 512 * kib, 51.0),
                    one_shot(rtx6kpro_4, gen5, 4, 1 * mib, 95.6),
                    one_shot(rtx6kpro_8, gen5, 8, 1 * kib, 7.5),
                    one_shot(rtx6kpro_8, gen5, 8, 8 * kib, 9.2),
                    one_shot(rtx6kpro_8, gen5, 8, 64 * kib, 25.9),
                    one_shot(rtx6kpro_8, gen5, 8, 256 * kib, 73.6)};
}();

}  // namespace published
