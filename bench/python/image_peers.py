#!/usr/bin/env python3
"""What it costs to decode a picture from memory in Python: dlpark beside OpenCV, simplejpeg, Pillow and torchvision.

    bench/python/image_peers.py [--quick] [--rounds N] [--json FILE]

Measured as in harness.py: cases take turns in one process, times are CPU time of the thread, and every peer is told
to use one. The order is another one each round: what the case before leaves in the caches and in the allocator counts
among milliseconds. A ratio is the median over the rounds of dlpark's time against the peer's in the same round: below 1 dlpark
is faster. Peers carry libraries of their own, whose versions are printed; dlpark uses the system's.
Exit status 1 when a result is wrong; a missed target is printed and is no failure.
"""

import argparse
import importlib
import io
import json
import random
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dlpark
from harness import Case, machine, optional, ratio, timed, turn_count, wrong_cases

PHOTO = Path(__file__).resolve().parents[2] / "demos" / "image-python" / "photo.jpg"


cv2 = optional("cv2")
simplejpeg = optional("simplejpeg")
pillow = optional("PIL.Image")
torch = optional("torch")
torchvision = optional("torchvision") and optional("torchvision.io")
if torchvision:
    from torchvision.transforms import v2


@dataclass
class Group:
    name: str
    cases: list[Case]  # dlpark is the first; the others' targets are those of dlpark's time against theirs
    limits: dict[str, float]


# ---- The photograph, scaled as bench/image_floor.c does: integers, the same bytes everywhere ----


def places(side, length):
    """The left neighbours of `side` pixels among `length`, and how far beyond them they lie, in 65536ths."""
    at = (2 * np.arange(side, dtype=np.int64) + 1) * length * 32768 // side - 32768
    at = np.clip(at, 0, (length - 1) * 65536)
    return at >> 16, (at & 0xFFFF).astype(np.uint64)


def scaled(photo, side):
    rows, down = places(side, photo.shape[0])
    columns, along = places(side, photo.shape[1])
    below = np.minimum(rows + 1, photo.shape[0] - 1)
    right = np.minimum(columns + 1, photo.shape[1] - 1)
    along = along[:, None]
    wide = photo[:, columns] * (65536 - along) + photo[:, right] * along
    down = down[:, None, None]
    return ((wide[rows] * (65536 - down) + wide[below] * down + 2**31) >> 32).astype(np.uint8)


# ---- Decoding to u8 ----


def array_of(result):
    """As an array [height, width, channels]."""
    array = result.numpy() if torch and isinstance(result, torch.Tensor) else np.asarray(result)
    return array.transpose(1, 2, 0) if array.shape[0] == 3 else array


def close_to(reference, most):
    def right(result):
        array = array_of(result)
        return (
            array.dtype == np.uint8
            and array.shape == reference.shape
            and int(np.abs(array.astype(np.int16) - reference).max()) <= most
        )

    return right


def by_pillow(data):
    return np.asarray(pillow.open(io.BytesIO(data)))


