#!/usr/bin/env bash
# check_includes.sh <source folder>: a file that names something of these standard headers includes the
# header itself. What one release of a standard library gets by another header, the next does not.
set -euo pipefail
cd "$1"

mapfile -t files < <(find include examples tools validation tests -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) ! -path '*/compile_fail/*' | LC_ALL=C sort)
if [[ ${#files[@]} -eq 0 ]]; then
  echo "nothing to read in $1"
  exit 1
fi

awk '
  BEGIN {
    named["cstdint"] = "u?int(8|16|32|64|ptr|max)_t"
    named["cstring"] = "(mem(cpy|set|cmp|move)|str(len|cmp|ncmp|chr|error))[(<]"
    named["cstdlib"] = "(getenv|strto(d|f|l|ll|ul|ull)|exit|_Exit|abort|system)[(<]"
    named["cstdio"] = "(f?printf|snprintf|fopen|fclose|fputs|fread|fwrite|fflush|FILE)"
    named["cmath"] = "(isfinite|isnan|isinf|sqrt|cbrt|exp|expm1|log|log1p|log2|log10|pow|ceil|floor|fabs|fmod|l?lround|l?lrint|nextafter|ldexp|frexp|erf|lgamma)[(<]"
    named["limits"] = "numeric_limits<"
    named["algorithm"] = "(sort|stable_sort|nth_element|(max|min)_element|find_if|any_of|all_of|none_of|transform|(lower|upper)_bound|clamp|copy|copy_n|fill|reverse|count_if|replace|unique|rotate|shuffle|equal|partition|max|min|minmax)[(<]"
    named["numeric"] = "(accumulate|iota|gcd|lcm|inner_product|partial_sum|transform_reduce)[(<]"
    named["functional"] = "(function<|reference_wrapper|bind_front|greater<)"
    named["memory"] = "(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared)"
    named["chrono"] = "chrono::"
    named["thread"] = "(thread|this_thread::)"
    named["mutex"] = "(mutex|lock_guard|unique_lock|scoped_lock)"
    named["atomic"] = "atomic(<|_)"
    named["fstream"] = "[io]?fstream"
    named["iostream"] = "(cout|cerr|cin|clog)"
    named["sstream"] = "[io]?stringstream"
    named["iomanip"] = "(setw|setprecision|setfill|put_time)[(<]"
  }
  function report(  header) {
    for (header in used)
      if (!(header in included)) { printf "%s:%d: names %s, includes no <%s>\n", file, line_of[header], used[header], header; missing = 1 }
  }
  FNR == 1 { report(); split("", used); split("", included); file = FILENAME }
  /^#include </ { header = $2; gsub(/[<>]/, "", header); included[header] = 1; next }
  {
    text = $0
    sub(/\/\/.*/, "", text)
    if (text !~ /std::/) next
    for (header in named)
      if (!(header in used) && match(text, "(^|[^_[:alnum:]:])(::)?std::" named[header])) {
        if (substr(text, RSTART + RLENGTH, 1) ~ /[_[:alnum:]]/ && substr(text, RSTART + RLENGTH - 1, 1) ~ /[_[:alnum:]]/) continue
        used[header] = substr(text, RSTART, RLENGTH)
        gsub(/^[^:[:alnum:]_]+|[(<:]+$/, "", used[header])
        line_of[header] = FNR
      }
  }
  END { report(); exit missing }
' "${files[@]}" | LC_ALL=C sort
