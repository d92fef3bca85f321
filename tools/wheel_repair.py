#!/usr/bin/env python3
"""Makes a wheel that runs on other machines: auditwheel puts the shared libraries into it, this adds their licences and a
bill of materials.

Usage: tools/wheel_repair.py WHEEL FOLDER       the new wheel lies in FOLDER

Each library has to come from a Debian package, whose copyright file goes into the wheel; a file NOTICE says what is in it.
Where there is no glibc the wheel is taken as it is.
"""

import base64
import csv
import hashlib
import io
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

import sbom
from sbom import OWN_LICENCE

# Debian's source packages of the image codecs and of what they need.
KNOWN = {"libjpeg-turbo": sbom.JPEG, "libpng1.6": sbom.PNG, "libwebp": sbom.WEBP, "zlib": sbom.ZLIB}

NOTICE_HEAD = """\
dlpark {version} is licensed under the Apache License 2.0, whose text is in LICENSE.

This wheel carries copies of the following libraries, as Debian built them. Each has a licence of its own, whose text is in
the folder named after it. Those texts are Debian's for the whole source package, and so speak of programs, documents and
packaging too, which are not in this wheel. Where they refer to /usr/share/common-licenses/Apache-2.0, see LICENSE.

This software is based in part on the work of the Independent JPEG Group.
"""


def say(text):
    return subprocess.run(text, check=True, capture_output=True, text=True).stdout


# What the program of a wheel says of itself when the codecs' archives are linked into it, and the notice that it then needs.
CODECS_INSIDE = b"libjpeg-turbo version"
NOTICE_PROGRAM = """
The program dlpark of this wheel has libjpeg-turbo, libpng and libwebp in it as well, of the same versions.
"""


class Library:
    """A shared library in the wheel, and the Debian package that it came from."""

    def __init__(self, grafted, data, purls):
        self.grafted = grafted
        self.sha256 = hashlib.sha256(data).hexdigest()
        file_name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", pathlib.PurePosixPath(grafted).name)
        owners = [name for name in sorted(purls) if any(line.endswith(f"/{file_name}") for line in say(["dpkg", "-L", name]).split())]
        if len(owners) != 1:
            raise SystemExit(f"wheel_repair: {grafted} is of no Debian package that auditwheel named: {sorted(purls)}")
        self.package = owners[0]
        self.purl = purls[self.package]
        self.source, self.version = say(["dpkg-query", "-W", "-f", "${source:Package} ${Version}", self.package]).split()
        if self.source not in KNOWN:
            raise SystemExit(f"wheel_repair: the licence of {self.source} is not known here; add it to KNOWN")
        self.name, self.licence, self.home = KNOWN[self.source]
        self.text = pathlib.Path("/usr/share/doc", self.package, "copyright").read_bytes()


def libraries_of(wheel):
    """What auditwheel put in. Its bill of materials names the packages."""
    grafted = sorted(name for name in wheel.namelist() if re.match(r"dlpark\.libs/.*\.so", name))
    purls = {}
    for name in wheel.namelist():
        if name.endswith("/sboms/auditwheel.cdx.json"):
            for component in json.loads(wheel.read(name))["components"]:
                match = re.match(r"pkg:deb/[^/]+/([^@]+)@", component["purl"])
                if match:
                    purls[urllib.parse.unquote(match[1])] = component["purl"]
    return [Library(name, wheel.read(name), purls) for name in grafted]


def program_with_codecs(wheel):
    """The name of the program in the wheel, where the codecs are in it; None where it has none."""
    programs = [name for name in wheel.namelist() if name.endswith(".data/scripts/dlpark")]
    return next((name for name in programs if CODECS_INSIDE in wheel.read(name)), None)


def notice(version, libraries, program):
    parts = [NOTICE_HEAD.format(version=version), NOTICE_PROGRAM if program else ""]
    for library in libraries:
        parts.append(
            f"\n{library.source} {library.version}, in {library.grafted}\n"
            f"    Debian package {library.package}; {library.licence}; {library.source}/copyright\n"
        )
    return "".join(parts).encode()


