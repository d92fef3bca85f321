#!/usr/bin/env python3
"""The manual pages of the C calls, section 3, from the comments of the public headers.

Usage: tools/man_pages.py FOLDER [HEADER...]      FOLDER/man3 gets them; HEADER: copy.h, say; all, if none is said

A page for each function that has a comment; those that stand below it without one of their own lead to it. For each header,
dlpark-copy(3), say, has its introduction and lists its functions. The same tree gives the same bytes.
"""

import argparse
import datetime
import pathlib
import re
import sys
import textwrap

from source_tree import ROOT, epoch, version

HEADERS = ROOT / "include" / "dlpark"
DECLARATION = re.compile(r"(?:/\*\*(?!<)((?:(?!\*/).)*)\*/\s*)?^((?:DLPARK_API|DLPARK_INLINE)\b[^;{#]*?\))\s*[;{]", re.DOTALL | re.MULTILINE)
ATTRIBUTES = re.compile(r'\b(?:DLPARK_API|DLPARK_INLINE|DLPARK_NODISCARD|DLPARK_COLD|DLPARK_PRINTF\([^)]*\)|DLPARK_DEPRECATED\("[^"]*"\))\s*')
LABEL = re.compile(r"([A-Z][a-z]+):\s+(.*)")
TITLES = {"Ownership": "OWNERSHIP", "Threads": "THREADS"}


class Function:
    """A function of a header: its declaration, and what its comment says."""

    def __init__(self, declaration, comment):
        self.declaration = " ".join(ATTRIBUTES.sub("", declaration).split())
        self.name = re.match(r"[^(]*?(\w+)\(", self.declaration)[1]
        self.comment = comment
        self.description, self.parameters, self.result, self.labels = [], [], "", []
        if comment is not None:
            self.read(clean(comment))

    def read(self, lines):
        """Sorts the lines of a comment: description, then @param, @return and "Threads:"."""
        sink = None
        for line in lines:
            tag = re.match(r"@(param|return)\s+(.*)", line)
            label = LABEL.match(line)
            if tag and tag[1] == "param":
                names, _, text = re.match(r"((?:\w+, )*\w+)(\s+)?(.*)", tag[2]).groups()
                sink = [names, text]
                self.parameters.append(sink)
            elif tag:
                sink = ["", tag[2]]
                self.labels.append(["RETURN", sink])
            elif label and (sink is not None or label[1] in TITLES):
                sink = ["", label[2]]
                self.labels.append([label[1], sink])
            elif sink is None:
                self.description.append(line)
            elif line.strip():
                sink[1] += " " + line.strip()
        self.result = next((sink[1] for name, sink in self.labels if name == "RETURN"), "")
        self.labels = [(name, sink[1]) for name, sink in self.labels if name != "RETURN"]


def clean(comment):
    """The lines of a comment, without its stars."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().split("\n")]
    return [line for i, line in enumerate(lines) if line or 0 < i < len(lines) - 1]


class Header:
    """A public header: its introduction, its functions, and which of them have a page in common."""

    def __init__(self, path):
        text = path.read_text()
        self.name = path.name
        self.page = f"dlpark-{path.stem}"
        self.introduction = clean(re.match(r"\s*/\*\*(.*?)\*/", text, re.DOTALL)[1])
        self.functions, self.aliases = [], {}
        self.others = []  # declarations without a comment anywhere near
        self.above = None
        past = 0
        for found in DECLARATION.finditer(text):
            function = Function(found[2], found[1] or None)
            near = "\n\n" not in text[past : found.start(2)] and not found[1]
            past = found.end()
            if not function.name.startswith("dlpark__") and function.name not in self.names():
                self.add(function, near)

    def names(self):
        return {function.name for function in self.functions} | self.aliases.keys()

    def add(self, function, near):
        """A page of its own, or an alias: of what its _sized does the work, of what stands above it, of the header's."""
        caller = function.name.removesuffix("_sized")
        above, self.above = self.above, function.name
        if caller != function.name and caller in self.names():
            self.aliases[function.name] = caller
        elif function.comment is not None:
            self.functions.append(function)
        elif near and self.functions and above == self.functions[-1].name:
            self.above = above
            self.aliases[function.name] = self.functions[-1].name
            self.functions[-1].declaration += ";\n" + function.declaration
        else:
            self.aliases[function.name] = self.page
            self.others.append(function.declaration)


