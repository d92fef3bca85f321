"""Arguments of a call that are no tensors, which argument is which, overloads, and signatures that are wrong."""

import decimal
import fractions

import dlpark
import numpy as np
import pytest
from hostile import Foreign


def f32(*shape):
    return np.zeros(shape, np.float32)


@pytest.fixture
def args(probe):
    """args(signature, ...): what C was told of the arguments."""
    return lambda signature, *args, **keywords: probe.function(signature)(*args, **keywords)[0]["args"]


def refused(args, message, signature, *given, **keywords):
    with pytest.raises(TypeError) as caught:
        args(signature, *given, **keywords)
    assert str(caught.value) == message


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


class Float(Index):
    __index__ = None

    def __float__(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


# ---- int ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 5, 2**63 - 1, -(2**63), True, np.int8(-3), np.uint64(7), Index(9), Index(-1)])
def test_int(args, value):
    expected = value.value if isinstance(value, Index) else int(value)
    (got,) = args("f(n: int)", value)
    assert got == expected and type(got) is int


@pytest.mark.parametrize("value", [1.0, "1", None, [1], np.float32(1), fractions.Fraction(1), f32(1), Index("no"), Index(TypeError("own"))])
def test_what_is_no_int(args, value):
    refused(args, f"f() argument 'n': expected int, got {type(value).__name__}", "f(n: int)", value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**90, Index(2**64)])
def test_an_int_that_is_too_large(args, value):
    shown = value.value if isinstance(value, Index) else value
    with pytest.raises(OverflowError) as caught:
        args("f(n: int)", value)
    assert str(caught.value) == f"f() argument 'n': {shown} does not fit 64 bits"


@pytest.mark.parametrize("digits", [200, 6000])
def test_an_int_that_is_too_large_to_be_told(args, digits):
    value = 10**digits
    with pytest.raises(OverflowError) as caught:
        args("f(n: int)", value)
    assert str(caught.value) == "f() argument 'n': an integer of many digits does not fit 64 bits"


# ---- float ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, -1.0, 1e300, float("inf"), 3, True, np.float32(0.5), np.int16(4), Index(3), Float(2.5), Float(-1.0), decimal.Decimal("0.25"), fractions.Fraction(1, 4)])
def test_float(args, value):
    expected = float(value.value) if isinstance(value, Index) else float(value)
    (got,) = args("f(x: float)", value)
    assert got == expected and type(got) is float


def test_not_a_number(args):
    (got,) = args("f(x: float)", float("nan"))
    assert got != got


@pytest.mark.parametrize("value", ["1.0", None, 1j, [1.0], object(), f32(2), Float("no")])
def test_what_is_no_float(args, value):
    refused(args, f"f() argument 'x': expected float, got {type(value).__name__}", "f(x: float)", value)


@pytest.mark.parametrize("signature, value", [("f(n: int)", Index(KeyError("own"))), ("f(x: float)", Float(KeyError("own"))), ("f(x: float)", 10**400), ("f(s: str)", "\ud800"), ("f(s: str)", "a\0b")])
def test_what_a_scalar_raised_passes_with_a_note(probe, signature, value):
    errors = (KeyError, OverflowError, TypeError, UnicodeEncodeError, ValueError)
    with pytest.raises(errors) as caught:
        probe.function(signature)(value)
    assert caught.value.__notes__ == [f"in f() argument '{signature[2]}'"]
    if isinstance(value, Index) and isinstance(value.value, Exception):
        assert caught.value is value.value


# ---- bool, str, object ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_, np.zeros(1, bool)[0]])
def test_bool(args, value):
    assert args("f(b: bool)", value) == [bool(value)]


@pytest.mark.parametrize("value", [0, 1, None, "True", np.int8(1), np.zeros((), bool), [], type("bool", (), {"__bool__": lambda self: True})()])
def test_what_is_no_bool(args, value):
    refused(args, f"f() argument 'b': expected bool, got {type(value).__name__}", "f(b: bool)", value)


@pytest.mark.parametrize("value", ["", "plain", "ä→𝄞", type("S", (str,), {})("sub")])
def test_str(args, value):
    assert args("f(s: str)", value) == [value]