def bill(version, libraries, program):
    """What is in the wheel. The program, where it has the codecs' archives in it, has what their packages' libraries have."""
    subject = sbom.component("dlpark", OWN_LICENCE, stated=version, purl=f"pkg:pypi/dlpark@{version}")
    parts = []
    for library in libraries:
        files = [library.grafted, *([program] if program else [])]
        more = {"stated": library.version, "home": library.home, "purl": library.purl, "sha256": library.sha256}
        parts.append(sbom.component(library.name, library.licence, files=files, **more))
    return sbom.document(subject, parts, {"dlpark": [library.name for library in libraries]})


def metadata(text, libraries, files):
    """The package's metadata, with all licences and the files that have their texts."""
    parts = {OWN_LICENCE}
    for library in libraries:
        parts.update(library.licence.split(" AND "))
    expression = " AND ".join(sorted(parts, key=lambda name: (name != OWN_LICENCE, name)))
    head, blank, body = text.decode().partition("\n\n")
    lines = []
    for line in head.split("\n"):
        if line == f"License-Expression: {OWN_LICENCE}":
            line = f"License-Expression: {expression}"
        lines.append(line)
        if line == "License-File: LICENSE":
            lines += [f"License-File: {name}" for name in files]
    if f"License-Expression: {expression}" not in lines or len(lines) != head.count("\n") + 1 + len(files):
        raise SystemExit("wheel_repair: the metadata has no License-Expression and License-File to be added to")
    return ("\n".join(lines) + blank + body).encode()


def record(text, changed):
    """RECORD with the files that were changed or added."""
    rows = [row for row in csv.reader(io.StringIO(text.decode())) if row and row[0] not in changed]
    for name, data in changed.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append([name, f"sha256={digest}", str(len(data))])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(sorted(rows))
    return out.getvalue().encode()


def add_licences(path, out):
    """Writes the wheel anew, with the licences of its libraries, and the bill."""
    with zipfile.ZipFile(path) as wheel:
        (info,) = {name.split("/")[0] for name in wheel.namelist() if re.match(r"dlpark-[^/]*\.dist-info/", name)}
        libraries = libraries_of(wheel)
        texts = {f"{library.source}/copyright": library.text for library in libraries}
        version, program = path.name.split("-")[1], program_with_codecs(wheel)
        texts["NOTICE"] = notice(version, libraries, program)
        changed = {f"{info}/licenses/{name}": text for name, text in texts.items()} if libraries else {}
        changed[f"{info}/sboms/dlpark.cdx.json"] = bill(version, libraries, program)
        if libraries:
            changed[f"{info}/METADATA"] = metadata(wheel.read(f"{info}/METADATA"), libraries, sorted(texts))
        with zipfile.ZipFile(out / path.name, "w", zipfile.ZIP_DEFLATED) as new:
            for item in wheel.infolist():
                if item.filename not in changed and item.filename != f"{info}/RECORD" and not item.is_dir():
                    item.external_attr = (0o100755 if item.external_attr >> 16 & 0o100 else 0o100644) << 16  # whatever the umask
                    new.writestr(item, wheel.read(item), zipfile.ZIP_DEFLATED)
            changed_record = record(wheel.read(f"{info}/RECORD"), changed)
            for name, text in {**changed, f"{info}/RECORD": changed_record}.items():
                entry = zipfile.ZipInfo(name, wheel.getinfo(f"{info}/RECORD").date_time)
                entry.external_attr = 0o100644 << 16
                new.writestr(entry, text, zipfile.ZIP_DEFLATED)


def main(wheel, out):
    out.mkdir(parents=True, exist_ok=True)
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        print("wheel_repair: no glibc here, so the wheel keeps the libraries outside", file=sys.stderr)
        shutil.copy(wheel, out)
        return
    with tempfile.TemporaryDirectory(prefix="dlpark-repair-") as scratch:
        command = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "-w", scratch, wheel]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"wheel_repair: auditwheel failed:\n{done.stdout}{done.stderr}")
        (repaired,) = pathlib.Path(scratch).glob("*.whl")
        add_licences(repaired, out)


if __name__ == "__main__":
    if "--help" in sys.argv:
        print(__doc__)
        sys.exit(0)
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