# ---- Text as roff takes it ----


def escape(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def marked(text):
    """Code and functions in bold, and the rest as it is."""
    parts = re.split(r"(`[^`]+`|\bdlpark_\w+\(\)|\bDLPARK_\w+|(?<!\w)\*\w+\*)", text)
    fonts = ["BI"[part.startswith("*")] for part in parts]
    return "".join(escape(part) if i % 2 == 0 else f"\\f{fonts[i]}{escape(part.strip('`*'))}\\fP" for i, part in enumerate(parts))


def filled(text):
    """Lines of text that is filled; none begins as a request does."""
    lines = textwrap.wrap(marked(" ".join(text.split())), 78, break_long_words=False, break_on_hyphens=False)
    return ["\\&" + line if line[0] in ".'" else line for line in lines]


def described(lines):
    """Paragraphs, code where it is indented, and lists where lines begin with a dash."""
    out, paragraph, code = [], [], []

    def flush():
        if paragraph:
            out.extend([".PP", *filled(" ".join(paragraph))])
            paragraph.clear()
        while code and not code[-1]:
            code.pop()
        if code:
            out.extend([".PP", ".in +4n", ".EX", *("\\&" + escape(line) if line else "\\&" for line in code), ".EE", ".in"])
            code.clear()

    for line in lines:
        if line.startswith("    ") and not paragraph:
            code.append(line[4:])
        elif code and not line:
            code.append("")
        elif not line or code or line.startswith("- "):
            flush()
            if line:
                paragraph.append(line)
        else:
            paragraph.append(line)
    flush()
    return out[1:] if out[:1] == [".PP"] else out


def prototype(declaration):
    """A declaration in bold, its parameters' names in italics, a line for each where one is too long."""
    head, _, tail = declaration.partition("(")
    parts = re.split(r",\s*(?![^()]*\))", tail[:-1])
    single = f"{head}({', '.join(parts)});"
    breaks = [parts] if len(single) <= 76 else [[part] for part in parts]
    out = []
    for i, group in enumerate(breaks):
        text = ", ".join(re.sub(r"(?<=[ *])(\w+)((?:\[\w*\])*)$", r"\\fI\1\\fB\2", escape(part)) for part in group)
        start = f"\\fB{escape(head)}(" if i == 0 else "\\fB    "
        out.append(start + text + (");\\fP" if i == len(breaks) - 1 else ",\\fP"))
    return out


def summary(lines, ends=".:;"):
    """The first sentence, for the line that whatis shows."""
    text = " ".join(line for line in lines[: lines.index("")] if line) if "" in lines else " ".join(lines)
    sentence = re.split(rf"(?<=[a-z0-9`)])[{ends}](?:\s|$)", text)[0].strip().rstrip(".:")
    return escape(sentence.replace("`", ""))


# ---- Pages ----


def statuses():
    """What each DLPARK_E_X means where a function says no more."""
    text = (HEADERS / "status.h").read_text()
    return {f"DLPARK_{name}": said for name, said in re.findall(r'X\((E_\w+), \d+, \w+, "([^"]*)"\)', text)}


def errors(result, meanings):
    """The failures that a function names, with what it says of each."""
    out = []
    for name, said in re.findall(r"\b(DLPARK_E_\w+)(?:\s+\(((?:[^()]|\([^()]*\))*)\))?", result):
        if f".B {name}" not in out:
            out += [".TP", f".B {name}", *filled(said or meanings.get(name, "as its name says"))]
    return out


def title(name):
    day = datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).date().isoformat()
    return f'.TH "{escape(name)}" 3 "{day}" "dlpark {version()}" "Library Functions Manual"\n.nh\n.ad l'