def tensor_of(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def decoders(kind, data):
    """Each peer's usual call, by name, and what dlpark may take at most of its time."""
    found = {"dlpark": (lambda: dlpark.load_image(data), 0)}
    if cv2:
        array = np.frombuffer(data, np.uint8)
        found["OpenCV"] = (lambda: cv2.imdecode(array, cv2.IMREAD_COLOR_RGB), 1.0)
    if simplejpeg and kind == "jpeg":
        found["simplejpeg"] = (lambda: simplejpeg.decode_jpeg(data), 1.0)
    if pillow:
        found["Pillow + NumPy"] = (lambda: by_pillow(data), 1.0)
    if torchvision:
        tensor = tensor_of(data)
        decode = getattr(torchvision, f"decode_{kind}")
        mode = torchvision.ImageReadMode.RGB
        found["torchvision"] = (lambda: decode(tensor, mode), 1.0)
        found["torchvision, contiguous"] = (lambda: decode(tensor, mode).contiguous(), 1.0)
    return found


def decode_group(kind, picture):
    data = dlpark.encode_image(picture, kind, quality=None if kind == "png" else 90)
    reference = by_pillow(data) if pillow else np.asarray(dlpark.load_image(data))
    # Between decoders a JPEG and a WebP may differ by rounding, a PNG may not.
    right = close_to(reference, 0 if kind == "png" else 4)
    found = decoders(kind, data)
    cases = [Case(name, run, right) for name, (run, _) in found.items()]
    side = picture.shape[0]
    return Group(f"{kind}, {side} x {side}", cases, {name: limit for name, (_, limit) in found.items() if limit})


# ---- A JPEG to f32 [3, height, width] in 0..1 ----


def divided(array):
    """By NumPy, from [height, width, channels] in one expression."""
    return np.divide(array.transpose(2, 0, 1), np.float32(255), dtype=np.float32, order="C")


def plane_by_plane(array):
    """By NumPy, with channels taken apart by OpenCV first: what each of them does fastest."""
    out = np.empty((3, *array.shape[:2]), np.float32)
    plane = np.empty(array.shape[:2], np.uint8)
    for c in range(3):
        cv2.extractChannel(array, c, dst=plane)
        np.multiply(plane, np.float32(1 / 255), out=out[c])
    return out


def copied_first(array):
    """By NumPy: channels taken apart as bytes, then scaled."""
    return np.multiply(np.ascontiguousarray(array.transpose(2, 0, 1)), np.float32(1 / 255), dtype=np.float32)


def by_torch(array):
    return torch.from_numpy(array).permute(2, 0, 1).contiguous().to(torch.float32).mul_(1 / 255)


def numpy_routes(data):
    routes = {}
    array = np.frombuffer(data, np.uint8)
    sources = {}
    if simplejpeg:
        sources["simplejpeg"] = lambda: simplejpeg.decode_jpeg(data)
    if cv2:
        sources["OpenCV"] = lambda: cv2.imdecode(array, cv2.IMREAD_COLOR_RGB)
    for name, source in sources.items():
        routes[f"{name} + NumPy"] = lambda s=source: divided(s())
        routes[f"{name} + NumPy, copied"] = lambda s=source: copied_first(s())
        if cv2:
            routes[f"{name} + planes"] = lambda s=source: plane_by_plane(s())
        if torch:
            routes[f"{name} + torch"] = lambda s=source: by_torch(s())
    if cv2:
        routes["OpenCV + blobFromImage"] = lambda: cv2.dnn.blobFromImage(
            cv2.imdecode(array, cv2.IMREAD_COLOR_RGB), 1 / 255
        )[0]
    if pillow:
        routes["Pillow + NumPy"] = lambda: divided(by_pillow(data))
    return {name: (run, 0.8) for name, run in routes.items()}


def torchvision_routes(data):
    tensor = tensor_of(data)
    mode = torchvision.ImageReadMode.RGB
    to_dtype = v2.ToDtype(torch.float32, scale=True)
    pil_to_tensor = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    routes = {
        "torchvision, float() / 255": lambda: (torchvision.decode_jpeg(tensor, mode).float() / 255).contiguous(),
        "torchvision, ToDtype": lambda: to_dtype(torchvision.decode_jpeg(tensor, mode)).contiguous(),
    }
    if pillow:
        routes["Pillow, ToImage, ToDtype"] = lambda: pil_to_tensor(pillow.open(io.BytesIO(data))).contiguous()
    return {name: (run, 0.35) for name, run in routes.items()}


def planes_group(picture):
    data = dlpark.encode_image(picture, "jpeg", quality=90)
    reference = np.asarray(dlpark.load_image(data))
    wanted = np.ascontiguousarray(reference.transpose(2, 0, 1)).astype(np.float32) / np.float32(255)
    found = {"dlpark": (lambda: dlpark.load_image(data, layout="chw", dtype="float32"), 0)}
    found.update(numpy_routes(data))
    if torchvision:
        found.update(torchvision_routes(data))

    def right(result, most=4.01 / 255):
        array = np.asarray(result)
        return (
            array.dtype == np.float32
            and array.shape == wanted.shape
            and array.flags.c_contiguous
            and float(np.abs(array - wanted).max()) <= most
        )

    cases = [Case(name, run, right) for name, (run, _) in found.items()]
    cases[0].right = lambda result: right(result, 0.0)
    side = picture.shape[0]
    # Promised where it hurts; small pictures stay in the caches on any route.
    limits = {name: limit for name, (_, limit) in found.items() if limit and side >= 2048}
    return Group(f"jpeg to f32 CHW in 0..1, {side} x {side}", cases, limits)


# ---- Measuring and reporting ----


def measure(cases, rounds):
    counts = [turn_count(case.run) for case in cases]
    times = [[0.0] * rounds for _ in cases]
    for r in range(rounds):
        order = list(range(len(cases)))
        random.Random(r).shuffle(order)
        for i in order:
            times[i][r] = timed(cases[i].run, counts[i])
    return times


def versions():
    """The peers and, where they tell, the libraries that they carry."""
    words = [f"dlpark {dlpark.__version__} (the system's libraries: see bench_image)"]
    if cv2:
        build = cv2.getBuildInformation()
        found = {name: re.search(rf"^ *{name}: .*?\(ver ([^)]*)\)", build, re.M) for name in ("JPEG", "PNG", "WEBP")}
        words.append(
            f"OpenCV {cv2.__version__} ({', '.join(f'{name} {hit[1]}' for name, hit in found.items() if hit)})"
        )
    if simplejpeg:
        words.append(f"simplejpeg {simplejpeg.__version__} (its own libjpeg-turbo)")
    if pillow:
        features = importlib.import_module("PIL.features")
        words.append(
            f"Pillow {pillow.__version__} (libjpeg-turbo {features.version('libjpeg_turbo')}, "
            f"zlib-ng {features.version('zlib_ng')}, libwebp {features.version('webp')})"
        )
    if torchvision:
        words.append(f"torch {torch.__version__}, torchvision {importlib.import_module('torchvision').__version__}")
    return "; ".join(words)


def report(group, times, rows):
    """Prints the table of a group and appends its rows; the number of missed targets."""
    missed = 0
    print(f"\n{group.name}\n{'':32} {'min ms':>9} {'median ms':>9} {'dlpark/it':>9}  target")
    for case, t in zip(group.cases, times):
        limit = group.limits.get(case.name)
        got = ratio(times[0], t)
        line = f"{case.name:32} {min(t) / 1e6:9.3f} {statistics.median(t) / 1e6:9.3f} {got:9.2f}"
        if limit:
            missed += got > limit
            line += f"  {'ok' if got <= limit else 'MISSED'} (at most {limit:.2f})"
        print(line, flush=True)
        rows.append(
            {
                "bench": "image_peers",
                "group": group.name,
                "case": case.name,
                "min_ns": round(min(t)),
                "median_ns": round(statistics.median(t)),
                "dlpark_ratio": round(got, 3),
                "at_most": limit,
                "ok": None if limit is None else got <= limit,
            }
        )
    return missed


def all_groups(quick):
    photo = np.asarray(dlpark.load_image(PHOTO)).astype(np.uint64)
    for side in (512,) if quick else (512, 2048):
        picture = scaled(photo, side)
        for kind in ("jpeg", "png", "webp"):
            yield decode_group(kind, picture)
        yield planes_group(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="verify only, measure nothing")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", help="write the rows to this file as well")
    options = parser.parse_args()

    if cv2:
        cv2.setNumThreads(1)
    if torch:
        torch.set_num_threads(1)
    print("machine:", machine(options.rounds))
    print("versions:", versions())
    rows = [{"machine": machine(options.rounds), "versions": versions()}]
    wrong = missed = 0
    for group in all_groups(options.quick):
        faults = wrong_cases(group)
        for name in faults:
            print(f"WRONG RESULT: {group.name}, {name}")
        wrong += len(faults)
        if options.quick:
            print(f"{group.name}: {len(group.cases)} cases verified")
        elif not faults:
            missed += report(group, measure(group.cases, options.rounds), rows)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    print(f"\n{wrong} wrong results" + ("" if options.quick else f", {missed} targets missed"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
