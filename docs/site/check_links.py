#!/usr/bin/env python3
"""check_links.py <site>: each link of each HTML page names a file and an anchor that exist; nothing is fetched.

Pages of the API reference are targets only: Doxygen makes their links itself. Prints each dead link, and
ends with 1 where there is one. An https link is accepted as text, but not as a script, a style or a picture:
the site works without a network.
"""
import html.parser
import os
import sys
import urllib.parse

site = os.path.abspath(sys.argv[1])


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        have = dict(attributes)
        for name in ("id", "name"):
            if have.get(name):
                self.anchors.add(have[name])
        if tag == "a" and have.get("href"):
            self.links.append(have["href"])
        if tag in ("img", "script", "iframe", "source") and have.get("src"):
            self.loads.append(have["src"])
        if tag == "link" and have.get("rel") != "canonical" and have.get("href"):
            self.loads.append(have["href"])


read = {}


def page_at(path):
    if path not in read:
        with open(path, encoding="utf-8", errors="replace") as f:
            read[path] = Page(f.read())
    return read[path]


def fault(path, target, loaded):
    """Why a target is dead, or None."""
    parts = urllib.parse.urlsplit(target)
    if parts.scheme in ("http", "https") or parts.netloc:
        return "fetched from the network" if loaded else None
    if parts.scheme:
        return None
    to = path
    if parts.path:
        to = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)))
    if os.path.isdir(to):
        to = os.path.join(to, "index.html")
    if not to.startswith(site) or not os.path.isfile(to):
        return "no such file"
    anchor = urllib.parse.unquote(parts.fragment)
    if anchor and to.endswith(".html") and anchor not in page_at(to).anchors | {"__nav", "top"}:
        return "no such anchor"
    return None


pages = links = dead = 0
for folder, folders, names in os.walk(site):
    folders[:] = sorted(f for f in folders if os.path.join(folder, f) != os.path.join(site, "reference"))
    for name in sorted(names):
        if not name.endswith(".html") or name == "404.html":
            continue
        path = os.path.join(folder, name)
        pages += 1
        page = page_at(path)
        for target, loaded in [(t, False) for t in page.links] + [(t, True) for t in page.loads]:
            links += 1
            why = fault(path, target, loaded)
            if why:
                dead += 1
                print(f"{os.path.relpath(path, site)}: {target}: {why}")
print(f"{pages} pages, {links} links, {dead} dead")
sys.exit(1 if dead or not pages else 0)
