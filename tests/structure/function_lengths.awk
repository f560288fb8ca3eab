# awk -f function_lengths.awk <files...>: one line `<lines> <file>:<line> <name>` for each function.
#
# A function is a block at namespace or class scope whose head has a parameter list and no `=` of its
# own; what stands inside one belongs to it. Comments, strings and preprocessor lines do not count as
# text. Its length is that from the line of its opening brace to that of its closing one.

function finish_file() {
  if (file != "" && depth != 0) {
    print file ": braces do not balance (" depth " open at the end)" > "/dev/stderr"
    failed = 1
  }
}

# The text without template heads, parenthesised parts and operator names that hold an `=`.
function plain(text,   i, c, angle, out, before) {
  gsub(/operator *[-+*\/%^&|~!=<>]+/, "operator", text)
  while (match(text, /template *</)) {
    before = substr(text, 1, RSTART - 1)
    angle = 1
    for (i = RSTART + RLENGTH; i <= length(text) && angle > 0; i++) {
      c = substr(text, i, 1)
      if (c == "<") angle++
      if (c == ">") angle--
    }
    text = before substr(text, i)
  }
  out = text
  while (sub(/\([^()]*\)/, "@", out)) {}
  return out
}

function is_function(head,   text) {
  text = plain(head)
  if (text ~ /(^|[^A-Za-z_0-9])(namespace|class|struct|union|enum|extern|concept)([^A-Za-z_0-9]|$)/ &&
      text !~ /@/) return 0
  gsub(/[=!<>]=/, " ", text)
  return text ~ /@/ && text !~ /=/ && text !~ /\(/
}

function name_of(head,   text) {
  text = plain(head)
  sub(/@.*/, "", text)
  gsub(/^.*[ \t*&]/, "", text)
  return text == "" ? "?" : text
}

FNR == 1 {
  finish_file()
  file = FILENAME
  depth = 0; inside = 0; head = ""; comment = 0; raw = ""; continued = 0; paren = 0
}

{
  line = $0
  if (raw == "" && !comment && (continued || line ~ /^[ \t]*#/)) {
    continued = line ~ /\\$/
    next
  }
  n = length(line)
  for (i = 1; i <= n; i++) {
    if (comment) {
      p = index(substr(line, i), "*/")
      if (p == 0) break
      i += p; comment = 0
      continue
    }
    if (raw != "") {
      p = index(substr(line, i), raw)
      if (p == 0) break
      i += p + length(raw) - 2; raw = ""
      continue
    }
    c = substr(line, i, 1)
    two = substr(line, i, 2)
    if (two == "//") break
    if (two == "/*") { comment = 1; i++; continue }
    if (two == "R\"" && match(substr(line, i), /^R"[^(]*\(/)) {
      raw = ")" substr(line, i + 2, RLENGTH - 3) "\""
      i += RLENGTH - 1
      continue
    }
    if (c == "\"" || (c == "'" && substr(line, i - 1, 3) !~ /^[0-9a-fA-F]'[0-9a-fA-F]$/)) {
      for (i++; i <= n; i++) {
        d = substr(line, i, 1)
        if (d == "\\") { i++; continue }
        if (d == c) break
      }
      if (!inside) head = head "s"
      continue
    }
    if (!inside && c == "(") paren++
    if (!inside && c == ")") paren--
    if (!inside && paren > 0) {  # also the braces of a default argument
      if (c !~ /[{}]/) head = head c
      continue
    }
    if (c == "{") {
      depth++
      if (!inside) {
        function_head = head
        if (is_function(head)) { inside = depth; begin = FNR; name = name_of(head) }
        head = ""
      }
      continue
    }
    if (c == "}") {
      if (inside == depth) {
        inside = 0
        rest = substr(line, i + 1)
        sub(/^[ \t]+/, "", rest)
        if (rest ~ /^[,{]/) {
          head = function_head "{}"  # a member in a constructor's list: the body is still to come
          sub(/=/, "", head)
        } else {
          print FNR - begin + 1, file ":" begin, name
          head = ""
        }
      } else if (!inside) {
        head = ""
      }
      depth--
      continue
    }
    if (inside) continue
    if (c == ";") {
      head = ""
      continue
    }
    if (two == "::") { head = head "::"; i++; continue }
    if (c == ":" && head ~ /^[ \t]*(public|private|protected)[ \t]*$/) { head = ""; continue }
    head = head c
  }
  if (!inside) head = head " "
}

END {
  finish_file()
  exit failed
}
