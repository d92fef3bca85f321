"""Whether every link of the built site leads somewhere within it, and every picture has a text for those who do not see it."""

import urllib.parse
from html.parser import HTMLParser


class Page(HTMLParser):
    """What a page links to, what can be linked to in it, and pictures without a text."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places, self.mute = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places |= {found[key] for key in ("id", "name") if found.get(key)}
        for key in ("href", "src"):
            if found.get(key):
                self.links.append(found[key])
        if tag == "img" and not (found.get("alt") or "").strip():
            self.mute.append(found.get("src", "?"))

    handle_startendtag = handle_starttag


def faults(root):
    """One line for each dead link and each picture without a text, and how many links were followed; those that leave the
    site are not."""
    pages = {path: Page(path.read_text()) for path in root.rglob("*.html")}
    found, count = [], 0
    for path, page in pages.items():
        name = path.relative_to(root)
        found += [f"{name}: the picture {source} has no text" for source in page.mute]
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link.startswith("http") and link.endswith((".js", ".css")):
                    found.append(f"{name}: {link} is fetched from elsewhere, and the site has to work without a network")
                continue
            count += 1
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{name}: {link} leads to no file")
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].places:
                found.append(f"{name}: {link} leads to no such place in {target.relative_to(root)}")
    return sorted(set(found)), count
