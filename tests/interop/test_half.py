"""float16 and bfloat16 beside the Rust crate half: it differs where it loses bits of a float64 before it rounds."""

import numpy as np
import pytest

import dlpark

NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
WORDS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def rounded_twice(words, target):
    return by_us("f32", target, by_us("f64", "f32", words))


def cut_first(words, target):
    """Its lower half gone, a number that lay just beyond the middle of two others is in the middle. A NaN stays one."""
    cut = words & np.uint64(0xFFFFFFFF00000000)
    return by_us("f64", target, np.where(np.isnan(words.view(np.float64)), words, cut))


# All differences there are, and what the crate does there, half 2.7 on x86 with F16C: starkat99/half-rs issues 116, 151.
DIFFERENCES = {("f64", "f16"): rounded_twice, ("f64", "bf16"): cut_first}

rng = np.random.default_rng(17)


def by_half(source, target, words):
    import dlpark_rust

    return np.frombuffer(dlpark_rust.by_half(source, target, words.tobytes()), WORDS[target])


def by_us(source, target, words):
    tensor = dlpark.from_dlpack(words.view(np.uint8)).view(NAMES[source])
    return np.frombuffer(tensor.astype(NAMES[target]).tobytes(), WORDS[target])


def stratified(source, count=600_000):
    """One number of each of so many equal ranges of codes."""
    nbits = np.dtype(WORDS[source]).itemsize * 8
    width = 2**nbits // count
    return (np.arange(count, dtype=np.uint64) * width + rng.integers(0, width, count, dtype=np.uint64)).astype(WORDS[source])


def around_boundaries(source, target, count=400_000):
    """Midway between neighbours of the target, and as little beside that as the source can be; more of it, too."""
    codes = rng.integers(0, 0x7C00 if target == "f16" else 0x7F80, count // 4, dtype=np.uint16)
    values = by_us(target, "f64", np.concatenate([codes, codes + np.uint16(1)])).view(np.float64)
    low, high = values[: len(codes)], values[len(codes) :]
    middles = (low / 2 + high / 2).astype(NAMES[source])[np.isfinite(high)].view(WORDS[source])
    little = WORDS[source](1) << rng.integers(0, 12, len(middles)).astype(WORDS[source])
    sign = WORDS[source](1) << WORDS[source](np.dtype(WORDS[source]).itemsize * 8 - 1)
    return np.concatenate([middles, middles + WORDS[source](1), middles - WORDS[source](1), (middles + little) | sign])


@pytest.mark.partner("dlpark_rust")
@pytest.mark.parametrize("target", ["f32", "f64"])
@pytest.mark.parametrize("source", ["f16", "bf16"])
def test_every_code_becomes_the_same_number(source, target):
    """Bit for bit, NaN with their payloads among them."""
    codes = np.arange(2**16, dtype=np.uint16)
    np.testing.assert_array_equal(by_us(source, target, codes), by_half(source, target, codes))


@pytest.mark.partner("dlpark_rust")
@pytest.mark.parametrize("target", ["f16", "bf16"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_a_million_numbers_become_the_same_but_for_the_list(source, target):
    words = np.concatenate([stratified(source), around_boundaries(source, target)])
    assert len(words) > 990_000
    ours, theirs = by_us(source, target, words), by_half(source, target, words)
    differs = ours != theirs
    if (source, target) not in DIFFERENCES:
        assert not differs.any(), (words[differs][:5], ours[differs][:5], theirs[differs][:5])
        return
    np.testing.assert_array_equal(theirs, DIFFERENCES[source, target](words, target))
    assert differs.sum() > 1000  # the list says no more than there is
