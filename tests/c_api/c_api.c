/* The C library from C: results equal to napkin's, refusals, hostile input, threads.
 * c_api_test <requests> <result of each line alone> <results of all lines> <asks per thread> */
#include <c_api.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_lines = 64, longest_line = 1 << 16, thread_count = 8 };

static int failures = 0;
static int asks_per_thread = 1000;
static char* requests[most_lines];
static char* expected[most_lines];
static char* expected_of_all[most_lines];
static int line_count = 0;

static void check(int holds, const char* what, const char* said) {
  if (holds) return;
  ++failures;
  printf("FAIL: %s: %.300s\n", what, said == NULL ? "(null)" : said);
}

static int read_lines(const char* path, char* into[]) {
  static char line[longest_line];
  FILE* file = fopen(path, "r");
  int n = 0;
  if (file == NULL) return 0;
  while (n < most_lines && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    into[n] = malloc(strlen(line) + 1);
    if (into[n] == NULL) break;
    strcpy(into[n++], line);
  }
  fclose(file);
  return n;
}

static void check_requests(void) {
  size_t all = 0, length = 0;
  char *lines, *answers, *expected_lines;
  for (int i = 0; i < line_count; ++i) {
    char* answer = perfmodel_ask(requests[i], strlen(requests[i]), &length);
    check(answer != NULL && strcmp(answer, expected[i]) == 0, "differs from napkin", answer);
    check(answer != NULL && length == strlen(answer), "length of the result", answer);
    perfmodel_free(answer);
    all += strlen(requests[i]) + strlen(expected_of_all[i]) + 2;
  }
  lines = calloc(1, all + 1);
  expected_lines = calloc(1, all + 1);
  if (lines == NULL || expected_lines == NULL) exit(1);
  for (int i = 0; i < line_count; ++i) {
    strcat(strcat(lines, requests[i]), "\n");
    strcat(strcat(expected_lines, expected_of_all[i]), "\n");
  }
  answers = perfmodel_ask_lines(lines, strlen(lines), &length);
  check(answers != NULL && strcmp(answers, expected_lines) == 0, "lines differ from napkin", answers);
  check(answers != NULL && length == strlen(answers), "length of the lines", answers);
  perfmodel_free(answers);
  free(lines);
  free(expected_lines);
}

/* A refused request: an object with an error of this code. */
static void refuses(const char* request, size_t length, const char* code, const char* what) {
  char* answer = perfmodel_ask(request, length, NULL);
  check(answer != NULL && strstr(answer, "\"error\"") != NULL && strstr(answer, code) != NULL, what,
        answer);
  perfmodel_free(answer);
}

static void check_hostile(void) {
  const size_t ten_megabytes = 10u << 20;
  static const char with_null[] = "{\"query\":\"ridge\",\0\"accelerator\":\"h100_sxm\"}";
  static const char not_utf8[] = "{\"query\":\"\xff\xfe\x80\"}";
  static const char key_not_utf8[] = "{\"query\":\"ridge\",\"\xc3\":1}";
  char* large = malloc(ten_megabytes);
  char* answer;
  size_t length = 1;
  if (large == NULL) exit(1);
  memset(large, '[', ten_megabytes);
  refuses(NULL, 0, "PM-E001", "null pointer");
  refuses(NULL, 5, "PM-E001", "null pointer with a length");
  refuses("", 0, "PM-E001", "empty request");
  refuses(" \t\n", 3, "PM-E001", "blank request");
  refuses("[]", 2, "PM-E001", "a list");
  refuses(with_null, sizeof with_null - 1, "PM-E001", "a byte 0");
  refuses(not_utf8, strlen(not_utf8), "PM-E", "not UTF-8");
  refuses(key_not_utf8, strlen(key_not_utf8), "PM-E", "key not UTF-8");
  refuses(large, ten_megabytes, "PM-E001", "10 MB");
  refuses(large, 1000, "PM-E001", "nested 1000 deep");
  answer = perfmodel_ask_lines(large, ten_megabytes, NULL);
  check(answer != NULL && strstr(answer, "1 MiB") != NULL, "lines of 10 MB", answer);
  perfmodel_free(answer);
  answer = perfmodel_ask_lines(NULL, 0, &length);
  check(answer != NULL && length == 0 && answer[0] == '\0', "no lines", answer);
  perfmodel_free(answer);
  perfmodel_free(NULL);
  free(large);
}