@pytest.mark.parametrize("value", [b"bytes", None, 5])
def test_what_is_no_str(args, value):
    refused(args, f"f() argument 's': expected str, got {type(value).__name__}", "f(s: str)", value)


@pytest.mark.parametrize("value", [None, 5, object(), "text", f32(2)])
def test_object(args, value):
    assert args("f(o: object)", value)[0] is value


def test_scalars_beside_tensors(args):
    told = args("f(n: int, a: f32[n] c cpu, x?: float, b?: f32[n], s?: str)", 4, f32(4), s="end", b=f32(4))
    assert (told[0], told[1]["shape"], told[2], told[3]["shape"], told[4]) == (4, (4,), None, (4,), "end")


# ---- Which argument is which ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("positional", [0, 1, 2, 3])
def test_positions_and_keywords(args, order, positional):
    names = ["alpha", "al", "beta"]
    values = dict(zip(names, (1, 2, 3)))
    keywords = {names[i]: values[names[i]] for i in order if i >= positional}
    assert args("f(alpha: int, al: int, beta: int)", *range(1, positional + 1), **keywords) == [1, 2, 3]


def python_says(source, call):
    """The words of CPython itself for the same mistake."""
    scope = {}
    exec(source, scope)
    with pytest.raises(TypeError) as caught:
        eval(call, scope)
    return str(caught.value)


MISTAKES = [
    ("", "1"),
    ("", "1, 2"),
    ("a", "1, 2"),
    ("a", "1, 2, 3"),
    ("a, b", "1, 2, 3"),
    ("a", ""),
    ("a, b", ""),
    ("a, b, c", ""),
    ("a, b, c", "1"),
    ("a, b, c, d", "b=2"),
    ("a, b=0", "1, 2, 3"),
    ("a=0", "1, 2"),
    ("a=0, b=0, c=0", "1, 2, 3, 4"),
    ("a, b=0", ""),
    ("a", "1, q=2"),
    ("a", "q=2"),
    ("a", "1, a=2"),
    ("a, b", "1, 2, b=2"),
    ("a", "1, ä=2"),
    ("a", "1, 2, a=3"),
    ("a, b", "b=1"),
]


@pytest.mark.parametrize("parameters, given", MISTAKES)
def test_the_words_are_those_of_cpython(args, parameters, given):
    said = python_says(f"def f({parameters}): pass", f"f({given})")
    signature = ", ".join(p.replace("=0", "?") + ": int" for p in parameters.split(", ") if p)
    with pytest.raises(TypeError) as caught:
        eval(f"call('f({signature})', {given})", {"call": args})
    assert str(caught.value) == said.partition(". Did you mean")[0]


def test_names_that_are_no_utf8_and_long_ones(args):
    refused(args, "f() got a keyword argument whose name is not valid Unicode", "f(a: int)", 1, **{"\ud800": 1})
    refused(args, f"f() got an unexpected keyword argument '{'x' * 100}'", "f(a: int)", 1, **{"x" * 300: 1})
    refused(args, f"f() got an unexpected keyword argument '{'a' * 31}'", "f(a: int)", 1, **{"a" * 31: 1})
    refused(args, "f() got an unexpected keyword argument ''", "f(a: int)", 1, **{"": 1})


# ---- Overloads ------------------------------------------------------------------------------------------------------

ADD = ("add(a: f32[n], b: f32[n])", "add(a: f64[n], b: f64[n], scale?: float)", "add(a: i64[n], b: int)")


def test_the_first_signature_that_fits(probe):
    add = probe.function(*ADD)
    assert add(f32(2), f32(2))[0]["overload"] == 0
    assert add(np.zeros(2), b=np.zeros(2))[0]["overload"] == 1
    assert add(np.zeros(2), np.zeros(2), scale=2)[0]["args"][2] == 2.0
    assert add(np.zeros(2, np.int64), 3)[0]["overload"] == 2


def test_no_signature_fits(probe):
    with pytest.raises(TypeError) as caught:
        probe.function(*ADD)(f32(2), np.zeros(3))
    assert str(caught.value) == (
        "add(): the arguments fit none of its signatures\n"
        "  add(a: f32[n], b: f32[n]): argument 'b': expected f32[n=2], got f64[3]\n"
        "  add(a: f64[n], b: f64[n], scale?: float): argument 'a': expected f64[n], got f32[2]\n"
        "  add(a: i64[n], b: int): argument 'a': expected i64[n], got f32[2]"
    )
    with pytest.raises(TypeError, match=r"scale\?: float\): missing 1 required positional argument: 'b'"):
        probe.function(*ADD)(np.zeros(2))


