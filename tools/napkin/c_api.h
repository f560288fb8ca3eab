/* perfmodel in C: a request as JSON text in, a result as JSON text out.
 *
 * The requests are those of `napkin batch`, and plan, explain, sensitivity, audit, gpus and models:
 *   {"query": "step", "model": "llama_3_8b", "accelerator": "h100_sxm", "batch": 16, "context": 2048}
 *   {"query": "plan", "model": "llama_3_70b", "accelerator": "h100_sxm", ...}
 *   {"query": "explain", "of": {"query": "step", ...}}
 * A result is one JSON object, the same text that `napkin` prints. A refused request is an object too:
 *   {"id": null, "line": 1, "error": {"code": "PM-E...", "message": "..."}}
 *
 * Every function may be called from several threads at once. None prints, ends the process or throws.
 * A request that names a file as its model or accelerator reads that file: do not pass on requests of
 * people who may not.
 */
#ifndef PERFMODEL_C_API_H
#define PERFMODEL_C_API_H

#include <stddef.h>

#if defined(__GNUC__)
#define PERFMODEL_C_API __attribute__((visibility("default")))
#else
#define PERFMODEL_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "0.3.0": the version of the library. Static: not to be freed. */
PERFMODEL_C_API const char* perfmodel_version(void);

/* The result of one request of `length` bytes, UTF-8, with or without a 0 at its end. The result ends with
 * a 0; its length is written to *result_length unless that is null. The caller frees it by
 * perfmodel_free. Null only where memory runs out. A null request, one of more than 1 MiB, a byte 0 within
 * and text that is not JSON are refused requests. */
PERFMODEL_C_API char* perfmodel_ask(const char* request, size_t length, size_t* result_length);

/* Results of many requests, one a line (JSON Lines), as `napkin batch` answers its input: a line for each
 * line, in order. Freed by perfmodel_free; null only where memory runs out. */
PERFMODEL_C_API char* perfmodel_ask_lines(const char* requests, size_t length, size_t* result_length);

/* Frees a result; null is allowed. */
PERFMODEL_C_API void perfmodel_free(char* result);

/* Engine steps of one deployment, for a scheduler or a simulator: the request is read once, and a step
 * takes microseconds. */
typedef struct perfmodel_step perfmodel_step;

/* The deployment of a `step` request without batch, context and prefill_tokens:
 *   {"model": "llama_3_70b", "accelerator": "h100_sxm", "tensor_parallel": 4, "engine": "vllm"}
 * Null where the request is refused; *refusal is then the error object, freed by perfmodel_free (refusal
 * may be null). Freed by perfmodel_step_free. */
PERFMODEL_C_API perfmodel_step* perfmodel_step_new(const char* request, size_t length, char** refusal);

enum {
  PERFMODEL_STEP_OK = 0,
  PERFMODEL_STEP_INFEASIBLE = 1, /* the step does not fit; *seconds is infinity */
  PERFMODEL_STEP_REFUSED = 2     /* a number is not allowed; *seconds is infinity */
};

/* Writes the time of one step to *seconds: `batch` decoding sequences with `context` tokens in the KV cache
 * each, and `prefill_tokens` of prompts. It is the time_s of {"query": "step", ...}, which also says why a
 * step is infeasible or refused. */
PERFMODEL_C_API int perfmodel_step_time(const perfmodel_step* step, double batch, double context,
                                        double prefill_tokens, double* seconds);

/* Frees a deployment; null is allowed. No thread may be using it. */
PERFMODEL_C_API void perfmodel_step_free(perfmodel_step* step);

#ifdef __cplusplus
}
#endif

#endif