static void check_steps(void) {
  static const char deployment[] =
      "{\"model\":\"llama_3_70b\",\"accelerator\":\"h100_sxm\",\"tensor_parallel\":4}";
  static const char too_small[] = "{\"model\":\"llama_3_1_405b\",\"accelerator\":\"l4\"}";
  double seconds = 0.0;
  char* refusal = NULL;
  perfmodel_step* step = perfmodel_step_new(deployment, strlen(deployment), &refusal);
  check(step != NULL && refusal == NULL, "a deployment", refusal);
  check(perfmodel_step_time(step, 16, 2048, 0, &seconds) == PERFMODEL_STEP_OK && seconds > 0.0 &&
            seconds < 1.0,
        "a step", NULL);
  check(perfmodel_step_time(step, 0, 0, 512, NULL) == PERFMODEL_STEP_OK, "a prefill step", NULL);
  check(perfmodel_step_time(step, -1, 2048, 0, &seconds) == PERFMODEL_STEP_REFUSED &&
            isinf(seconds),
        "a negative batch", NULL);
  check(perfmodel_step_time(step, 1.5, 2048, 0, &seconds) == PERFMODEL_STEP_REFUSED, "half", NULL);
  check(perfmodel_step_time(step, (double)NAN, 2048, 0, &seconds) == PERFMODEL_STEP_REFUSED, "NaN",
        NULL);
  check(perfmodel_step_time(step, 0, 0, 0, &seconds) == PERFMODEL_STEP_REFUSED, "no tokens", NULL);
  check(perfmodel_step_time(NULL, 1, 1, 0, &seconds) == PERFMODEL_STEP_REFUSED, "no step", NULL);
  perfmodel_step_free(step);
  step = perfmodel_step_new(too_small, strlen(too_small), NULL);
  check(perfmodel_step_time(step, 1, 128, 0, &seconds) == PERFMODEL_STEP_INFEASIBLE &&
            isinf(seconds),
        "405B on an L4", NULL);
  perfmodel_step_free(step);
  check(perfmodel_step_new("{}", 2, &refusal) == NULL && refusal != NULL &&
            strstr(refusal, "PM-E004") != NULL,
        "no model", refusal);
  perfmodel_free(refusal);
  check(perfmodel_step_new(NULL, 7, &refusal) == NULL && refusal != NULL, "null step", refusal);
  perfmodel_free(refusal);
  perfmodel_step_free(NULL);
}

static void* ask_many(void* first) {
  long wrong = 0;
  for (int i = 0; i < asks_per_thread; ++i) {
    /* The first lines take microseconds; each fiftieth ask is any line. */
    const int among = i % 50 != 0 && line_count > 10 ? 10 : line_count;
    const int at = (i / 50 + i + *(const int*)first) % among;
    char* answer = perfmodel_ask(requests[at], strlen(requests[at]), NULL);
    wrong += answer == NULL || strcmp(answer, expected[at]) != 0;
    perfmodel_free(answer);
  }
  return (void*)wrong;
}

static void check_threads(void) {
  static const int firsts[thread_count] = {0, 1, 2, 3, 4, 5, 6, 7};
  pthread_t threads[thread_count];
  for (int i = 0; i < thread_count; ++i)
    if (pthread_create(&threads[i], NULL, ask_many, (void*)&firsts[i]) != 0) exit(1);
  for (int i = 0; i < thread_count; ++i) {
    void* wrong = NULL;
    pthread_join(threads[i], &wrong);
    check(wrong == NULL, "answers of a thread differ", "");
  }
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  line_count = read_lines(argv[1], requests);
  check(line_count > 0 && read_lines(argv[2], expected) == line_count &&
            read_lines(argv[3], expected_of_all) == line_count,
        "the files have as many lines", "");
  asks_per_thread = atoi(argv[4]);
  check(strlen(perfmodel_version()) >= 5, "version", perfmodel_version());
  if (failures == 0) {
    check_requests();
    check_hostile();
    check_steps();
    check_threads();
  }
  for (int i = 0; i < line_count; ++i) {
    free(requests[i]);
    free(expected[i]);
    free(expected_of_all[i]);
  }
  printf(failures == 0 ? "all passed\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
