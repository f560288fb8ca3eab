// Sources of the catalogue's values, one object per document and basis. basis::vendor is the
// maker's own document; basis::copied names the secondary source and the document after it.
#pragma once

#include <perfmodel/hardware/catalog/sources_nvidia.hpp>
#include <perfmodel/hardware/fact.hpp>

// clang-format off
namespace perfmodel::inline v0_3::catalog::sources {

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
inline constexpr source twice_bf16{basis::derived, "twice the BF16 rate"};
inline constexpr source pcie{basis::derived, "PCIe x16: 16 lanes x transfer rate x 128/130 / 8"};
inline constexpr source sms_times_clock{basis::derived, "SMs x FLOP per clock and SM x clock"};
inline constexpr source not_read{basis::assumed, "commonly given; no document was read for it"};
inline constexpr source no_fabric{basis::derived, "PCIe x16; the board has no other link to its peers"};

// Documents on several accelerators.
inline constexpr source scaling_book{basis::copied, "JAX scaling book, chapter on GPUs, https://github.com/jax-ml/scaling-book"};
inline constexpr source cuda_guide{basis::vendor, "CUDA C++ Programming Guide, technical specifications per compute capability, https://docs.nvidia.com/cuda/cuda-c-programming-guide/"};
inline constexpr source nvlink_page{basis::derived, "links x one-way rate: 25 GB/s each up to NVLink 4, 50 GB/s for NVLink 5, https://catalogone.com/data-center-and-cloud-computing-nvlink-nvswitch"};
inline constexpr source c2c{basis::derived, "NVLink-C2C: half of 900 GB/s, which adds both directions; one Grace serves two GPUs"};
inline constexpr source c2c_whole{basis::derived, "NVLink-C2C: half of 900 GB/s, which adds both directions; one Grace serves one GPU"};
inline constexpr source cuda_total{basis::measured, "total memory in the device properties that PyTorch printed, posted in several public repositories"};
inline constexpr source ml_engineering{basis::copied, "makers' figures in the accelerator chapter of ml-engineering 744d01e1 (2026-08-22), https://github.com/stas00/ml-engineering"};
inline constexpr source ml_engineering_network{basis::copied, "tables of links in the network chapter of ml-engineering 744d01e1 (2026-08-22), https://github.com/stas00/ml-engineering"};
inline constexpr source xla_specs{basis::measured, "device properties as the driver gives them, xla/backends/gpu/target_config/specs of https://github.com/openxla/xla"};
inline constexpr source nominal_gib{basis::assumed, "nominal GiB; a driver shows a little less"};
inline constexpr source technical_city{basis::copied, "table of the card, https://technical.city"};
inline constexpr source rocm_radeon{basis::vendor, "AMD GPU specifications, docs/reference/gpu-specs.rst of https://github.com/ROCm/rocm-docs"};
inline constexpr source posted_totals{basis::measured, "nvidia-smi totals in ten outputs of this card posted in public repositories"};
inline constexpr source driver_memory{basis::measured, "totals shown by nvidia-smi, https://github.com/modal-labs/modal-client/pull/2797"};
inline constexpr source system_specs{basis::copied, "system specs of aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator"};
inline constexpr source system_specs_memory{basis::measured, "driver's total in the system specs of aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator"};
inline constexpr source all_gather_slope{basis::derived, "(latency on 8 GPUs - on 2) / 6 steps of NCCL's 512 B all_gather, protocol included; aiconfigurator 095f58a5, https://github.com/ai-dynamo/aiconfigurator"};
inline constexpr source gpu_benches{basis::measured, "gpu-benches 1c36d509, https://github.com/te42kyfo/gpu-benches"};
inline constexpr source hbm2_energy{basis::assumed, "3.92 pJ/bit: the HBM2 model of O'Connor et al., Fine-Grained DRAM, MICRO-50, 2017, as quoted by others"};
inline constexpr source hbm2e_energy{basis::assumed, "about 4.3 pJ/bit for HBM2E: SK hynix, IEDM 2023, 15-6, third-hand"};
inline constexpr source hbm3e_energy{basis::assumed, "20 % under HBM2E's 4.3 pJ/bit: SK hynix, IEDM 2023, 15-6, third-hand"};
inline constexpr source techbytes_prices{basis::copied, "providers' list prices of 2026-05-07, https://techbytes.app/posts/serverless-gpu-pricing-matrix-modal-replicate-lambda-2026/"};
inline constexpr source spheron_prices{basis::copied, "Spheron price list of 2026-03-17, https://www.spheron.network/blog/nvidia-h200-vs-b200-vs-gb200"};
inline constexpr source runpod_2026{basis::assumed, "RunPod's lowest price of 2026-09-07, quoted in a public repository"};
inline constexpr source runpod_prices{basis::assumed, "RunPod prices of March 2026, columns ambiguous, https://deploybase.ai/articles/runpod-gpu-pricing"};

// AMD.
inline constexpr source mi210_page{basis::copied, "AMD's MI210 figures, https://www.anandtech.com/show/17326/, of https://www.amd.com/en/products/accelerators/instinct/mi200/mi210.html"};
inline constexpr source mi210_bf16{basis::copied, "half of MI250; FP16 and BF16 rates are one column, https://zexron.com/amd-mi250-x-aldebaran-as-mcm-with-up-to-479-teraflop-s-and-560-watt-tdp"};
inline constexpr source amd_gib{basis::derived, "AMD's capacities are GiB: AMD GPU specifications, https://rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html"};
inline constexpr source mi210_bridge{basis::derived, "3 links (https://www.anandtech.com/show/17326/) x 50 GB/s one way (AMD on CDNA 2, https://rocm.docs.amd.com/en/docs-7.14.0/_sources/reference/gpu-arch/mi250.md)"};
inline constexpr source rocm_table{basis::vendor, "AMD GPU specifications, https://rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html"};
inline constexpr source rocm_table_taken{basis::assumed, "row of a later part in AMD GPU specifications, https://rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html"};
inline constexpr source mi300x_peaks{basis::copied, "AMD's figures in the accelerator chapter of ml-engineering, https://github.com/stas00/ml-engineering, of https://www.amd.com/en/products/accelerators/instinct/mi300/mi300x.html"};
inline constexpr source mi300x_sheet{basis::copied, "AMD Instinct MI300X datasheet, https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/amd-instinct-mi300x-data-sheet.pdf"};
inline constexpr source mi250x_half{basis::derived, "half of the module's figure in the accelerator chapter of ml-engineering 744d01e1"};
inline constexpr source mi250x_links{basis::assumed, "half of the module's seven links of 50 GB/s, network chapter of ml-engineering 744d01e1"};
inline constexpr source mi308x_rate{basis::derived, "compute units x FLOP per clock x clock, as MI300X; its units and clock are assumed"};
inline constexpr source mi455x_figures{basis::announced, "AMD's figures in the accelerator and network chapters of ml-engineering 744d01e1, https://github.com/stas00/ml-engineering"};
inline constexpr source strix_halo{basis::copied, "figures of Ryzen AI Max+ 395 and Radeon 8060S, https://huggingface.co/hardware"};
inline constexpr source mi300x_driver{basis::measured, "total_memory=196592MB in the properties that PyTorch printed, https://github.com/ROCm/legacy-rocm-build/issues/4203"};
inline constexpr source mi300x_l2{basis::derived, "8 dies x 16 channels x 128 B per clock x clock: reads"};
inline constexpr source mi300x_page{basis::copied, "MI300X, https://www.emergentmind.com/topics/amd-instinct-mi300x-gpus, of https://www.amd.com/en/products/accelerators/instinct/mi300/mi300x.html"};
inline constexpr source mi300x_power{basis::vendor, "AMD's description of its system for MLPerf inference v4.1: MI300X-192GB-750W, https://github.com/mlcommons/inference_results_v4.1/blob/main/closed/AMD/systems/8xMI300X_2xEPYC-9374F.json"};
inline constexpr source mi300x_links{basis::derived, "7 links x half of 128 GB/s, one to each peer, https://www.wheelersnetwork.com/2024/01/"};
inline constexpr source mi325x_page{basis::vendor, "AMD, https://www.amd.com/en/products/accelerators/instinct/mi300/mi325x.html"};
inline constexpr source mi350x_brochure{basis::copied, "AMD MI350X brochure LE-92701 (https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/product-briefs/amd-instinct-mi350x-gpu-brochure.pdf), digested in a public repository"};
inline constexpr source mi355x_brochure{basis::copied, "AMD MI355X brochure (https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/product-briefs/amd-instinct-mi355x-gpu-brochure.pdf), digested in a public repository"};
inline constexpr source mi350p_news{basis::copied, "ServeTheHome on MI350P: 128 compute units at 2200 MHz, 144 GB, 4 TB/s, 600 W, PCIe 5 x16, https://www.servethehome.com/?p=99664"};
inline constexpr source mi350p_half{basis::derived, "half of MI350X, with half of its compute units at its clock; ServeTheHome: 2.3 PFLOP/s in MXFP8"};
inline constexpr source mi350_links{basis::derived, "7 links x half of 153.6 GB/s, one to each peer: AMD's MI350 brochures"};
inline constexpr source cdna4_paper{basis::copied, "AMD CDNA 4 white paper, table 1, digested in a public repository"};
inline constexpr source cdna4_lds{basis::derived, "compute units x 256 B per clock x clock: AMD CDNA 4 white paper, p. 9"};
inline constexpr source cdna4_l2{basis::derived, "8 dies x 16 channels x 128 B per clock x clock, reads: AMD CDNA 4 white paper, p. 9"};
inline constexpr source mi300x_lds{basis::derived, "compute units x 128 B per clock x clock"};
inline constexpr source mi300x_price{basis::copied, "Vultr on demand, undated, https://gpu.blog/gpus/instinct-mi300x-mi300x"};

// Google.
inline constexpr source tpu_v5e_docs{basis::vendor, "Google Cloud TPU v5e, https://docs.cloud.google.com/tpu/docs/v5e"};
inline constexpr source tpu_v5p_docs{basis::vendor, "Google Cloud TPU v5p, https://docs.cloud.google.com/tpu/docs/v5p-training"};
inline constexpr source tpu_v6e_docs{basis::vendor, "Google Cloud TPU v6e, https://docs.cloud.google.com/tpu/docs/v6e"};
inline constexpr source tpu_v6e_links{basis::derived, "half of 800 GB/s, which adds both directions of 4 links, https://docs.cloud.google.com/tpu/docs/v6e"};
inline constexpr source tpu7x_docs{basis::vendor, "Google Cloud TPU7x, https://docs.cloud.google.com/tpu/docs/tpu7x"};
inline constexpr source tpu7x_links{basis::derived, "half of 1200 GB/s, which adds both directions, https://docs.cloud.google.com/tpu/docs/tpu7x"};
inline constexpr source tpu_book{basis::copied, "JAX scaling book, chapter on TPUs, https://github.com/jax-ml/scaling-book"};
inline constexpr source tpu_vmem{basis::derived, "22 x HBM bandwidth: JAX scaling book, chapter on TPUs, https://github.com/jax-ml/scaling-book"};
inline constexpr source tpu_hop{basis::assumed, "supposed in an exercise of the JAX scaling book, https://github.com/jax-ml/scaling-book"};
inline constexpr source tpu_mxu{basis::derived, "4 MXUs per core x 128 x 128 x 2 FLOP"};
inline constexpr source tpu_v5e_links{basis::derived, "half of 400 GB/s, which adds both directions of 4 links, https://docs.cloud.google.com/tpu/docs/v5e"};
inline constexpr source tpu_v5p_links{basis::derived, "half of 1200 GB/s, which adds both directions, https://docs.cloud.google.com/tpu/docs/v5p-training"};
inline constexpr source tpu_v5e_vector_clock{basis::assumed, "the MXU clock of the JAX scaling book taken over, https://github.com/jax-ml/scaling-book"};

// Apple.
inline constexpr source apple_table{basis::copied, "Ars Technica's table of M2 and M3 Ultra, https://inforeader.com/i/?a=reader&rid=67c916097fa95, of https://www.apple.com/newsroom/2025/03/"};
inline constexpr source apple_m3_ultra_clock{basis::copied, "7680 lanes at 1398 MHz for the 60-core M3 Ultra, https://hmc-tech.com/gpu/apple-60-core-m3-ultra-vs-nvidia-geforce-rtx-3060"};
inline constexpr source apple_m2_clock{basis::measured, "1398 MHz of M2 Max; M2 Ultra has two of its dies, https://github.com/philipturner/applegpuinfo/issues/10"};
inline constexpr source apple_m3_clock{basis::measured, "1380 MHz of M3 Max; M3 Ultra has two of its dies, https://github.com/philipturner/applegpuinfo/issues/15"};
inline constexpr source apple_slc{basis::derived, "twice the 48 MB of the Max, https://github.com/philipturner/applegpuinfo/issues/4"};
inline constexpr source apple_m2_power{basis::vendor, "maximum of Mac Studio 2023 with M2 Ultra, at the wall, https://support.apple.com/102027"};
inline constexpr source apple_m4_news{basis::vendor, "Apple newsroom, 2024-10-30: M4 Pro with up to 20 GPU cores and 273 GB/s, M4 Max with up to 40 and 546 GB/s, https://www.apple.com/newsroom/2024/10/"};
inline constexpr source apple_m4_clock{basis::assumed, "1.58 GHz; 1.8 GHz, at which 40 cores give 18.4 TFLOP/s, is also given"};
inline constexpr source apple_m4_claim{basis::assumed, "1.8 GHz: https://github.com/huggingface/huggingface.js/pull/1044"};
inline constexpr source apple_m4_gib{basis::derived, "largest configuration, in GiB: Apple newsroom, 2024-10-30"};
inline constexpr source apple_m4_pins{basis::derived, "256, 384 or 512 bit / 8 x 8533 MT/s of LPDDR5X: 273, 410 and 546 GB/s are printed"};
inline constexpr source apple_lanes{basis::derived, "GPU cores x 128 lanes x 2 FLOP x clock"};
inline constexpr source apple_no_matrix_unit{basis::derived, "the vector rate: matrix code runs on the vector lanes, there is no matrix unit"};
inline constexpr source apple_gib{basis::derived, "largest configuration, in GiB, https://inforeader.com/i/?a=reader&rid=67c916097fa95"};
inline constexpr source apple_power{basis::assumed, "about the Mac Studio's maximum, not the chip's; no document was read for it"};

// AWS.
inline constexpr source trainium2_guide{basis::vendor, "AWS, Trainium2 architecture guide for NKI, v2.29, https://awsdocs-neuron.readthedocs-hosted.com/"};
inline constexpr source trainium3_guide{basis::vendor, "AWS, Trainium3 architecture guide for NKI, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/nki/about/trainium3_arch.html"};

// Groq and Cerebras.
inline constexpr source groq_page{basis::copied, "TechPowerUp on the Groq LPU, https://techpowerup.com/news-tags/Processor?page=3"};
inline constexpr source groq_clock{basis::derived, "750 TOPS / (4 planes x 320 x 320 multipliers x 2)"};
inline constexpr source groq_vector{basis::assumed, "5120 vector ALUs x one operation per clock; which operations is not stated"};
inline constexpr source groq_links{basis::derived, "half of 480 GB/s, which adds both directions of 16 links, https://www.linleygroup.com/newsletters/newsletter_detail.php?num=6233"};
inline constexpr source groq_card{basis::copied, "launch of the Groq card, https://www.danielparente.net/en/2020/01/25/groq-launches-the-first-ai-accelerator-card-capable-of-1-petaops/"};
inline constexpr source wse3_toms{basis::copied, "Tom's Hardware on WSE-3, https://www.tomshardware.com/tech-industry/artificial-intelligence/cerebras-launches-900000-core-125-petaflops-wafer-scale-processor-for-ai-theoretically-equivalent-to-about-62-nvidia-h100-gpus, of https://www.cerebras.ai/press-release/cerebras-announces-third-generation-wafer-scale-engine"};
inline constexpr source wse3_tweaktown{basis::copied, "TweakTown on WSE-3, https://www.tweaktown.com/news/96843/"};
inline constexpr source wse3_fabric{basis::derived, "214 Pbit/s / 8, https://www.tweaktown.com/news/96843/"};
inline constexpr source wse3_dense{basis::derived, "125 PFLOP/s / 8, the sparsity it counts, after SemiAnalysis; 900000 cores x 8 FP16 lanes x 2 at 1.09 GHz"};
inline constexpr source wse3_power{basis::copied, "whole CS-3 system, https://awesomeagents.ai/hardware/cerebras-wse-3"};
inline constexpr source wse3_io{basis::copied, "1.2 Tbit/s off the wafer / 8, after SemiAnalysis"};

}  // namespace perfmodel::inline v0_3::catalog::sources
// clang-format on
