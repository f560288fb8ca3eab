// Sources of the values of NVIDIA's parts; sources.hpp has the others.
#pragma once

#include <perfmodel/hardware/fact.hpp>

// clang-format off
namespace perfmodel::inline v0_3::catalog::sources {

// NVIDIA Volta.
inline constexpr source v100_catalog{basis::copied, "GPU catalogue with NVIDIA's V100 figures, https://huggingface.co/RajBhope/gpu-runtime-predictor/blob/main/gpu_catalog.json, of https://images.nvidia.com/content/volta-architecture/pdf/volta-architecture-whitepaper.pdf"};
inline constexpr source v100_whitepaper{basis::copied, "notes on NVIDIA's V100 whitepaper, https://gist.github.com/wolfram77/a42aeb021a2fec7b7e85ceb71b398772, of https://images.nvidia.com/content/volta-architecture/pdf/volta-architecture-whitepaper.pdf"};
inline constexpr source v100_links{basis::derived, "6 links x 25 GB/s one way, https://gist.github.com/wolfram77/a42aeb021a2fec7b7e85ceb71b398772"};
inline constexpr source v100_driver{basis::measured, "NVML dump of a Tesla V100-SXM2-32GB, https://pastebin.com/AaFUPNi5"};
inline constexpr source v100_power{basis::copied, "power limit in the NVML dump of a Tesla V100-SXM2-32GB, https://pastebin.com/AaFUPNi5"};
inline constexpr source v100_price{basis::assumed, "median of a cohort of old GPUs, 2026-05-20, not a price of V100, https://aimultiple.com/gpu-index"};

// NVIDIA Ampere.
inline constexpr source a100_table{basis::copied, "table of NVIDIA's A100 datasheet, https://glennklockwood.com/garden/processors/A100, of https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"};
inline constexpr source a100_vectors{basis::copied, "78 and 39 TFLOP/s of the same die in A800, https://hmc-tech.com/gpu/nvidia-a800-vs-nvidia-t40"};
inline constexpr source a100_guide{basis::copied, "A100 specifications, https://www.thundercompute.com/blog/nvidia-a100-specs-full-guide, of https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"};
inline constexpr source a100_device_query{basis::measured, "deviceQuery on the 40 GB card, same die, https://upb-pc2.atlassian.net/wiki/spaces/PC2DOK/pages/1900609"};

inline constexpr source ga102_ladder{basis::derived, "SMs x FLOP per clock x clock: 1024 in 16 bits, half as many on GeForce with FP32 accumulation, 2048 in INT8, 4096 in INT4: NVIDIA GA102 whitepaper V2.0, https://docslib.org/doc/759549/nvidia-ampere-ga102-gpu-architecture-whitepaper"};

// NVIDIA Ada.
inline constexpr source l40s_table{basis::copied, "copy of NVIDIA's L40 and L40S datasheet, https://www.mullet.se/product.html?product_id=355414, of https://www.nvidia.com/en-us/data-center/l40s/"};
inline constexpr source l40s_board{basis::copied, "L40S specifications, https://www.itcreations.com/nvidia-gpu/nvidia-l40s-gpu-accelerator, of https://www.nvidia.com/en-us/data-center/l40s/"};
inline constexpr source l40s_int8{basis::copied, "L40S table, https://store.sourcecode.com/en-us/bg-bucket-compare/125/9820; density unnamed, equal to dense FP8"};
inline constexpr source l40s_l2{basis::measured, "median from 2 to 92 MB on L40, same AD102 die, at 2.49 GHz: gpu-l2-cache/l40.txt of gpu-benches 3088b333, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source l40s_chase{basis::measured, "pointer chase on L40, same AD102 die, at 2.49 GHz; gpu-benches 1c36d509, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source ada_summary{basis::copied, "summary of NVIDIA's Ada whitepaper, https://www.mobylak.com/nvidia-reveals-ada-lovelace-gpu-secrets-extreme-transistor-counts-at-high-clocks/, of https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"};
inline constexpr source l4_sheet{basis::copied, "copy of NVIDIA's L4 datasheet, https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40, of https://www.nvidia.com/en-us/data-center/l4/"};
inline constexpr source l4_cores{basis::derived, "7424 CUDA cores / 128, https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40"};
inline constexpr source l4_dense{basis::derived, "half of the printed 2:4 sparse figure, https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40"};
inline constexpr source l4_tf32{basis::derived, "half of the printed 2:4 sparse figure, https://store.sourcecode.com/en-us/bg-bucket-compare/125/9820"};
inline constexpr source l4_cycles{basis::derived, "cycles measured on L40 by gpu-benches / 2.04 GHz: same generation, not this card"};
inline constexpr source rtx_4090_table{basis::copied, "RTX 4090 table, https://waredb.com/processor/nvidia-geforce-rtx-4090, of https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"};
inline constexpr source rtx_4090_driver{basis::measured, "nvidia-smi output, https://github.com/RLinf/RLinf/issues/255"};
inline constexpr source rtx_4090_price{basis::copied, "RunPod on demand, March 2026, https://deploybase.ai/articles/rtx-4090-cloud"};

// NVIDIA Hopper.
inline constexpr source h100_whitepaper{basis::copied, "table of NVIDIA's H100 whitepaper, https://glennklockwood.com/garden/processors/h100, of https://resources.nvidia.com/en-us-tensor-core"};
inline constexpr source h100_same_die{basis::copied, "H100 SXM, same GH100 die and clocks: table of NVIDIA's H100 whitepaper, https://glennklockwood.com/garden/processors/h100, of https://resources.nvidia.com/en-us-tensor-core"};
inline constexpr source h100_table{basis::copied, "H100 specification table, https://archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html, of https://www.nvidia.com/en-us/data-center/h100/"};
inline constexpr source h100_pcie_tf32{basis::derived, "half of the printed 2:4 sparse figure, https://archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html"};
inline constexpr source h100_pcie_chips{basis::measured, "clocks reported by the driver, https://chipsandcheese.com/2023/07/02/nvidias-h100-funny-l2-and-tons-of-bandwidth/"};
inline constexpr source h100_pcie_pins{basis::derived, "5120 bit / 8 x 2 x 1593 MHz reported by the driver, https://chipsandcheese.com/2023/07/02/nvidias-h100-funny-l2-and-tons-of-bandwidth/"};
inline constexpr source h100_pcie_memory{basis::assumed, "nvidia-smi total of an H100 80 GB of unnamed form factor, https://github.com/modal-labs/modal-client/pull/2797"};
inline constexpr source h100_pcie_chase{basis::assumed, "measured on the H100 PCIe card and taken over; gpu-benches 1c36d509, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source h200_page{basis::copied, "NVIDIA H200 page, https://yobitel.com/knowledge-base/nvidia-h200, of https://www.nvidia.com/en-us/data-center/h200/"};
inline constexpr source h200_datasheet{basis::copied, "figures of NVIDIA's H200 datasheet, https://aiwiki.ai/wiki/nvidia_h200, of https://www.nvidia.com/en-us/data-center/h200/"};
inline constexpr source h200_properties{basis::measured, "L2_cache_size=60MB in the properties of an H200 that PyTorch printed, deploy/modal/src/llm/vllm/vlm/skywork_r1v.py of 859e2161, https://github.com/ai-bot-pro/achatbot"};
inline constexpr source h200_power{basis::vendor, "NVIDIA's description of its H200 system for MLPerf inference v4.1: TGP 700 W, https://github.com/mlcommons/inference_results_v4.1/blob/main/closed/NVIDIA/systems/H200-SXM-141GBx8_TRT_MaxQ.json"};
inline constexpr source h200_driver{basis::measured, "143771 MiB in nvidia-smi output of H200 nodes posted in several public repositories"};
inline constexpr source h20_note{basis::copied, "note with NVIDIA's H20 figures, https://zangshuxian.com/new/674733024499207168"};
inline constexpr source h20_listing{basis::measured, "device listing, https://zangshuxian.com/new/674733024499207168"};
inline constexpr source h20_fp8{basis::derived, "twice the BF16 rate, as for INT8, https://zangshuxian.com/new/674733024499207168"};
inline constexpr source h20_page{basis::copied, "H20 page, https://willitrunai.com/es/gpus/h20-96gb"};
inline constexpr source own_h200_chase{basis::measured, "validation/recordings/h200_sxm/pointer_chase.json of this project: sets of 8 MiB and 1 GiB (a few lines of it in the L2), lines of 128 B"};
inline constexpr source own_h200_l1{basis::measured, "validation/recordings/h200_sxm_2/pointer_chase.json of this project: 32.0 cycles of 1.98 GHz, sets of 4 KiB to 192 KiB, lines of 128 B"};
inline constexpr source own_h200_l1_taken{basis::assumed, "measured on an H200 and taken over; validation/recordings/h200_sxm_2/pointer_chase.json of this project"};
inline constexpr source own_h200_chase_taken{basis::assumed, "measured on an H200 and taken over; validation/recordings/h200_sxm/pointer_chase.json of this project"};
inline constexpr source h20_memory{basis::measured, "97871 MiB in nvidia-smi output of an H20, test instructions of the ACE compiler (docker image opencc/ace:20250524)"};
inline constexpr source h20_141gb_driver{basis::measured, "143771 MiB and 78 SMs in driver outputs of an H20-3e posted in public repositories"};
inline constexpr source h20_141gb_memory{basis::assumed, "H200's: the same HBM3e; no document was read for it"};
inline constexpr source h800_issue{basis::copied, "3.35 TB/s and 990 TFLOP/s, https://github.com/deepseek-ai/FlashMLA/issues/75"};
inline constexpr source h800_driver{basis::measured, "81559 MiB in nvidia-smi outputs of an H800 posted in public repositories"};
inline constexpr source h800_cuts{basis::copied, "FP64 of 1 TFLOP/s, NVLink of 400 GB/s in both directions, https://www.tumgag.com/tag/nvidia%20h100"};
inline constexpr source h100_nvl_page{basis::copied, "H100 NVL: 132 SMs, up to 400 W, https://gpu.blog/gpus/nvidia-h100-nvl"};
inline constexpr source h100_nvl_code{basis::copied, "dense peak in https://github.com/pytorch/torchtitan"};
inline constexpr source h100_nvl_pins{basis::derived, "6016 bit (https://grokipedia.com/page/210100120) / 8 x 2 x 2619 MHz, H100's memory clock: 3.93 TB/s are printed"};
inline constexpr source h100_nvl_l2{basis::measured, "62914560 B in an MT4G report of an H100 NVL posted in a public repository"};
inline constexpr source gh200_page{basis::copied, "Wikipedia's table of Grace Hopper: 132 SMs, 1980 MHz, https://wikimili.com/en/Hopper_%28microarchitecture%29"};
inline constexpr source gh200_announcement{basis::copied, "NVIDIA's announcement of 2023-08-08: 96 GB HBM3 at 4 TB/s, https://nishikiout.net/entry/2023/08/09/143040"};
inline constexpr source gh200_driver{basis::measured, "97871 MiB, 900 W in nvidia-smi output of GH200 480GB nodes posted in several public repositories"};
inline constexpr source gh200_l2{basis::measured, "median from 14 to 40 MB, gpu-l2-cache/h200.txt of gpu-benches 3088b333, which is a GH200 by its memory, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source gh200_l2_taken{basis::assumed, "measured on a GH200, the same SMs at the same clock, and taken over: gpu-l2-cache/h200.txt of gpu-benches 3088b333, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source gh200_query{basis::measured, "device query of a GH200 480GB posted in a public repository: 60 MB of L2, 6144 bit at 2.62 GHz, 132 SMs at 1.98 GHz"};
inline constexpr source h20_l2{basis::assumed, "as drivers show it on H200 and GH200: all six memory sites are in use"};
inline constexpr source h20_driver{basis::measured, "limit of 500 W in nvidia-smi outputs of an H20 posted in public repositories"};
inline constexpr source h20_rate{basis::derived, "148 TFLOP/s / (78 SMs x 1.85 GHz): a quarter of 4096, which export rules leave"};

// NVIDIA Blackwell.
inline constexpr source b200_driver{basis::measured, "driver query of a B200, https://github.com/pytorch/ao/pull/4002"};
inline constexpr source b200_memory{basis::measured, "183359 MiB in nvidia-smi output, https://github.com/NVIDIA/TensorRT-LLM/issues/10278"};
inline constexpr source b200_brief{basis::copied, "table of NVIDIA's Blackwell brief, https://glennklockwood.com/garden/processors/B200, of https://dam-cdn.nvd.orangelogic.com/AssetLink/gl2l4l4812s5fw0p614s6i8bv6mi3vx5.pdf"};
inline constexpr source hgx_table{basis::copied, "HGX table of 8 GPUs, divided by 8, https://fibermall.com/blog/?p=17161, of https://www.nvidia.com/en-us/data-center/hgx/"};
inline constexpr source hgx_eighth{basis::derived, "HGX table of 8 GPUs, divided by 8, https://fibermall.com/blog/?p=17161"};
inline constexpr source b200_compare{basis::copied, "B200 and GB200 table, https://hmc-tech.com/gpu/nvidia-b200-vs-nvidia-gb200, of https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703"};
inline constexpr source b100_compare{basis::copied, "B200 and B100 table, https://hmc-tech.com/gpus/nvidia-b200-vs-nvidia-b100"};
inline constexpr source gb200_half{basis::derived, "superchip of two GPUs, halved, https://hmc-tech.com/gpu/nvidia-b200-vs-nvidia-gb200"};
inline constexpr source b200_latency{basis::measured, "summary of Chips and Cheese's B200 measurements, https://www.besthub.dev/articles/why-nvidia-s-blackwell-b200-could-redefine-ai-gpu-performance-858729336a71"};
inline constexpr source b200_latency_taken{basis::assumed, "B200's figure taken over, https://www.besthub.dev/articles/why-nvidia-s-blackwell-b200-could-redefine-ai-gpu-performance-858729336a71"};
inline constexpr source blackwell_guide{basis::vendor, "NVIDIA Blackwell Tuning Guide, https://docs.nvidia.com/cuda/blackwell-tuning-guide/"};
inline constexpr source hopper_guide{basis::vendor, "NVIDIA Hopper Tuning Guide, https://docs.nvidia.com/cuda/hopper-tuning-guide/"};
inline constexpr source ampere_guide{basis::vendor, "NVIDIA Ampere Tuning Guide, https://docs.nvidia.com/cuda/ampere-tuning-guide/"};
inline constexpr source exemplar{basis::vendor, "NVIDIA's reference systems and peaks, README of https://github.com/NVIDIA/exemplar-performance"};
inline constexpr source exemplar_host{basis::derived, "x16 of the PCIe 5 that NVIDIA's reference hosts have, README of https://github.com/NVIDIA/exemplar-performance"};
inline constexpr source blackwell_ultra_sheet{basis::vendor, "NVIDIA Blackwell Ultra datasheet of October 2025, p. 5, https://dam-cdn.nvd.orangelogic.com/AssetLink/1k0p832eq8r5ca0u5383ie5o4tp3bst1.pdf"};
inline constexpr source c2c_shared{basis::assumed, "NVLink-C2C of one Grace, halved between its two GPUs; whether 900 GB/s is per GPU is not said"};
inline constexpr source b300_table{basis::copied, "table of NVIDIA's B300 figures, https://glennklockwood.com/garden/processors/B300, of https://dam-cdn.nvd.orangelogic.com/AssetLink/1k0p832eq8r5ca0u5383ie5o4tp3bst1.pdf"};
inline constexpr source b300_fp64_taken{basis::assumed, "B300's figure taken over, https://glennklockwood.com/garden/processors/B300"};
inline constexpr source b300_notes{basis::measured, "one author's notes 'B300 Cache Hierarchy - Clean Reference' (driver 580.126.09), a public GitHub file"};
inline constexpr source b300_notes_taken{basis::assumed, "B300's figure taken over: one author's notes 'B300 Cache Hierarchy - Clean Reference', a public GitHub file"};
inline constexpr source b300_price{basis::assumed, "middle of a range of 5.00 to 7.25 USD/h in 2026, https://www.ornnai.com/research/nvidia-b200-vs-b300-why-use-one-instead-of-the-other"};
inline constexpr source gb_pcie{basis::assumed, "value in the system specs of aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator; which generation and lanes is not said"};
inline constexpr source gb200_fp32_taken{basis::assumed, "GB200's figure taken over: same SM count and power bin"};
inline constexpr source gb200_price{basis::derived, "superchip of two GPUs at 9.08 USD/h, halved: Spheron, 2026-03-17, https://www.spheron.network/blog/nvidia-h200-vs-b200-vs-gb200"};
inline constexpr source blackwell_ultra{basis::copied, "NVIDIA, Inside NVIDIA Blackwell Ultra, mirrored at http://123.123.enodoworks.com/?p=1424123"};

inline constexpr source rtx_6000_ada_driver{basis::measured, "49140 MiB and 300 W in nvidia-smi outputs of an RTX 6000 Ada posted in public repositories"};
inline constexpr source rtx_5070_ti_driver{basis::measured, "16303 MiB in nvidia-smi outputs of a GeForce RTX 5070 Ti posted in public repositories"};

// NVIDIA RTX, Blackwell generation.
inline constexpr source rtx_5080_table{basis::copied, "RTX 5080 table, https://hmc-tech.com/gpu/nvidia-geforce-rtx-5080-vs-amd-radeon-rx-540, of https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"};
inline constexpr source rtx_5080_whitepaper{basis::copied, "figures of NVIDIA's RTX Blackwell whitepaper, https://www.brojogopalsapui.com/dark/ai-foundations/sub_contents/AI_hardware/rtx5080_deep_dive_opus_dark.html, of https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"};
inline constexpr source rtx_5080_driver{basis::measured, "16303 MiB in nvidia-smi outputs of a GeForce RTX 5080 posted in public repositories"};
inline constexpr source rtx_ladder{basis::derived, "SMs x FLOP per clock x clock; FP32 accumulation at half rate on GeForce, FP8 twice, INT8 four times, FP4 eight times BF16"};
inline constexpr source rtx_5090_table{basis::copied, "RTX 5090 specifications, Linux Format, May 2025, https://pocketmags.com/linux-format-magazine/may-2025/articles/nvidia-geforce-rtx-5090, of https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"};
inline constexpr source rtx_5090_driver{basis::measured, "32607 MiB in nvidia-smi output, https://github.com/noonghunna/club-3090/issues/1229"};
inline constexpr source rtx_pro_news{basis::copied, "news with NVIDIA's figures, https://gpu.name/posts/nvidia-unveils-rtx-pro-6000-blackwell-gpu-with-24-064-cores-and-96gb-memory"};
inline constexpr source rtx_pro_page{basis::vendor, "NVIDIA, https://www.nvidia.com/en-us/data-center/rtx-pro-6000-blackwell-server-edition/"};
inline constexpr source rtx_pro_query{basis::measured, "device query of a Server Edition posted in a public repository: 188 SMs, 2430 MHz, 12481 MHz of memory over 512 bit, 131072 KB of L2, 100 KB shared per SM"};

// NVIDIA Jetson.
inline constexpr source orin_brief{basis::copied, "digest of NVIDIA's Jetson AGX Orin technical brief, http://mzph.cn/web/30785.shtml, of https://www.nvidia.com/content/dam/en-zz/Solutions/gtcf21/jetson-orin/nvidia-jetson-agx-orin-technical-brief.pdf"};
inline constexpr source orin_tops{basis::copied, "up to 275 sparse INT8 TOPS at MAXN, https://blog.us.fixstars.com/?p=1855"};
inline constexpr source orin_nano_page{basis::copied, "figures of NVIDIA's Jetson Orin Nano datasheet, https://www.brojogopalsapui.com/dark/ai-foundations/sub_contents/AI_hardware/jetson_orin_nano_dark.html, of https://dam-cdn.nvd.orangelogic.com/AssetLink/2ug686w80406gxf6q8uv7r3l7265m2n8.pdf"};
inline constexpr source orin_tensor{basis::derived, "SMs x 4 tensor cores x 256 FMA x 2 FLOP x clock, dense, GPU only"};
inline constexpr source orin_tensor_int8{basis::derived, "SMs x 4096 operations x clock, dense, GPU only"};
inline constexpr source orin_lanes{basis::derived, "SMs x 128 lanes x 2 FLOP x clock"};
inline constexpr source orin_half{basis::derived, "twice the FP32 rate: packed pairs of 16-bit operands, compute capability 8.7"};
inline constexpr source orin_bfloat{basis::assumed, "the FP32 rate: 128 bf16 results per clock and SM on compute capability 8.x; the CUDA programming guide was not read for it"};
inline constexpr source jetson_memory{basis::derived, "nominal GiB; CPU and GPU share it and the system keeps a part"};
inline constexpr source jetson_pins{basis::derived, "bus width / 8 x transfer rate of the module's LPDDR5: 128 or 256 bit, 4266 or 6400 MT/s"};
inline constexpr source jetson_modules{basis::assumed, "as commonly tabulated for the module; NVIDIA's datasheet was not readable"};
inline constexpr source orin_nx_clock{basis::assumed, "918 MHz; no readable datasheet was found"};
inline constexpr source thor_forum{basis::measured, "driver query, https://forums.developer.nvidia.com/t/356355"};
inline constexpr source thor_reads{basis::measured, "reads of a Jetson Thor from L2, posted in a public repository"};
inline constexpr source thor_fp4{basis::derived, "half of the printed 2070 sparse TFLOPS, https://learnaivisually.com/ai-explained/jetson-thor-edge-blackwell"};
inline constexpr source thor_ladder{basis::assumed, "FP4 dense / 2 and / 4: the ladder of other Blackwell parts, not read for this one"};
inline constexpr source thor_power{basis::copied, "40 to 130 W, https://learnaivisually.com/ai-explained/jetson-thor-edge-blackwell, of https://developer.nvidia.com/blog/introducing-nvidia-jetson-thor-the-ultimate-platform-for-physical-ai/"};
inline constexpr source thor_pins{basis::derived, "256 bit / 8 x 8533 MT/s of LPDDR5X, https://technical.city/en/video/Iris-Xe-MAX-Graphics-vs-Jetson-T5000"};

// NVIDIA Rubin: announced.
inline constexpr source rubin_cpx_news{basis::announced, "NVIDIA's figures of Rubin CPX in the press: 30 PFLOP/s NVFP4, about 20 dense, 128 GB GDDR7, about 2 TB/s"};
inline constexpr source rubin_gtc{basis::announced, "NVIDIA's GTC figures, https://gpu.name/posts/nvidia-unveils-ambitious-gpu-cpu-and-system-roadmap-through-2028"};
inline constexpr source rubin_technews{basis::announced, "NVIDIA's GTC DC 2025 figures, http://www.technews.lt/portal/news/nvidia-pristato-vera-rubin-superlusta-gamyba-prasides-sekanciais-metais/"};
inline constexpr source rubin_sheet{basis::announced, "NVIDIA Vera Rubin datasheet of 2026-06-22 (preliminary), p. 9, dense, https://dam-cdn.nvd.orangelogic.com/AssetLink/56p68o47y6f1yucpubl0ump1c0aif422.pdf"};
inline constexpr source rubin_sheet_copied{basis::announced, "NVIDIA's figures of Rubin in the accelerator chapter of ml-engineering 744d01e1, https://github.com/stas00/ml-engineering"};
inline constexpr source rubin_page{basis::announced, "NVIDIA's product page of Vera Rubin NVL72, September 2026"};
inline constexpr source rubin_blog{basis::announced, "NVIDIA, https://developer.nvidia.com/blog/inside-nvidia-rubin-gpu-architecture-powering-the-era-of-agentic-ai/"};
inline constexpr source rubin_early{basis::assumed, "212 SMs in one early public table"};
inline constexpr source rubin_links{basis::announced, "half of 3.6 TB/s, which adds both directions, https://drpranayjha.com/nvidia-nvlink-nvswitch-scale-up/"};
inline constexpr source rubin_ultra_rack{basis::announced, "figures of the rack / 144 packages, https://www.arena4gamers.com.br/nvidia-apresenta-rubin-ultra-com-infraestrutura-potente-de-600-000-watts-por-rack/"};
inline constexpr source rubin_ultra_gtc{basis::announced, "NVIDIA's GTC 2025 figures, https://futuretechstocks.com/nvidia-lays-out-two-year-ai-roadmap-with-beast-rubin-gpu-vera-cpu-and-nvl576"};

}  // namespace perfmodel::inline v0_3::catalog::sources
// clang-format on
