// AWS Trainium 2 and 3. `sms` are NeuronCores, `shared` is their SBUF. The fp32 rate is the matrix
// units': no rate of the vector engines is printed.
#pragma once

#include <perfmodel/hardware/catalog/arithmetic.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source trainium2_page{
    basis::vendor,
    "AWS, Trainium2 architecture, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/"
    "about-neuron/arch/neuron-hardware/trainium2.html"};
inline constexpr source trainium2_core{
    basis::vendor,
    "AWS, NeuronCore-v3: 28 MiB each, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/"
    "nki/about/trainium3_arch.html"};
inline constexpr source trainium2_links{
    basis::assumed,
    "half of 1.28 TB/s, as if that added both directions, which AWS does not say, "
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/"
    "trainium2.html"};
inline constexpr source trainium3_page{
    basis::vendor,
    "AWS, Trainium3 architecture, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/"
    "about-neuron/arch/neuron-hardware/trainium3.html"};
inline constexpr source trainium3_core{
    basis::vendor,
    "AWS, NeuronCore-v4: 32 MiB each, https://awsdocs-neuron.readthedocs-hosted.com/en/latest/"
    "nki/about/trainium3_arch.html"};
inline constexpr source trainium3_links{
    basis::assumed,
    "half of 2.56 TB/s, as if that added both directions, which AWS does not say, "
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/"
    "trainium3.html"};
}  // namespace sources

/// Trainium 2, one chip of the sixteen of a trn2.48xlarge, which are a 4 x 4 torus.
inline constexpr accelerator trainium2{
    .name = "trainium2",
    .vendor = "AWS",
    .architecture = chip_architecture::trainium2,
    .sms = {8.0, sources::trainium2_page},
    .matrix = {.peak =
                   {
                       .fp32 = {181.0 * TFLOP_per_s, sources::trainium2_page},
                       .tf32 = {667.0 * TFLOP_per_s, sources::trainium2_page},
                       .bf16 = {667.0 * TFLOP_per_s, sources::trainium2_page},
                       .fp16 = {667.0 * TFLOP_per_s, sources::trainium2_page},
                       .fp8 = {1299.0 * TFLOP_per_s, sources::trainium2_page},
                   }},
    .shared = {.capacity = {8.0 * 28.0 * MiB, sources::trainium2_core}},
    .dram = {.capacity = {96.0 * GiB, sources::trainium2_page},
             .bandwidth = {2.9 * TB_per_s, sources::trainium2_page}},
    .fabric = {.kind = link_kind::neuronlink,
               .bandwidth = {one_way(two_way_bandwidth<>(1.28 * TB_per_s)),
                             sources::trainium2_links},
               .ranks = 16},
};

/// Trainium 3, one chip. fp8 and fp4 are MXFP8 and MXFP4. How many chips its switches join is not read
/// from a page of AWS: the sixteen of Trainium 2 are assumed.
inline constexpr accelerator trainium3{
    .name = "trainium3",
    .vendor = "AWS",
    .architecture = chip_architecture::trainium3,
    .sms = {8.0, sources::trainium3_page},
    .matrix = {.peak =
                   {
                       .fp32 = {183.0 * TFLOP_per_s, sources::trainium3_page},
                       .tf32 = {671.0 * TFLOP_per_s, sources::trainium3_page},
                       .bf16 = {671.0 * TFLOP_per_s, sources::trainium3_page},
                       .fp16 = {671.0 * TFLOP_per_s, sources::trainium3_page},
                       .fp8 = {2517.0 * TFLOP_per_s, sources::trainium3_page},
                       .fp4 = {2517.0 * TFLOP_per_s, sources::trainium3_page},
                   }},
    .shared = {.capacity = {8.0 * 32.0 * MiB, sources::trainium3_core}},
    .dram = {.capacity = {144.0 * GiB, sources::trainium3_page},
             .bandwidth = {4.9 * TB_per_s, sources::trainium3_page}},
    .fabric = {.kind = link_kind::neuronlink,
               .bandwidth = {one_way(two_way_bandwidth<>(2.56 * TB_per_s)),
                             sources::trainium3_links},
               .ranks = 16},
};

inline constexpr std::array aws_trainium_accelerators{
    accelerator_entry{trainium2, "AWS Trainium 2, one chip"},
    accelerator_entry{trainium3, "AWS Trainium 3, one chip"},
};

}  // namespace perfmodel::catalog
