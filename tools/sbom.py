#!/usr/bin/env python3
"""What is in dlpark, for programs that look for licences and known faults: a bill of materials, CycloneDX 1.6 in JSON.

Usage: tools/sbom.py [--out FOLDER]       FOLDER: dist, if not said

Writes dlpark-X.Y.Z.cdx.json, of the C libraries: each with what it links when it is built, in whatever version the system has. A
wheel carries libraries of others; its own bill, dlpark-X.Y.Z.dist-info/sboms/dlpark.cdx.json, is written by tools/wheel_repair.py
by what is below, and names their versions and hashes.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import sys
import uuid

from source_tree import ROOT, epoch, version

OWN_LICENCE = "Apache-2.0"

# What each adapter links: its name, the licence as SPDX names it, and where it is from. Those of the image codecs are what is
# linked of their source packages, which tools/wheel_repair.py finds by Debian's names.
JPEG = ("libjpeg-turbo", "BSD-3-Clause AND IJG AND Zlib", "https://libjpeg-turbo.org")
PNG = ("libpng", "libpng-2.0", "http://www.libpng.org/pub/png/libpng.html")
WEBP = ("libwebp", "BSD-3-Clause", "https://chromium.googlesource.com/webm/libwebp")
ZLIB = ("zlib", "Zlib", "https://zlib.net")
LINKED = {
    "arrow": [],
    "avframe": [("libavutil", "LGPL-2.1-or-later", "https://ffmpeg.org")],
    "ggml": [("ggml", "MIT", "https://github.com/ggml-org/ggml")],
    "gsl": [("gsl", "GPL-3.0-or-later", "https://www.gnu.org/software/gsl/")],
    "image": [JPEG, PNG, WEBP],
    "mpi": [("openmpi", "BSD-3-Clause", "https://www.open-mpi.org")],
    "onnxruntime": [("onnxruntime", "MIT", "https://onnxruntime.ai")],
    "vips": [("libvips", "LGPL-2.1-or-later", "https://www.libvips.org")],
    "zlib": [ZLIB],
}


def component(name, licence, *, ref=None, stated=None, home=None, purl=None, sha256=None, files=(), kind="library"):
    """A part, as CycloneDX wants it. `files`: where it lies in what the bill is about."""
    part = {"type": kind, "bom-ref": ref or name, "name": name}
    if stated:
        part["version"] = stated
    if sha256:
        part["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    one = " " not in licence
    part["licenses"] = [{"license": {"id": licence}}] if one else [{"expression": licence}]
    if purl:
        part["purl"] = purl
    if home:
        part["externalReferences"] = [{"type": "website", "url": home}]
    if files:
        part["properties"] = [{"name": "dlpark:file", "value": file} for file in files]
    return part


def document(subject, parts, needs):
    """The whole bill, as bytes. `needs`: of each part that needs others, their names. The same parts give the same bytes."""
    when = datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc)
    refs = [subject["bom-ref"], *(part["bom-ref"] for part in parts)]
    body = {
        "metadata": {"timestamp": when.isoformat().replace("+00:00", "Z"), "component": subject},
        "components": parts,
        "dependencies": [{"ref": ref, "dependsOn": needs.get(ref, [])} for ref in refs],
    }
    identity = uuid.UUID(bytes=hashlib.sha256(json.dumps(body).encode()).digest()[:16], version=4)
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{identity}", "version": 1}
    return (json.dumps({**head, **body}, indent=1) + "\n").encode()


def of_libraries():
    """The bill of the C libraries."""
    own = version()
    subject = component("dlpark", OWN_LICENCE, stated=own, purl=f"pkg:generic/dlpark@{own}")
    parts = [component("libdlpark", OWN_LICENCE, stated=own)]
    needs = {"dlpark": ["libdlpark"]}
    outside = {}
    for adapter, linked in LINKED.items():
        name = f"libdlpark-{adapter}"
        parts.append({**component(name, OWN_LICENCE, stated=own), "scope": "optional"})
        needs["dlpark"].append(name)
        needs[name] = ["libdlpark", *(other for other, *_ in linked)]
        for other, licence, home in linked:
            outside[other] = {**component(other, licence, home=home), "scope": "optional"}
    return document(subject, parts + [outside[name] for name in sorted(outside)], needs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist", help="where to; dist, if not said")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"dlpark-{version()}.cdx.json"
    path.write_bytes(of_libraries())
    print(f"sbom: {path}, {len(json.loads(path.read_bytes())['components'])} parts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
