"""The guides for beginners, docs/start-*.md, followed to the letter: a part of what tools/snippets.py runs.

A guide is a list of steps, which its reader takes one after the other:

    a block of code after a line that ends in "`name`:"    is saved under that name
    a block ```sh                                          is typed into a shell
    a block ```text after it                               is what the shell shows then, all of it
    a block ```pycon                                       is what an interpreter shows

What stands under the heading Install is done before, and not here: the tests have installed what they test.
"""

import re

STEP = re.compile(r"(?:`([\w./-]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALL = re.compile(r"^## Install\n.*?(?=^## )", re.MULTILINE | re.DOTALL)


def steps(text):
    """Pairs of what to do and what it shows, in order: ("save", name, text), ("sh", commands, shown or None), ("pycon", text)."""
    found = []
    for name, language, body in STEP.findall(INSTALL.sub("", text)):
        if name:
            found.append(("save", name, body))
        elif language == "text" and found and found[-1][0] == "sh":
            found[-1] = (*found[-1][:2], body)
        else:
            found.append((language, body, None))
    return found


def follow(page, folder, run, python):
    """Takes every step of a guide in an empty folder; the first thing that is not as the guide says, or "".

    `run` runs a command there and gives its exit status and what it printed."""
    count = 0
    for kind, what, shown in steps(page.read_text()):
        if kind == "save":
            place = folder / what
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(shown)
        elif kind == "sh":
            status, said = run(["bash", "-euc", what])
            if status != 0:
                return f"exit status {status}: {what.strip()}: {said.strip()[-200:]}"
            if shown is not None and said != shown:
                return f"{what.strip()!r} prints {said!r}, and not what the guide shows"
        elif kind == "pycon":
            session = folder / "session.txt"
            session.write_text(what)
            status, said = run([python, "-m", "doctest", session])
            if status != 0:
                return said.strip()[-400:]
        else:
            return f"a block of {kind} that nobody is told what to do with: {what[:40]!r}"
        count += 1
    return "" if count > 1 else "it has no steps"
