# mutants.awk <header>: one line for each mutant, "line TAB from TAB length TAB replacement TAB kind". The text
# between is what a person gets wrong in a formula; comments, strings, includes and templates' brackets stay.

function mutant(from, length_of, replacement, kind) {
  printf "%d\t%d\t%d\t%s\t%s\n", NR, from, length_of, replacement, kind
}

# each(<what>, <replacement>, <kind>): every place of a fixed text in the code of this line.
function each(what, replacement, kind,    at, rest, base) {
  rest = code
  base = 0
  while ((at = index(rest, what)) > 0) {
    mutant(base + at, length(what), replacement, kind)
    base += at + length(what) - 1
    rest = substr(rest, at + length(what))
  }
}

# words(<what>, <with>): each place of a whole name, exchanged.
function words(what, with,    at, rest, base) {
  rest = code
  base = 0
  while ((at = index(rest, what)) > 0) {
    if ((at == 1 || substr(rest, at - 1, 1) !~ /[A-Za-z0-9_]/) &&
        substr(rest, at + length(what), 1) !~ /[A-Za-z0-9_]/)
      mutant(base + at, length(what), with, "a sibling's name")
    base += at + length(what) - 1
    rest = substr(rest, at + length(what))
  }
}
function siblings(a, b) {
  words(a, b)
  words(b, a)
}

# blanked(<line>): the line with strings and comments as spaces, so that columns stay.
function blanked(s,    i, c, inside, out) {
  inside = 0
  out = ""
  for (i = 1; i <= length(s); i++) {
    c = substr(s, i, 1)
    if (!inside && substr(s, i, 2) == "//") {
      while (length(out) < length(s)) out = out " "
      return out
    }
    if (c == "\"") {
      inside = !inside
      out = out " "
    } else if (inside && c == "\\") {
      out = out "  "
      i++
    } else {
      out = out (inside ? " " : c)
    }
  }
  return out
}

/^[ \t]*#/ { next }
/static constexpr void fields/ { skipping = 1 }
skipping { if ($0 ~ /^  }$/) skipping = 0; next }
/static_assert|template <|concept |requires|operator|namespace/ { next }
# A loop over all elements, one further: what no C++ defines, and a sanitizer finds.
/for \(.* < [a-z_.]*size\(\)/ { next }
{
  code = blanked($0)
  # A unit of value 1 is a factor that is none, and so is its inverse.
  while (match(code, / [*\/] (flop|byte|second|request|token)[;,)]/) > 0) {
    code = substr(code, 1, RSTART - 1) substr("               ", 1, RLENGTH) substr(code, RSTART + RLENGTH)
  }
  # A formula has an operator or a call; declarations of interfaces have none of these.
  each(" + ", " - ", "plus for minus")
  each(" - ", " + ", "minus for plus")
  each(" * ", " / ", "times for divided by")
  each(" / ", " * ", "divided by for times")
  each("ceil(", "floor(", "ceil for floor")
  each("floor(", "ceil(", "floor for ceil")
  each("scalar_min(", "scalar_max(", "min for max")
  each("scalar_max(", "scalar_min(", "max for min")
  each(" <= ", " < ", "at most for less")
  each(" >= ", " > ", "at least for more")
  each(" < ", " <= ", "less for at most")
  each(" > ", " >= ", "more for at least")
  each("2.0", "1.0", "a factor of two dropped")
  each("0.5", "1.0", "a half dropped")
  each(" + 1.0", "", "one more dropped")
  each(" - 1.0", "", "one less dropped")
  # A last factor or term that is a name: dropped.
  rest = code
  base = 0
  while (match(rest, / [*\/+-] [a-z_][a-z_.]*[;,)]/) > 0) {
    mutant(base + RSTART, RLENGTH - 1, "", "a term dropped")
    base += RSTART + RLENGTH - 1
    rest = substr(rest, RSTART + RLENGTH)
  }
  each(" && ", " || ", "or for and")
  each(" || ", " && ", "and for or")
  each("= true;", "= false;", "a flag flipped")
  each("= false;", "= true;", "a flag flipped")
  # A constant, by 10 %: one with a point that is no 1.0, 2.0, 0.5 or 0.0, which other kinds change.
  rest = code
  base = 0
  while (match(rest, /[^A-Za-z0-9_.][0-9]+\.[0-9]+(e-?[0-9]+)?/) > 0) {
    number = substr(rest, RSTART + 1, RLENGTH - 1)
    if (number + 0 != 0 && number + 0 != 1 && number + 0 != 2 && number + 0 != 0.5)
      mutant(base + RSTART + 1, RLENGTH - 1, "(1.1 * " number ")", "a constant moved by 10 %")
    base += RSTART + RLENGTH - 1
    rest = substr(rest, RSTART + RLENGTH)
  }
  # A name exchanged for its sibling.
  siblings("prefill", "decode")
  siblings("weights", "activations")
  siblings("read", "written")
  siblings("input", "output")
  siblings("input_tokens", "output_tokens")
  siblings("query_heads", "kv_heads")
  siblings("first", "last")
  siblings("before", "after")
  siblings("lower", "upper")
  siblings("sent", "received")
  # A statement of one line dropped: an assignment to a member, an early return.
  if ((code !~ /[.]name = / && match(code, /^ *[a-z_]+[.][a-z_.]+ [+*-]?= [^=].*;$/)) || match(code, /^ *if \(.*\) return.*;$/)) {
    match(code, /[^ ]/)
    mutant(RSTART, length(code) - RSTART + 1, ";", code ~ /return/ ? "an early return dropped" : "an assignment dropped")
  }
  # A first factor that is a name: dropped.
  rest = code
  base = 0
  while (match(rest, /[(=] ?[a-z_][a-z_.]* \* /) > 0) {
    lead = substr(rest, RSTART, 2) ~ / $/ ? 2 : 1
    mutant(base + RSTART + lead, RLENGTH - lead, "", "a factor dropped")
    base += RSTART + RLENGTH - 1
    rest = substr(rest, RSTART + RLENGTH)
  }
  # f(a, b) of two plain names: swapped.
  rest = code
  base = 0
  while (match(rest, /\([a-z_][a-z_.]*, [a-z_][a-z_.]*\)/) > 0) {
    inside = substr(rest, RSTART + 1, RLENGTH - 2)
    before = substr(rest, 1, RSTART - 1)
    if (before ~ /(soft_max|wider|scalar_min|scalar_max|[^a-z_]min|[^a-z_]max)$/) {  # the same either way
      base += RSTART + RLENGTH - 1
      rest = substr(rest, RSTART + RLENGTH)
      continue
    }
    comma = index(inside, ", ")
    first = substr(inside, 1, comma - 1)
    second = substr(inside, comma + 2)
    if (first != second) mutant(base + RSTART, RLENGTH, "(" second ", " first ")", "arguments swapped")
    base += RSTART + RLENGTH - 1
    rest = substr(rest, RSTART + RLENGTH)
  }
}
