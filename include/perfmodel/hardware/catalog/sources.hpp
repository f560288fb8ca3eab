// Where the catalogue's values were read, one object per document and basis.
// Few makers' manuals are online as text: "table" and "page" mean a published copy of their
// figures.
#pragma once

#include <perfmodel/hardware/fact.hpp>

// clang-format off
namespace perfmodel::catalog::sources {

// Arithmetic on other entries of the same accelerator.
inline constexpr source flop_per_clock{basis::derived, "printed peak / (SMs x tensor clock), to the next power of two"};
inline constexpr source lanes{basis::derived, "FP32 lanes per SM x 2 FLOP of a fused multiply-add"};
inline constexpr source tensor_clock{basis::derived, "printed matrix peak / (SMs x FLOP per clock and SM)"};
inline constexpr source vector_clock{basis::derived, "printed FP32 peak / (SMs x FLOP per clock and SM)"};
inline constexpr source shared_banks{basis::derived, "SMs x 32 banks x 4 B per clock x SM clock"};
inline constexpr source operands{basis::derived, "SMs x FP32 lanes x 3 operands x 4 B x SM clock: reads of a fused multiply-add"};
inline constexpr source twice_fp32{basis::derived, "twice the FP32 rate: packed pairs of 16-bit operands"};
inline constexpr source same_as_fp32{basis::derived, "equal to the FP32 rate: 16-bit operands are not packed faster"};
inline constexpr source fp32_over_64{basis::derived, "FP32 rate / 64: two FP64 lanes per 128 FP32 lanes"};
inline constexpr source half_of_fp32{basis::derived, "half of the FP32 rate"};
inline constexpr source half_of_bf16{basis::derived, "half of the BF16 rate"};
inline constexpr source pcie{basis::derived, "PCIe x16: 16 lanes x transfer rate x 128/130 / 8"};
inline constexpr source sms_times_clock{basis::derived, "SMs x FLOP per clock and SM x clock"};
inline constexpr source not_read{basis::assumed, "commonly given; no document was read for it"};
inline constexpr source no_fabric{basis::derived, "PCIe x16; the board has no other link to its peers"};

// Documents on several accelerators.
inline constexpr source scaling_book{basis::vendor, "JAX scaling book, chapter on GPUs, https://github.com/jax-ml/scaling-book"};
inline constexpr source scaling_book_other_parts{basis::assumed, "JAX scaling book (256 KiB per SM, V100 to B200), https://github.com/jax-ml/scaling-book; taken over for this part, which it does not name"};
inline constexpr source nvlink_page{basis::derived, "links x one-way rate: 25 GB/s each up to NVLink 4, 50 GB/s for NVLink 5, https://catalogone.com/data-center-and-cloud-computing-nvlink-nvswitch"};
inline constexpr source c2c{basis::derived, "NVLink-C2C: half of 900 GB/s, which adds both directions; one Grace serves two GPUs"};
inline constexpr source c2c_whole{basis::derived, "NVLink-C2C: half of 900 GB/s, which adds both directions; one Grace serves one GPU"};
inline constexpr source driver_memory{basis::measured, "totals shown by nvidia-smi, https://github.com/modal-labs/modal-client/pull/2797"};
inline constexpr source system_specs{basis::vendor, "system specs of aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator"};
inline constexpr source system_specs_memory{basis::measured, "driver's total in the system specs of aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator"};
inline constexpr source all_gather_slope{basis::derived, "(latency on 8 GPUs - on 2) / 6 steps of NCCL's 512 B all_gather, protocol included; aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator"};
inline constexpr source gpu_benches{basis::measured, "gpu-benches 1c36d509, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source hbm2_energy{basis::assumed, "3.92 pJ/bit: the HBM2 model of O'Connor et al., Fine-Grained DRAM, MICRO-50, 2017, as quoted by others"};
inline constexpr source hbm2e_energy{basis::assumed, "about 4.3 pJ/bit for HBM2E: SK hynix, IEDM 2023, 15-6, third-hand"};
inline constexpr source hbm3e_energy{basis::assumed, "20 % under HBM2E's 4.3 pJ/bit: SK hynix, IEDM 2023, 15-6, third-hand"};
inline constexpr source techbytes_prices{basis::vendor, "providers' list prices of 2026-05-07, https://techbytes.app/posts/serverless-gpu-pricing-matrix-modal-replicate-lambda-2026/"};
inline constexpr source spheron_prices{basis::vendor, "Spheron price list of 2026-03-17, https://www.spheron.network/blog/nvidia-h200-vs-b200-vs-gb200"};
inline constexpr source runpod_prices{basis::assumed, "RunPod prices of March 2026, columns ambiguous, https://deploybase.ai/articles/runpod-gpu-pricing"};

// NVIDIA Volta.
inline constexpr source v100_catalog{basis::vendor, "GPU catalogue with NVIDIA's V100 figures, https://huggingface.co/RajBhope/gpu-runtime-predictor/blob/main/gpu_catalog.json"};
inline constexpr source v100_whitepaper{basis::vendor, "notes on NVIDIA's V100 whitepaper, https://gist.github.com/wolfram77/a42aeb021a2fec7b7e85ceb71b398772"};
inline constexpr source v100_links{basis::derived, "6 links x 25 GB/s one way, https://gist.github.com/wolfram77/a42aeb021a2fec7b7e85ceb71b398772"};
inline constexpr source v100_driver{basis::measured, "NVML dump of a Tesla V100-SXM2-32GB, https://pastebin.com/AaFUPNi5"};
inline constexpr source v100_power{basis::vendor, "power limit in the NVML dump of a Tesla V100-SXM2-32GB, https://pastebin.com/AaFUPNi5"};
inline constexpr source v100_price{basis::assumed, "median of a cohort of old GPUs, 2026-05-20, not a price of V100, https://aimultiple.com/gpu-index"};

// NVIDIA Ampere.
inline constexpr source a100_table{basis::vendor, "table of NVIDIA's A100 datasheet, https://glennklockwood.com/garden/processors/A100"};
inline constexpr source a100_guide{basis::vendor, "A100 specifications, https://www.thundercompute.com/blog/nvidia-a100-specs-full-guide"};
inline constexpr source a100_device_query{basis::measured, "deviceQuery on the 40 GB card, same die, https://upb-pc2.atlassian.net/wiki/spaces/PC2DOK/pages/1900609"};

// NVIDIA Ada.
inline constexpr source l40s_table{basis::vendor, "copy of NVIDIA's L40 and L40S datasheet, https://www.mullet.se/product.html?product_id=355414"};
inline constexpr source l40s_board{basis::vendor, "L40S specifications, https://www.itcreations.com/nvidia-gpu/nvidia-l40s-gpu-accelerator"};
inline constexpr source l40s_int8{basis::vendor, "L40S table, https://store.sourcecode.com/en-us/bg-bucket-compare/125/9820; density unnamed, equal to dense FP8"};
inline constexpr source l40s_l2{basis::measured, "median from 2 to 92 MB on L40, same AD102 die, at 2.49 GHz: gpu-l2-cache/l40.txt of gpu-benches 3088b333, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source l40s_chase{basis::measured, "pointer chase on L40, same AD102 die, at 2.49 GHz; gpu-benches 1c36d509, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source ada_summary{basis::vendor, "summary of NVIDIA's Ada whitepaper, https://www.mobylak.com/nvidia-reveals-ada-lovelace-gpu-secrets-extreme-transistor-counts-at-high-clocks/"};
inline constexpr source l4_sheet{basis::vendor, "copy of NVIDIA's L4 datasheet, https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40"};
inline constexpr source l4_cores{basis::derived, "7424 CUDA cores / 128, https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40"};
inline constexpr source l4_dense{basis::derived, "half of the printed 2:4 sparse figure, https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40"};
inline constexpr source l4_tf32{basis::derived, "half of the printed 2:4 sparse figure, https://store.sourcecode.com/en-us/bg-bucket-compare/125/9820"};
inline constexpr source l4_cycles{basis::derived, "cycles measured on L40 by gpu-benches / 2.04 GHz: same generation, not this card"};
inline constexpr source rtx_4090_table{basis::vendor, "RTX 4090 table, https://waredb.com/processor/nvidia-geforce-rtx-4090"};
inline constexpr source rtx_4090_driver{basis::measured, "nvidia-smi output, https://github.com/RLinf/RLinf/issues/255"};
inline constexpr source rtx_4090_price{basis::vendor, "RunPod on demand, March 2026, https://deploybase.ai/articles/rtx-4090-cloud"};

// NVIDIA Hopper.
inline constexpr source h100_whitepaper{basis::vendor, "table of NVIDIA's H100 whitepaper, https://glennklockwood.com/garden/processors/h100"};
inline constexpr source h100_same_die{basis::vendor, "H100 SXM, same GH100 die and clocks: table of NVIDIA's H100 whitepaper, https://glennklockwood.com/garden/processors/h100"};
inline constexpr source h100_table{basis::vendor, "H100 specification table, https://archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html"};
inline constexpr source h100_pcie_tf32{basis::derived, "half of the printed 2:4 sparse figure, https://archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html"};
inline constexpr source h100_pcie_chips{basis::measured, "clocks reported by the driver, https://chipsandcheese.com/2023/07/02/nvidias-h100-funny-l2-and-tons-of-bandwidth/"};
inline constexpr source h100_pcie_pins{basis::derived, "5120 bit / 8 x 2 x 1593 MHz reported by the driver, https://chipsandcheese.com/2023/07/02/nvidias-h100-funny-l2-and-tons-of-bandwidth/"};
inline constexpr source h100_pcie_memory{basis::assumed, "nvidia-smi total of an H100 80 GB whose form factor is unnamed, https://github.com/modal-labs/modal-client/pull/2797"};
inline constexpr source h100_pcie_chase{basis::assumed, "measured on the H100 PCIe card and taken over; gpu-benches 1c36d509, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source h200_page{basis::vendor, "NVIDIA H200 page, https://yobitel.com/knowledge-base/nvidia-h200"};
inline constexpr source h200_datasheet{basis::vendor, "figures of NVIDIA's H200 datasheet, https://aiwiki.ai/wiki/nvidia_h200"};
inline constexpr source h200_properties{basis::measured, "L2_cache_size=60MB in the properties of an H200 that PyTorch printed, deploy/modal/src/llm/vllm/vlm/skywork_r1v.py of 859e2161, https://github.com/ai-bot-pro/achatbot"};
inline constexpr source h200_power{basis::vendor, "H200 specifications, https://www.aiminingco.com/gpu/h200/specs"};
inline constexpr source h200_driver{basis::measured, "143771 MiB in nvidia-smi output of H200 nodes posted in several public repositories"};
inline constexpr source h20_note{basis::vendor, "note with NVIDIA's H20 figures, https://zangshuxian.com/new/674733024499207168"};
inline constexpr source h20_listing{basis::measured, "device listing, https://zangshuxian.com/new/674733024499207168"};
inline constexpr source h20_fp8{basis::derived, "twice the BF16 rate, as for INT8, https://zangshuxian.com/new/674733024499207168"};
inline constexpr source h20_page{basis::vendor, "H20 page, https://willitrunai.com/es/gpus/h20-96gb"};
inline constexpr source h20_memory{basis::measured, "97871 MiB in nvidia-smi output of an H20, test instructions of the ACE compiler (docker image opencc/ace:20250524)"};
inline constexpr source gh200_page{basis::vendor, "Wikipedia's table of Grace Hopper: 132 SMs, 1980 MHz, https://wikimili.com/en/Hopper_%28microarchitecture%29"};
inline constexpr source gh200_announcement{basis::vendor, "NVIDIA's announcement of 2023-08-08: 96 GB HBM3 at 4 TB/s, https://nishikiout.net/entry/2023/08/09/143040"};
inline constexpr source gh200_driver{basis::measured, "97871 MiB, 900 W in nvidia-smi output of GH200 480GB nodes posted in several public repositories"};
inline constexpr source gh200_l2{basis::measured, "median from 14 to 40 MB, gpu-l2-cache/h200.txt of gpu-benches 3088b333, which is a GH200 by its memory, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source gh200_l2_taken{basis::assumed, "measured on a GH200, the same SMs at the same clock, and taken over: gpu-l2-cache/h200.txt of gpu-benches 3088b333, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source gh200_l2_size{basis::assumed, "as H200, which has all six memory stacks too; the knee of its read bandwidth lies at 46 MB, that of the 50 MB card at 40"};
inline constexpr source h20_rate{basis::derived, "148 TFLOP/s / (78 SMs x 1.85 GHz): a quarter of 4096, which export rules leave"};

// NVIDIA Blackwell.
inline constexpr source b200_chips{basis::vendor, "Chips and Cheese on B200, https://chipsandcheese.com/p/nvidias-b200-keeping-the-cuda-juggernaut"};
inline constexpr source b200_driver{basis::measured, "driver query of a B200, https://github.com/pytorch/ao/pull/4002"};
inline constexpr source b200_memory{basis::measured, "183359 MiB in nvidia-smi output, https://github.com/NVIDIA/TensorRT-LLM/issues/10278"};
inline constexpr source b200_brief{basis::vendor, "table of NVIDIA's Blackwell brief, https://glennklockwood.com/garden/processors/B200"};
inline constexpr source hgx_table{basis::vendor, "HGX table of 8 GPUs, divided by 8, https://fibermall.com/blog/?p=17161"};
inline constexpr source hgx_eighth{basis::derived, "HGX table of 8 GPUs, divided by 8, https://fibermall.com/blog/?p=17161"};
inline constexpr source hgx_sparse{basis::derived, "HGX table of 8 GPUs, 2:4 sparse figure divided by 16, https://fibermall.com/blog/?p=17161"};
inline constexpr source b200_compare{basis::vendor, "B200 and GB200 table, https://hmc-tech.com/gpu/nvidia-b200-vs-nvidia-gb200"};
inline constexpr source gb200_half{basis::derived, "superchip of two GPUs, halved, https://hmc-tech.com/gpu/nvidia-b200-vs-nvidia-gb200"};
inline constexpr source b200_latency{basis::measured, "summary of Chips and Cheese's B200 measurements, https://www.besthub.dev/articles/why-nvidia-s-blackwell-b200-could-redefine-ai-gpu-performance-858729336a71"};
inline constexpr source b200_latency_taken{basis::assumed, "B200's figure taken over, https://www.besthub.dev/articles/why-nvidia-s-blackwell-b200-could-redefine-ai-gpu-performance-858729336a71"};
inline constexpr source tuning_guide{basis::vendor, "CUDA tuning guide for Blackwell, quoted in https://github.com/NVIDIA/cudnn-frontend/pull/1164"};
inline constexpr source b200_pcie{basis::assumed, "PCIe 5 x16 of HGX B200; no document was read for it, and generation 6 is also given"};
inline constexpr source b200_l2_taken{basis::assumed, "B200's L2 taken over, https://github.com/pytorch/ao/pull/4002"};
inline constexpr source b300_table{basis::vendor, "table of NVIDIA's B300 figures, https://glennklockwood.com/garden/processors/B300"};
inline constexpr source b300_fp64_taken{basis::assumed, "B300's figure taken over, https://glennklockwood.com/garden/processors/B300"};
inline constexpr source b300_notes{basis::measured, "one author's notes 'B300 Cache Hierarchy - Clean Reference' (driver 580.126.09), a public GitHub file"};
inline constexpr source b300_notes_taken{basis::assumed, "B300's figure taken over: one author's notes 'B300 Cache Hierarchy - Clean Reference', a public GitHub file"};
inline constexpr source b300_price{basis::assumed, "middle of a range of 5.00 to 7.25 USD/h in 2026, https://www.ornnai.com/research/nvidia-b200-vs-b300-why-use-one-instead-of-the-other"};
inline constexpr source gb_sms{basis::assumed, "152 SMs in occupancy outputs posted for GB200 and GB300; no maker's document read"};
inline constexpr source gb_pcie{basis::assumed, "value in the system specs of aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator; which generation and lanes is not said"};
inline constexpr source gb200_vector_clock_taken{basis::assumed, "GB200's clock taken over; none read for GB300"};
inline constexpr source gb200_fp32_taken{basis::assumed, "GB200's figure taken over: same SM count and power bin"};
inline constexpr source gb200_price{basis::derived, "superchip of two GPUs at 9.08 USD/h, halved: Spheron, 2026-03-17, https://www.spheron.network/blog/nvidia-h200-vs-b200-vs-gb200"};
inline constexpr source blackwell_ultra{basis::vendor, "NVIDIA, Inside NVIDIA Blackwell Ultra, mirrored at http://123.123.enodoworks.com/?p=1424123"};

// NVIDIA RTX, Blackwell generation.
inline constexpr source rtx_5080_table{basis::vendor, "RTX 5080 table, https://hmc-tech.com/gpu/nvidia-geforce-rtx-5080-vs-amd-radeon-rx-540"};
inline constexpr source rtx_5080_whitepaper{basis::vendor, "figures of NVIDIA's RTX Blackwell whitepaper, https://www.brojogopalsapui.com/dark/ai-foundations/sub_contents/AI_hardware/rtx5080_deep_dive_opus_dark.html"};
inline constexpr source rtx_5080_memory{basis::assumed, "16303 MiB is what nvidia-smi commonly shows; no named output was read"};
inline constexpr source rtx_ladder{basis::derived, "SMs x FLOP per clock x clock; FP32 accumulation at half rate on GeForce, FP8 twice, INT8 four times, FP4 eight times BF16"};
inline constexpr source rtx_5090_table{basis::vendor, "RTX 5090 specifications, Linux Format, May 2025, https://pocketmags.com/linux-format-magazine/may-2025/articles/nvidia-geforce-rtx-5090"};
inline constexpr source rtx_5090_driver{basis::measured, "32607 MiB in nvidia-smi output, https://github.com/noonghunna/club-3090/issues/1229"};
inline constexpr source rtx_pro_news{basis::vendor, "news with NVIDIA's figures, https://gpu.name/posts/nvidia-unveils-rtx-pro-6000-blackwell-gpu-with-24-064-cores-and-96gb-memory"};
inline constexpr source rtx_pro_server_clock{basis::derived, "467.8 TFLOP/s of the system specs of aiconfigurator 095f58a5 / (188 SMs x 1024), rounded to 10 MHz"};
inline constexpr source rtx_pro_pins{basis::derived, "512 bit / 8 x 28 GT/s: as GeForce RTX 5090"};

// AMD.
inline constexpr source mi210_page{basis::vendor, "AMD's MI210 figures, https://www.anandtech.com/show/17326/"};
inline constexpr source mi210_bf16{basis::vendor, "half of MI250, whose FP16 and BF16 rates are one column, https://zexron.com/amd-mi250-x-aldebaran-as-mcm-with-up-to-479-teraflop-s-and-560-watt-tdp"};
inline constexpr source amd_gib{basis::derived, "AMD's capacities are GiB: AMD GPU specifications, https://rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html"};
inline constexpr source mi210_bridge{basis::assumed, "3 links (read) x 50 GB/s one way (not read), https://www.anandtech.com/show/17326/"};
inline constexpr source rocm_table{basis::vendor, "AMD GPU specifications, https://rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html"};
inline constexpr source rocm_table_taken{basis::assumed, "row of a later part in AMD GPU specifications, https://rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html"};
inline constexpr source mi300x_peaks{basis::vendor, "AMD's figures in the accelerator chapter of ml-engineering, https://github.com/stas00/ml-engineering"};
inline constexpr source mi300x_page{basis::vendor, "MI300X, https://www.emergentmind.com/topics/amd-instinct-mi300x-gpus"};
inline constexpr source mi300x_wiki{basis::vendor, "MI300X, https://aiwiki.ai/wiki/amd_instinct_mi300x"};
inline constexpr source mi300x_links{basis::derived, "7 links x half of 128 GB/s, one to each peer, https://www.wheelersnetwork.com/2024/01/"};
inline constexpr source mi300x_lds{basis::derived, "compute units x 128 B per clock x clock"};
inline constexpr source mi300x_price{basis::vendor, "Vultr on demand, undated, https://gpu.blog/gpus/instinct-mi300x-mi300x"};

// Google.
inline constexpr source tpu_v5e_docs{basis::vendor, "Google Cloud TPU v5e, https://docs.cloud.google.com/tpu/docs/v5e"};
inline constexpr source tpu_v5p_docs{basis::vendor, "Google Cloud TPU v5p, https://docs.cloud.google.com/tpu/docs/v5p-training"};
inline constexpr source tpu_book{basis::vendor, "JAX scaling book, chapter on TPUs, https://github.com/jax-ml/scaling-book"};
inline constexpr source tpu_vmem{basis::derived, "22 x HBM bandwidth: JAX scaling book, chapter on TPUs, https://github.com/jax-ml/scaling-book"};
inline constexpr source tpu_hop{basis::assumed, "supposed in an exercise of the JAX scaling book, https://github.com/jax-ml/scaling-book"};
inline constexpr source tpu_mxu{basis::derived, "4 MXUs per core x 128 x 128 x 2 FLOP"};
inline constexpr source tpu_v5e_links{basis::derived, "4 links x 50 GB/s one way: JAX scaling book, https://github.com/jax-ml/scaling-book"};
inline constexpr source tpu_v5p_links{basis::derived, "half of 1200 GB/s, which adds both directions, https://docs.cloud.google.com/tpu/docs/v5p-training"};
inline constexpr source tpu_v5e_vector_clock{basis::assumed, "the MXU clock of the JAX scaling book taken over, https://github.com/jax-ml/scaling-book"};

// Apple.
inline constexpr source apple_table{basis::vendor, "Ars Technica's table of M2 and M3 Ultra, https://inforeader.com/i/?a=reader&rid=67c916097fa95"};
inline constexpr source apple_clock{basis::vendor, "7680 lanes at 1398 MHz for the 60-core M3 Ultra, https://hmc-tech.com/gpu/apple-60-core-m3-ultra-vs-nvidia-geforce-rtx-3060"};
inline constexpr source apple_clock_taken{basis::assumed, "M3 Ultra's clock taken over, https://hmc-tech.com/gpu/apple-60-core-m3-ultra-vs-nvidia-geforce-rtx-3060"};
inline constexpr source apple_lanes{basis::derived, "GPU cores x 128 lanes x 2 FLOP x clock"};
inline constexpr source apple_no_matrix_unit{basis::derived, "the vector rate: matrix code runs on the vector lanes, there is no matrix unit"};
inline constexpr source apple_gib{basis::derived, "largest configuration, in GiB, https://inforeader.com/i/?a=reader&rid=67c916097fa95"};
inline constexpr source apple_power{basis::assumed, "about the Mac Studio's maximum, not the chip's; no document was read for it"};

// NVIDIA Jetson.
inline constexpr source orin_brief{basis::vendor, "digest of NVIDIA's Jetson AGX Orin technical brief, http://mzph.cn/web/30785.shtml"};
inline constexpr source orin_nano_page{basis::vendor, "figures of NVIDIA's Jetson Orin Nano datasheet, https://www.brojogopalsapui.com/dark/ai-foundations/sub_contents/AI_hardware/jetson_orin_nano_dark.html"};
inline constexpr source orin_tensor{basis::derived, "SMs x 4 tensor cores x 256 FMA x 2 FLOP x clock, dense, GPU only"};
inline constexpr source orin_tensor_int8{basis::derived, "SMs x 4096 operations x clock, dense, GPU only"};
inline constexpr source orin_lanes{basis::derived, "SMs x 128 lanes x 2 FLOP x clock"};
inline constexpr source jetson_memory{basis::derived, "nominal GiB; CPU and GPU share it and the system keeps a part"};
inline constexpr source jetson_pins{basis::derived, "bus width / 8 x transfer rate of the module's LPDDR5: 128 or 256 bit, 4266 or 6400 MT/s"};
inline constexpr source jetson_modules{basis::assumed, "as commonly tabulated for the module; NVIDIA's datasheet was not readable"};
inline constexpr source orin_nx_clock{basis::assumed, "918 MHz; no readable datasheet was found"};
inline constexpr source thor_forum{basis::measured, "driver query, https://forums.developer.nvidia.com/t/356355"};
inline constexpr source thor_name{basis::vendor, "NVIDIA developer forum, https://forums.developer.nvidia.com/t/356355"};
inline constexpr source thor_fp4{basis::derived, "half of the printed 2070 sparse TFLOPS, https://learnaivisually.com/ai-explained/jetson-thor-edge-blackwell"};
inline constexpr source thor_ladder{basis::assumed, "FP4 dense / 2 and / 4: the ladder of other Blackwell parts, not read for this one"};
inline constexpr source thor_power{basis::vendor, "40 to 130 W, https://learnaivisually.com/ai-explained/jetson-thor-edge-blackwell"};
inline constexpr source thor_pins{basis::derived, "256 bit / 8 x 8533 MT/s of LPDDR5X, https://technical.city/en/video/Iris-Xe-MAX-Graphics-vs-Jetson-T5000"};

// Groq and Cerebras.
inline constexpr source groq_page{basis::vendor, "TechPowerUp on the Groq LPU, https://techpowerup.com/news-tags/Processor?page=3"};
inline constexpr source groq_clock{basis::derived, "750 TOPS / (4 planes x 320 x 320 multipliers x 2)"};
inline constexpr source groq_vector{basis::assumed, "5120 vector ALUs x one operation per clock; which operations is not stated"};
inline constexpr source groq_links{basis::derived, "half of 480 GB/s, which adds both directions of 16 links, https://www.linleygroup.com/newsletters/newsletter_detail.php?num=6233"};
inline constexpr source groq_card{basis::vendor, "launch of the Groq card, https://www.danielparente.net/en/2020/01/25/groq-launches-the-first-ai-accelerator-card-capable-of-1-petaops/"};
inline constexpr source wse3_toms{basis::vendor, "Tom's Hardware on WSE-3, https://www.tomshardware.com/tech-industry/artificial-intelligence/cerebras-launches-900000-core-125-petaflops-wafer-scale-processor-for-ai-theoretically-equivalent-to-about-62-nvidia-h100-gpus"};
inline constexpr source wse3_tweaktown{basis::vendor, "TweakTown on WSE-3, https://www.tweaktown.com/news/96843/"};
inline constexpr source wse3_fabric{basis::derived, "214 Pbit/s / 8, https://www.tweaktown.com/news/96843/"};
inline constexpr source wse3_power{basis::vendor, "whole CS-3 system, https://awesomeagents.ai/hardware/cerebras-wse-3"};
inline constexpr source wse3_io{basis::assumed, "1.2 Tbit/s of Ethernet per system; no document was read for it"};

// NVIDIA Rubin: announced.
inline constexpr source rubin_gtc{basis::announced, "NVIDIA's GTC figures, https://gpu.name/posts/nvidia-unveils-ambitious-gpu-cpu-and-system-roadmap-through-2028"};
inline constexpr source rubin_technews{basis::announced, "NVIDIA's GTC DC 2025 figures, http://www.technews.lt/portal/news/nvidia-pristato-vera-rubin-superlusta-gamyba-prasides-sekanciais-metais/"};
inline constexpr source rubin_sms{basis::assumed, "212 SMs in one early public table; NVIDIA has not said"};
inline constexpr source rubin_links{basis::announced, "half of 3.6 TB/s, which adds both directions, https://drpranayjha.com/nvidia-nvlink-nvswitch-scale-up/"};
inline constexpr source rubin_ultra_rack{basis::announced, "figures of the rack / 144 packages, https://www.arena4gamers.com.br/nvidia-apresenta-rubin-ultra-com-infraestrutura-potente-de-600-000-watts-por-rack/"};
inline constexpr source rubin_ultra_gtc{basis::announced, "NVIDIA's GTC 2025 figures, https://futuretechstocks.com/nvidia-lays-out-two-year-ai-roadmap-with-beast-rubin-gpu-vera-cpu-and-nvl576"};

}  // namespace perfmodel::catalog::sources
// clang-format on