def include(header, library):
    lines = [f"\\fB#include <dlpark/{header.name}>\\fP"]
    return [".SH LIBRARY", *filled(library), ".SH SYNOPSIS", ".nf", *lines]


def see_also(names):
    return [".SH SEE ALSO", *(f".BR {escape(name)} (3){',' if i < len(names) - 1 else ''}" for i, name in enumerate(names))]


def function_page(function, header, library, known, meanings):
    out = [title(function.name), ".SH NAME", f"{escape(function.name)} \\- {summary(function.description)}"]
    out += [*include(header, library), ".PP"]
    for declaration in function.declaration.split(";\n"):
        out += prototype(declaration)
    out += [".fi", ".SH DESCRIPTION", *described(function.description)]
    if function.parameters:
        out.append(".SH PARAMETERS")
        for names, text in function.parameters:
            out += [".TP", f".I {escape(names)}", *filled(text)]
    if function.result:
        out += [".SH RETURN VALUE", *filled(function.result)]
        out += [".SH ERRORS", *errors(function.result, meanings)] if "DLPARK_E_" in function.result else []
    for name, text in function.labels:
        out += [f".SH {TITLES.get(name, name.upper())}", *filled(text)]
    mentioned = set(re.findall(r"\b(dlpark_\w+)\(\)", function.comment)) & known - {function.name}
    return "\n".join(out + see_also([header.page, *sorted(mentioned)])) + "\n"


def header_page(header, library):
    what = summary(header.introduction, ".;")
    out = [title(header.page), ".SH NAME", f"{escape(header.page)} \\- {what}"]
    out += include(header, library)
    for declaration in header.others:
        out += prototype(declaration)
    out += [".fi", ".SH DESCRIPTION", *described(header.introduction)]
    if header.functions:
        out.append(".SH FUNCTIONS")
        for function in header.functions:
            out += [".TP", f".BR {escape(function.name)} (3)", summary(function.description)]
    return "\n".join(out + [".SH SEE ALSO", ".BR dlpark (1)"]) + "\n"


def libraries():
    """In which library the functions of each header are, by the CMake files that build it."""
    found = {}
    for path in sorted((ROOT / "src").rglob("CMakeLists.txt")):
        for call, body in re.findall(r"(dlpark_add_library|dlpark_extend_library|dlpark_add_kit)\((.*?)\)", path.read_text(), re.DOTALL):
            name, kit = body.split()[0], call == "dlpark_add_kit"
            output = "libdlpark" if name == "core" else f"libdlpark-{name}"
            text = "The extension kit, which an extension compiles in (dlpark::python)" if kit else f"{output} (-l{output[3:]}, dlpark::{name})"
            for header in re.findall(r"\b\w+\.h\b", body.partition("HEADERS")[2]):
                found.setdefault(header, text)
    return found


def write(folder, wanted):
    """Writes the pages; how many, and how many of them are aliases."""
    headers = [Header(path) for path in sorted(HEADERS.glob("*.h"))]
    known = {name for header in headers for name in header.names()}
    where, meanings, pages = libraries(), statuses(), {}
    for header in headers:
        if header.name not in (wanted or where) or not header.functions:
            continue
        library = where[header.name]
        pages[header.page] = header_page(header, library)
        for function in header.functions:
            pages[function.name] = function_page(function, header, library, known, meanings)
        for alias, name in header.aliases.items():
            pages[alias] = f".so man3/{name}.3\n"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("dlpark[_-]*.3"):
        old.unlink()
    for name, text in pages.items():
        (folder / f"{name}.3").write_text(text)
    return len(pages), sum(text.startswith(".so") for text in pages.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("headers", nargs="*", metavar="HEADER")
    arguments = parser.parse_args()
    missing = [name for name in arguments.headers if not (HEADERS / name).exists()]
    if missing:
        parser.error(f"there is no {missing[0]} in include/dlpark")
    count, aliases = write(arguments.folder / "man3", arguments.headers)
    print(f"man_pages: {count} pages, {aliases} of them lead to others")
    return 0


if __name__ == "__main__":
    sys.exit(main())
