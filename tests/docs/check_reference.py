#!/usr/bin/env python3
"""check_reference.py <include folder> <Doxygen's XML>: every documented function and struct is in the reference.

The headers are read here without Doxygen: a `///` comment, then a declaration at namespace scope. Its name
must be in the XML, in the same header, with a text. Functions without a comment are counted, and may not
become more than the number below.
"""
import collections
import glob
import os
import re
import sys
import xml.etree.ElementTree as tree

undocumented_at_most = 0
include, xml = sys.argv[1:3]

# --- what Doxygen wrote ---------------------------------------------------------------------------

shown = collections.defaultdict(set)  # header -> names that it documents
functions, bare, fields = 0, [], collections.Counter()


def text_of(node):
    parts = [node.find(name) for name in ("briefdescription", "detaileddescription")]
    return " ".join(" ".join(p.itertext()) for p in parts if p is not None).strip()


seen = set()
for path in glob.glob(os.path.join(xml, "*.xml")):
    for compound in tree.parse(path).getroot().iter("compounddef"):
        location = compound.find("location")
        name = compound.findtext("compoundname", "")
        if location is not None and compound.get("kind") in ("struct", "class", "concept") and text_of(compound):
            shown[location.get("file")].add(name.split("<")[0].strip().split("::")[-1])
        if compound.get("kind") not in ("namespace", "file"):
            continue
        for member in compound.iter("memberdef"):
            location = member.find("location")
            if location is None or member.get("id") in seen:
                continue
            seen.add(member.get("id"))
            text, file = text_of(member), location.get("file")
            if text:
                shown[file].add(member.findtext("name"))
            if member.get("kind") == "function" and "::detail" not in member.findtext("definition", ""):
                functions += 1
                if not text:
                    bare.append(f"{file}: {member.findtext('name')}")
                for field in ("Source", "Leaves out", "Errors", "Test"):
                    fields[field] += bool(re.search(rf"\b{field}\s*:", text))

# --- what the headers document --------------------------------------------------------------------

opens = re.compile(r"^(?:inline |constexpr |consteval |\[\[nodiscard\]\] |extern |friend |static )*")
missing, documented = [], 0
for folder, _, names in os.walk(include):
    for name in sorted(names):
        if not name.endswith(".hpp"):
            continue
        path = os.path.join(folder, name)
        header = os.path.relpath(path, os.path.dirname(include) if include.endswith("/") else include)
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        detail = False
        at = 0
        while at < len(lines):
            line = lines[at]
            if re.match(r"namespace .*\bdetail\b.*\{", line):
                detail = True
            if re.match(r"\}\s*// namespace .*\bdetail\b", line):
                detail = False
            if not line.startswith("///") or detail:
                at += 1
                continue
            while at < len(lines) and lines[at].startswith("///"):
                at += 1
            declaration = ""
            while at < len(lines) and lines[at] and not lines[at].startswith("//"):
                declaration += " " + lines[at].strip()
                at += 1
                if re.search(r"[;{]\s*(//.*)?$", lines[at - 1]):
                    break
            found = None
            struct = re.match(r" (?:template <[^()]*?> (?:requires .*? )?)?(?:struct|class|concept) (?:\[\[\w+\]\] )?(\w+)\b(?!>)", declaration)
            if struct:
                found = struct[1]
            elif "(" in declaration and not re.match(r" (?:using|enum|namespace|#)", declaration):
                bare_text = re.sub(r"\b(?:requires|noexcept|decltype|explicit|alignas)\s*\(", "", declaration)
                call = re.search(r"(?<![\w:.])(?!(?:requires|if|return|static_assert)\b)([a-z]\w*)\s*\((?!\()", bare_text)
                found = call[1] if call and "operator" not in declaration and "=" not in bare_text[: call.start()].split(">")[-1] else None
            if found:
                documented += 1
                if found not in shown[header] and not any(
                    found in names_ for file, names_ in shown.items() if file == header or file.endswith("/" + header)
                ):
                    missing.append(f"{header}: {found}")

for line in missing:
    print(f"{line}: has a comment, and is not in the reference")
print(f"{documented} documented functions and structs, {len(missing)} not in the reference")
print(f"{functions} functions, {len(bare)} without a comment; with " + ", ".join(f"{k} {v}" for k, v in fields.items()))
if len(bare) > undocumented_at_most:
    print("\n".join(bare))
    print(f"more than {undocumented_at_most} functions without a comment")
sys.exit(1 if missing or not documented or len(bare) > undocumented_at_most else 0)
