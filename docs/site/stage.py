#!/usr/bin/env python3
"""stage.py <source folder> <folder>: copies docs/ to <folder>/pages, as MkDocs wants it.

A link that leaves docs/ goes to a page made here: a folder becomes a list of its files, a program becomes
a page with its text. Links to pages that do not exist stay as they are, for MkDocs to refuse.
"""
import os
import re
import shutil
import sys

source, work = (os.path.abspath(a) for a in sys.argv[1:3])
docs, pages = os.path.join(source, "docs"), os.path.join(work, "pages")
languages = {".hpp": "cpp", ".cpp": "cpp", ".cu": "cpp", ".cuh": "cpp", ".sh": "bash", ".py": "python"}
copied = (".md", ".svg", ".png", ".css", ".js")
link = re.compile(r"(\]\()([^()\s]+)(\))")
made = set()


def place_of(path):
    """The staged place of a file or folder of the source, without its ending for the site."""
    inside = os.path.relpath(path, docs)
    return inside if not inside.startswith("..") else os.path.join("repository", os.path.relpath(path, source))


def page_of(path):
    """The staged page that shows a path of the source; None: no such path. Makes it where docs/ has none."""
    if os.path.isdir(path):
        for name in ("README.md", "index.md"):
            if os.path.exists(os.path.join(path, name)):
                return page_of(os.path.join(path, name))
        page = os.path.join(place_of(path), "index.md")
        if page not in made:
            made.add(page)
            names = sorted(n for n in os.listdir(path) if not n.startswith(".") and not n.endswith(".out"))
            lines = [f"# {os.path.relpath(path, source)}", ""]
            for name in names:
                if os.path.isfile(os.path.join(path, name)):
                    to = os.path.relpath(page_of(os.path.join(path, name)), os.path.dirname(page))
                    lines.append(f"- [{name}]({to})")
            write(page, "\n".join(lines) + "\n")
        return page
    if not os.path.isfile(path):
        return None
    place = place_of(path)
    ending = os.path.splitext(path)[1]
    if path.startswith(docs + os.sep) and ending in copied:
        return place
    page = place if ending == ".md" else place + ".md" if ending in languages else place
    if page not in made:
        made.add(page)
        if ending == ".md":
            rewrite(path, page)
        elif ending in languages:
            with open(path, encoding="utf-8") as f:
                name = os.path.relpath(path, source)
                write(page, f"# {name}\n\n````{languages[ending]}\n{f.read()}````\n")
        else:
            copy(path, page)
    return page


def write(page, text):
    target = os.path.join(pages, page)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as f:
        f.write(text)


def copy(path, page):
    target = os.path.join(pages, page)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(path, target)


def rewrite(path, page):
    """Copies a Markdown file with its links pointing at the staged pages."""

    def changed(found):
        target, hash_, anchor = found[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        to = page_of(os.path.normpath(os.path.join(os.path.dirname(path), target)))
        if to is None:
            return found[0]
        return found[1] + os.path.relpath(to, os.path.dirname(page) or ".") + hash_ + anchor + found[3]

    fenced = False
    lines = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.lstrip().startswith("```"):
                fenced = not fenced
            lines.append(line if fenced else link.sub(changed, line))
    write(page, "".join(lines))


def main():
    shutil.rmtree(pages, ignore_errors=True)
    for folder, folders, names in os.walk(docs):
        folders[:] = sorted(f for f in folders if f != "site")
        for name in sorted(names):
            path = os.path.join(folder, name)
            ending = os.path.splitext(name)[1]
            if ending == ".md":
                rewrite(path, place_of(path))
            elif ending in copied:
                copy(path, place_of(path))


main()