def test_a_long_signature_is_cut_in_the_list(probe):
    long = f"f({', '.join(f'argument_number_{i}: f32|f64|i8|i16[n]' for i in range(16))})"
    with pytest.raises(TypeError, match=r"argument_number_[^\n]*\.\.\.: missing 15 required"):
        probe.function(long, "f(a: int)")(f32(2))


def test_a_capsule_may_be_tried_by_several_signatures(probe):
    """It can be asked once."""
    foreign = Foreign(shape=(3,))
    other = Foreign(shape=(3,))
    function = probe.function("f(a: f32[n], b: f64[n])", "f(a: f32[4], b: f32)", "f(a: f32[n] mut, b: f32[n])")
    told, _ = function(foreign.capsule(), other.capsule())
    assert told["overload"] == 2 and told["dims"] == {"n": 3}
    assert len(foreign.calls) == len(other.calls) == 1


def test_a_capsule_that_no_signature_takes_is_ended_once(probe):
    foreign = Foreign(shape=(3,))
    with pytest.raises(TypeError):
        probe.function("f(a: f64[n])", "f(a: i32[n])", "f(a: f32[3], b: int)")(foreign.capsule())
    assert len(foreign.calls) == 1


def test_what_an_argument_raised_ends_the_search(probe):
    foreign = Foreign(shape=(3,))
    with pytest.raises(OverflowError):
        probe.function("f(a: f64[n], n: int)", "f(a: f32[n], n: int)", "f(a: f32[n], n: float)")(foreign.capsule(), 2**70)
    assert len(foreign.calls) == 1


# ---- Signatures -----------------------------------------------------------------------------------------------------


def test_a_signature_has_one_form(probe):
    text = " scale ( a : float32 [ n , k ] cpu c , by ? : float ) -> same(a)[k]as = numpy "
    assert probe.signature_text(text) == "scale(a: f32[n,k] c cpu, by?: float) -> same(a)[k] as=numpy"


@pytest.mark.parametrize(
    "text, first, line, caret",
    [
        ("f(a: f32[n] conitg)", 'column 13: "conitg" is not a word of a spec (did you mean "contig"?)', "f(a: f32[n] conitg)", 12),
        ("", "column 1: expected the name of a function, got the end", "", 0),
        ("f(a: int", 'column 9: expected "," or ")"', "f(a: int", 8),
        ("f(a: int,\n  b: f33,\n  c: int)", 'column 16: "f33" is not a dtype', "  b: f33,", 5),
        ("f(a:\tf33)", 'column 6: "f33" is not a dtype', "f(a: f33)", 5),
        ("f(ä: int)", "column 3: expected the name of an argument, got byte 0xC3", "f(ä: int)", 2),
    ],
)
def test_a_wrong_signature_is_pointed_into(probe, text, first, line, caret):
    with pytest.raises(ValueError) as caught:
        probe.function(text)
    shown = str(caught.value).split("\n")
    assert shown[0].startswith(first)
    assert shown[1:] == ["  " + line, "  " + " " * caret + "^"]


def test_a_long_signature_is_shown_in_part(probe):
    text = f"f({', '.join(f'argument_{i}: int' for i in range(20))}, last: nonsense, {'x' * 25}: int)"
    with pytest.raises(ValueError) as caught:
        probe.function(text)
    _, line, caret = str(caught.value).split("\n")
    assert line.startswith("  ...") and line.endswith("...") and len(line) < 115
    assert line[caret.index("^") :].startswith("nonsense")


def test_a_name_of_the_module(probe):
    """An extension's messages name the function, not the tensor's type."""
    with pytest.raises(TypeError, match=r"^blur\(\) argument 'image': expected u8\[h,w,3\], got u8\[4\]$"):
        probe.function("blur(image: u8[h,w,3])")(dlpark.from_dlpack(np.zeros(4, np.uint8)))
