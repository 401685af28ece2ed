"""Elementary functions as LLVM text: the same bits on every processor, in every lane of a vector, and in a page.

A function has no branches but one to an argument reduction that hardly any argument needs, and one around what simple
powers do not. It uses sums, products, quotients, roots and bits of doubles alone, none of them fused, so that it needs
no library and imports nothing. One text serves `double` and `<N x double>`; a module gets the functions that it calls
from `define`.

    sin, cos, tan   x - k pi/2 by parts of pi/2 of 33 bits, whose products with k are exact  [cody1980]; beyond FAR by
                    the digits of 2/pi from where they count                                 [payne1983]
    exp, tanh       x - k ln 2 likewise; exp r = 1 + r + r^2 P(r)
    log, pow        x = 2^k m; log m = log c + log(1 + r), c of a table, r = m/c - 1 exact   [tang1990]
    atan, atan2     (u - c v)/(v + c u) with c = 0, 1/2 or 1
    asin, acos      s = sqrt((1 - |x|)/2) above |x| = 1/2

Where one double does not do, values are sums of two, by exact sums and products [muller2018, chapters 4 and 5]. The
polynomials are minimax; `docs/elementary.py` computes their coefficients and measures the errors, all below one ulp.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import cache
from typing import Any

INF = float("inf")
MAGIC = 1.5 * 2.0**52  # added to a number, leaves its nearest integer in the last bits
SPLITTER = 2.0**27 + 1.0  # x times this, rounded, gives the first half of the bits of x
SATURATED = 44.0  # 2|x| from where on tanh x is one to the last digit
FAR = 2.0**20  # from where on k pi/2 is no sum of few exact products
PI_2 = tuple(map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104")))
# pi/2 and atan(1/2) to 50 binary places, and what is left: sums of the first are exact.
HALF_PI, HALF_PI_LOW = float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54")
ATAN_HALF, ATAN_HALF_LOW = float.fromhex("0x1.dac670561bb4p-2"), float.fromhex("0x1.ed15bf9117b2fp-51")
LN_2, LN_2_LOW = (
    float.fromhex("0x1.62e42fefa38p-1"),
    float.fromhex("0x1.ef35793c7673p-45"),
)  # 42 places: k ln 2 is exact
TWO_OVER_PI = (  # the digits behind the point, 24 bits each; two zeros before them
    "000000000000a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb"
    "1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf"
    "27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b"
)
DIGIT = 24  # bits

SIN = (
    -0.16666666666666632, 0.008333333333322425, -0.00019841269829816793, 2.7557313695146753e-06,
    -2.505075863763169e-08, 1.589682686875472e-10,
)  # fmt: skip
COS = (
    0.0416666666666666, -0.0013888888888874138, 2.4801587289490993e-05, -2.7557314355004085e-07,
    2.0875723652374452e-09, -1.135966821365771e-11,
)  # fmt: skip
EXP = (
    0.5000000000000011, 0.16666666666666696, 0.04166666666652324, 0.008333333333308027, 0.0013888888945255448,
    0.0001984126991585735, 2.4801491558931277e-05, 2.755721750052488e-06, 2.763075790549815e-07,
    2.5117520261273245e-08,
)  # fmt: skip
LOG = (
    0.3333333333333334, -0.2500000000000002, 0.1999999999618449, -0.16666666661307186, 0.14286089482091113,
    -0.12500409341390245,
)  # fmt: skip
ATAN = (
    -0.3333333333333254, 0.1999999999958446, -0.14285714211649714, 0.1111110471779242, -0.09090602993562519,
    0.07683726907227638, -0.06525764276929487, 0.046075602839292025,
)  # fmt: skip
ASIN = (
    0.16666666666666763, 0.07499999999970244, 0.04464285717513832, 0.030381942682748797, 0.022372215685586325,
    0.017351599623067492, 0.013980967242944913, 0.011397727222587849, 0.01078680995835462, 0.0036819528143326214,
    0.021766216438429256, -0.02108123119574565, 0.032679410665210115,
)  # fmt: skip

# Intervals of m in the table of logarithms; m begins FIRST of them below one, so that one is in the middle of its own.
N_INTERVALS, FIRST = 128, 74 + 2 / 3
TABLE_BITS = 24  # of 1/c: products with both halves of m are exact


KINDS = {float: "double", int: "i64", bool: "i1"}


def bits_of(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def float_bits(value: float) -> str:
    """Return the number as LLVM reads it without rounding."""
    return f"0x{bits_of(value) % 2**64:016X}"


class Value:
    """A number, integer or truth of each lane in the function that is written."""

    def __init__(self, out: Text, kind: str, name: str) -> None:
        self.out, self.kind, self.name = out, kind, name

    def _with(self, of_doubles: str, of_integers: str, other: Any) -> Value:
        operation = of_doubles if self.kind == "double" else of_integers
        return self.out.do(operation, self.kind, self, self.out.value(other, self.kind))

    def _compare(self, condition: str, other: Any) -> Value:
        how = f"fcmp o{condition}" if self.kind == "double" else f"icmp s{condition}"
        return self.out.do(how, "i1", self, self.out.value(other, self.kind))

    def __add__(self, other: Any) -> Value:
        return self._with("fadd", "add", other)

    def __radd__(self, other: float) -> Value:
        return self.out.value(other, self.kind) + self

    def __sub__(self, other: Any) -> Value:
        return self._with("fsub", "sub", other)

    def __rsub__(self, other: float) -> Value:
        return self.out.value(other, self.kind) - self

    def __mul__(self, other: Any) -> Value:
        return self._with("fmul", "mul", other)

    def __rmul__(self, other: float) -> Value:
        return self.out.value(other, self.kind) * self

    def __truediv__(self, other: Any) -> Value:
        return self._with("fdiv", "", other)

    def __rtruediv__(self, other: float) -> Value:
        return self.out.value(other, self.kind) / self

    def __and__(self, other: Any) -> Value:
        return self._with("", "and", other)

    def __or__(self, other: Any) -> Value:
        return self._with("", "or", other)

    def __xor__(self, other: Any) -> Value:
        return self._with("", "xor", other)

    def __lshift__(self, count: int) -> Value:
        return self._with("", "shl", count)

    def __rshift__(self, count: int) -> Value:
        return self._with("", "ashr", count)

    def __lt__(self, other: Any) -> Value:
        return self._compare("lt", other)

    def __gt__(self, other: Any) -> Value:
        return self._compare("gt", other)

    def equals(self, other: Any) -> Value:
        how = "fcmp oeq" if self.kind == "double" else "icmp eq"
        return self.out.do(how, "i1", self, self.out.value(other, self.kind))


class Text:
    """The lines of a function on `lanes` doubles at once, or one."""

    def __init__(self, lanes: int) -> None:
        self.lanes, self.lines, self.count = lanes, list[str](), 0

    def type(self, kind: str) -> str:
        return kind if self.lanes == 1 else f"<{self.lanes} x {kind}>"

    def register(self) -> str:
        self.count += 1
        return f"%r{self.count}"

    def emit(self, kind: str, instruction: str) -> Value:
        name = self.register()
        self.lines.append(f"  {name} = {instruction}")
        return Value(self, kind, name)

    def value(self, x: Any, kind: str) -> Value:
        if isinstance(x, Value):
            return x
        text = float_bits(x) if kind == "double" else str(x).lower()
        return Value(self, kind, text if self.lanes == 1 else f"splat ({kind} {text})")

    def do(self, operation: str, kind: str, a: Value, b: Value) -> Value:
        return self.emit(kind, f"{operation} {self.type(a.kind)} {a.name}, {b.name}")

    def cast(self, how: str, x: Value, kind: str) -> Value:
        return self.emit(kind, f"{how} {self.type(x.kind)} {x.name} to {self.type(kind)}")

    def bits(self, x: Value) -> Value:
        return self.cast("bitcast", x, "i64")

    def number(self, bits: Value) -> Value:
        return self.cast("bitcast", bits, "double")

    @property
    def suffix(self) -> str:
        return "f64" if self.lanes == 1 else f"v{self.lanes}f64"

    def intrinsic(self, name: str, x: Value) -> Value:
        return self.emit("double", call(name, [x.name], self.lanes))

    def absolute(self, x: Value) -> Value:
        return self.intrinsic("fabs", x)

    def root(self, x: Value) -> Value:
        return self.intrinsic("sqrt", x)

    def where(self, condition: Value, a: Any, b: Any) -> Value:
        kind = next((x.kind for x in (a, b) if isinstance(x, Value)), None) or KINDS[type(a)]
        a, b, t = self.value(a, kind), self.value(b, kind), self.type(kind)
        return self.emit(kind, f"select {self.type('i1')} {condition.name}, {t} {a.name}, {t} {b.name}")

    def is_nan(self, x: Value, y: Value) -> Value:
        return self.do("fcmp uno", "i1", x, y)

    def some(self, condition: Value) -> str:
        """Return whether it holds in any of the lanes."""
        if self.lanes == 1:
            return condition.name
        whole = f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.type('i1')} {condition.name})"
        return self.emit("i1", whole).name

    def sign(self, x: Value) -> Value:
        """Return the bit of its sign."""
        return self.bits(x) & -(2**63)

    def with_sign(self, x: Value, sign: Value) -> Value:
        """Return x, or -x where the bit is set."""
        return self.number(self.bits(x) ^ sign)

    def nearest(self, x: Value) -> tuple[Value, Value]:
        """Return the integer k nearest to x, as a double and as the bits of MAGIC + k."""
        shifted = x + MAGIC
        return shifted - MAGIC, self.bits(shifted)

    def each(self, kinds: Sequence[str], get: Callable[[Text, int], Sequence[Value]]) -> list[Value]:
        """Return what `get` finds for one lane, of all lanes."""
        if self.lanes == 1:
            return [*get(self, 0)]
        whole = ["poison"] * len(kinds)
        for lane in range(self.lanes):
            for i, x in enumerate(get(self, lane)):
                whole[i] = self.emit(
                    kinds[i], f"insertelement {self.type(kinds[i])} {whole[i]}, {kinds[i]} {x.name}, i32 {lane}"
                ).name
        return [Value(self, kind, name) for kind, name in zip(kinds, whole, strict=True)]

    def lane(self, x: Value, lane: int) -> str:
        return (
            x.name
            if self.lanes == 1
            else self.emit(x.kind, f"extractelement {self.type(x.kind)} {x.name}, i32 {lane}").name
        )


def exact_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """Add a + b rounded, and return what rounding has taken too."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_sum(a: Any, b: Value) -> tuple[Value, Value]:
    """Return the same where |a| >= |b|, or a = 0."""
    total = a + b
    return total, b - (total - a)


def halves(a: Any) -> tuple[Any, Any]:
    first = a * SPLITTER
    high = first - (first - a)
    return high, a - high


def exact_product(a: Value, b: Any) -> tuple[Value, Value]:
    """Multiply a b rounded, and return what rounding has taken too.  [Dekker; muller2018, algorithm 4.10]"""
    product, (a1, a2), (b1, b2) = a * b, halves(a), halves(b)
    return product, ((a1 * b1 - product) + (a1 * b2 + a2 * b1)) + a2 * b2


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Sum c_k x^k by halves of the terms: the processor computes them side by side."""
    terms: list[Any] = [*coefficients]
    while len(terms) > 1:
        pairs = [terms[k] + x * terms[k + 1] if k + 1 < len(terms) else terms[k] for k in range(0, len(terms), 2)]
        terms, x = pairs, (x * x if len(pairs) > 1 else x)
    result: Value = terms[0]
    return result


def quotient(high: Value, low: Value, by: Value, by_low: Value) -> tuple[Value, Value]:
    """Divide (high + low)/(by + by_low), and return what is left of it too."""
    q, reciprocal = high / by, 1.0 / by  # side by side
    p, e = exact_product(q, by)
    return q, ((((high - p) - e) + low) - q * by_low) * reciprocal


def reduced(f: Text, x: Value) -> tuple[Value, Value, Value]:
    """Reduce x >= 0 to x - k pi/2 as a sum of two doubles, the second within rounding of the first; last bits of k."""
    k, n = f.nearest(x * (1.0 / HALF_PI))
    beyond, b = fast_sum(k * PI_2[1], k * PI_2[2])
    near = x - k * PI_2[0]
    r = near - beyond  # exact where |near| < |beyond|: both are multiples of the last bit of `beyond`
    low = ((near - r) - beyond) - (b + k * PI_2[3])
    # not near, which NaN is not either
    far = f.do("fcmp uge", "i1", x, f.value(FAR, "double"))
    f.lines += [f"  br i1 {f.some(far)}, label %far, label %both", "far:"]
    inside = f.where(far, x, FAR)

    def reduce(f: Text, lane: int) -> list[Value]:
        one = f.lane(inside, lane)
        found = f.emit("", f"call {{double, double, i64}} @linkwork.reduce(double {one})").name
        return [
            f.emit(kind, f"extractvalue {{double, double, i64}} {found}, {i}")
            for i, kind in enumerate(("double", "double", "i64"))
        ]

    found = f.each(("double", "double", "i64"), reduce)
    chosen = [f.where(far, a, b) for a, b in zip(found, (r, low, n), strict=True)]
    f.lines += ["  br label %both", "both:"]
    before = "%near"
    return tuple(  # type: ignore[return-value]
        f.emit(a.kind, f"phi {f.type(a.kind)} [ {b.name}, {before} ], [ {a.name}, %far ]")
        for a, b in zip(chosen, (r, low, n), strict=True)
    )


def sine_and_cosine(r: Value, low: Value) -> tuple[Value, Value, Value, Value]:
    """Compute sine and cosine of r + low, |r| <= pi/4: both as sums of two doubles, the first nearly all."""
    z = r * r
    half, z2, z_r = 0.5 * z, z * z, z * r
    cosine = 1.0 - half
    sine_low = cosine * low + z_r * polynomial(z, SIN)
    return r, sine_low, cosine, (((1.0 - cosine) - half) - r * low) + z2 * polynomial(z, COS)


def sincos(f: Text, x: Value) -> tuple[Value, Value]:
    r, low, n = reduced(f, f.absolute(x))
    s, s_low, c, c_low = sine_and_cosine(r, low)
    sine, cosine = s + s_low, c + c_low
    is_odd = (n & 1).equals(1)
    quadrant = (n & 2) << 62
    return (
        f.with_sign(f.where(is_odd, cosine, sine), quadrant ^ f.sign(x)),
        f.with_sign(f.where(is_odd, sine, cosine), ((n + 1) & 2) << 62),
    )


def tan(f: Text, x: Value) -> tuple[Value]:
    r, low, n = reduced(f, f.absolute(x))
    s, s_low, c, c_low = sine_and_cosine(r, low)
    (s, s_low), (c, c_low) = fast_sum(s, s_low), fast_sum(c, c_low)
    is_odd = (n & 1).equals(1)
    q, rest = quotient(f.where(is_odd, c, s), f.where(is_odd, c_low, s_low), f.where(is_odd, s, c),
                       f.where(is_odd, s_low, c_low))  # fmt: skip
    return (f.with_sign(q + rest, (n & 1) << 63 ^ f.sign(x)),)


def exponential(f: Text, x: Value, low: Any) -> tuple[Value, Value, Value, Value]:
    """Split exp(x + low) = 2^k (1 + r + rest): k as a double and as bits, see `nearest`, r and rest; |x| < 2^11."""
    k, n = f.nearest(x * (1.0 / (LN_2 + LN_2_LOW)))
    high, part = x - k * LN_2, k * LN_2_LOW - low if isinstance(low, Value) else k * LN_2_LOW
    r = high - part
    error = (high - r) - part
    return k, n, r, (error + r * error) + (r * r) * polynomial(r, EXP)


def power_of_two(f: Text, k: Value) -> Value:
    """Return 2^k of an integer, or of the last bits of one beside others."""
    return f.number((k + 1023) << 52)


def scaled_exponential(f: Text, x: Value, low: Any) -> Value:
    """Return exp(x + low), also where it is subnormal or infinite."""
    x = f.where(x > 710.0, 710.0, f.where(x < -746.0, -746.0, x))
    _, n, r, rest = exponential(f, x, low)
    one, r_low = fast_sum(1.0, r)
    n = n - bits_of(MAGIC)
    half = n >> 1
    return ((one + (r_low + rest)) * power_of_two(f, half)) * power_of_two(f, n - half)


def exp(f: Text, x: Value) -> tuple[Value]:
    return (scaled_exponential(f, x, 0.0),)


@cache
def logarithms() -> list[tuple[float, float, float]]:
    """Return for each interval of m 1/c, and log c as a multiple of 2^-42 and the rest."""
    context, rows = Context(prec=40), []
    for i in range(N_INTERVALS):
        ends = [(bits_of(1.0) + round((i - FIRST + side) * 2**52 / N_INTERVALS)) for side in (0, 1)]
        low, high = (struct.unpack("<d", struct.pack("<q", end))[0] for end in ends)
        reciprocal = 1.0 if low < 1.0 < high else round(2.0**TABLE_BITS * 2.0 / (low + high)) / 2.0**TABLE_BITS
        exact = context.minus(context.ln(Decimal(reciprocal)))
        first = round(context.multiply(exact, 2**42)) / 2.0**42
        rows.append((reciprocal, first, float(context.subtract(exact, Decimal(first)))))
    return rows


def table() -> str:
    rows = (f"[3 x double] [{', '.join(f'double {float_bits(x)}' for x in row)}]" for row in logarithms())
    return f"@linkwork.logarithms = private constant [{N_INTERVALS} x [3 x double]] [{', '.join(rows)}]"


def beside_table(f: Text, x: Value) -> tuple[Value, Value, Value, Value]:
    """Return log x = whole + whole_low + log(1 + r + r_low) for a positive finite x, `whole` a multiple of 2^-42."""
    is_small = x < 2.0**-1022
    bits = f.bits(f.where(is_small, x * 2.0**54, x))
    beyond = bits - (bits_of(1.0) - round(FIRST * 2**52 / N_INTERVALS))
    exponent = beyond >> 52
    m = bits - (exponent << 52)
    k = (f.number(exponent + bits_of(MAGIC)) - MAGIC) - f.where(is_small, 54.0, 0.0)
    index = (beyond >> 45) & (N_INTERVALS - 1)

    def look_up(f: Text, lane: int) -> list[Value]:
        row = f"getelementptr [3 x double], ptr @linkwork.logarithms, i64 {f.lane(index, lane)}"
        start = f.emit("ptr", row).name
        places = [f.emit("ptr", f"getelementptr double, ptr {start}, i64 {j}").name for j in range(3)]
        return [f.emit("double", f"load double, ptr {place}") for place in places]

    reciprocal, log_c, log_c_low = f.each(("double",) * 3, look_up)
    high = f.number(m & -(2**27))
    r, r_low = exact_sum(high * reciprocal - 1.0, (f.number(m) - high) * reciprocal)
    return k * LN_2 + log_c, k * LN_2_LOW + log_c_low, r, r_low


def logarithm(f: Text, x: Value) -> tuple[Value, Value]:
    """Return log x of a positive finite x as a sum of two doubles."""
    whole, whole_low, r, r_low = beside_table(f, x)
    first = f.number(f.bits(r) & -(2**27))  # the half of r whose square is exact
    half_square = 0.5 * (first * first)
    rest = 0.5 * ((r + first) * (r - first)) + r * r_low
    one, one_low = fast_sum(whole, r)
    two, two_low = fast_sum(one, 0.0 - half_square)
    low = (whole_low + (r_low - rest)) + (one_low + two_low) + (r * r * r) * polynomial(r, LOG)
    return fast_sum(two, low)


def log(f: Text, x: Value) -> tuple[Value]:
    whole, whole_low, r, r_low = beside_table(f, x)
    high, low = fast_sum(whole, r)
    value = high + ((whole_low + (low + r_low)) + (r * r) * polynomial(r, (-0.5, *LOG)))
    value = f.where(x.equals(INF), INF, f.where(x.equals(0.0), -INF, value))
    return (f.where(f.do("fcmp ult", "i1", x, f.value(0.0, "double")), float("nan"), value),)


def power(f: Text, x: Value, y: Value) -> tuple[Value]:
    """Compute 1, x or x^2, as often in laws whose exponents are parameters, or else exp(y log |x|)."""
    is_none, is_one, is_square = y.equals(0.0), y.equals(1.0), y.equals(2.0)
    simple = f.where(is_square, x * x, f.where(is_none, 1.0, x))
    is_other = (is_none | is_one | is_square) ^ True
    f.lines += [f"  br i1 {f.some(is_other)}, label %other, label %both", "other:"]
    found, t = f.where(is_other, power_by_logarithm(f, x, y), simple), f.type("double")
    f.lines += ["  br label %both", "both:"]
    return (f.emit("double", f"phi {t} [ {simple.name}, %near ], [ {found.name}, %other ]"),)


def power_by_logarithm(f: Text, x: Value, y: Value) -> Value:
    """Compute exp(y log |x|), with the sign of an odd power; the values at zero and infinity are those of C99."""
    size = f.absolute(x)
    high, low = logarithm(f, size)
    high = f.where(size.equals(0.0), -INF, f.where(size.equals(INF), INF, f.where(f.is_nan(x, x), x, high)))
    product, error = exact_product(y, high)
    product = f.where(size.equals(1.0) & y.equals(y), 0.0, f.where(x.equals(1.0), 0.0, product))
    inside = (f.absolute(product) < 800.0) & (f.absolute(y) < 2.0**900)
    value = scaled_exponential(f, product, f.where(inside, error + y * low, 0.0))
    half = 0.5 * y
    is_whole, is_even = f.intrinsic("trunc", y).equals(y), f.intrinsic("trunc", half).equals(half)
    odd = f.where(is_whole, f.where(is_even, 0, f.sign(x)), 0)
    value = f.with_sign(value, odd)
    broken = f.where(is_whole, False, (x < 0.0) & (x > -INF))
    return f.where(broken, float("nan"), value)


def scale(f: Text, v: Value) -> tuple[Value, Value]:
    """Return powers of two, s and 1/s, for numbers up to v > 0: s v is about 2^100, so that what counts beside it
    is exact.
    """
    exponent = f.bits(v) & (2047 << 52)
    is_small = v < 2.0**-900
    s = f.where(is_small, 2.0**1000, f.number((2146 << 52) - exponent))
    return s, f.where(is_small, 2.0**-1000, f.number(exponent - (100 << 52)))


def angle(f: Text, y: Value, x: Value) -> Value:
    """Return the angle from the x axis to (x, y)."""
    a, b = f.absolute(y), f.absolute(x)
    is_steep = a > b
    u, v = f.where(is_steep, b, a), f.where(is_steep, a, b)
    is_infinite = v.equals(INF)
    u = f.where(is_infinite, f.where(u.equals(INF), 1.0, 0.0), u)
    v = f.where(is_infinite | v.equals(0.0), 1.0, v)
    by, _ = scale(f, v)
    u, v = u * by, v * by
    u4 = 4.0 * u
    near_half, near_one = u4 > v, u4 > 3.0 * v
    c = f.where(near_one, 1.0, f.where(near_half, 0.5, 0.0))
    part = c * u
    below = v + part
    below_low = part - (below - v)
    t, t_low = quotient(u - c * v, f.value(0.0, "double"), below, below_low)
    z = t * t
    inner = f.where(t.equals(0.0) | (f.absolute(t) < 2.0**-900), 0.0, t_low) + (t * z) * polynomial(z, ATAN)
    # the angle is first + side (c's + t + inner)
    backwards = f.bits(x) < 0
    first = f.where(is_steep, HALF_PI, f.where(backwards, 2.0 * HALF_PI, 0.0))
    first_low = f.where(is_steep, HALF_PI_LOW, f.where(backwards, 2.0 * HALF_PI_LOW, 0.0))
    own = f.where(near_one, 0.5 * HALF_PI, f.where(near_half, ATAN_HALF, 0.0))
    own_low = f.where(near_one, 0.5 * HALF_PI_LOW, f.where(near_half, ATAN_HALF_LOW, 0.0))
    t_sign = f.where(is_steep, -(2**63), 0) ^ f.sign(x)
    whole = first + f.with_sign(own, t_sign)
    low = (first_low + f.with_sign(own_low, t_sign)) + f.with_sign(inner, t_sign)
    high, left = fast_sum(whole, f.with_sign(t, t_sign))
    found = high + (left + low)
    return f.where(f.is_nan(x, y), float("nan"), f.with_sign(found, f.sign(y)))


def atan2(f: Text, y: Value, x: Value) -> tuple[Value]:
    return (angle(f, y, x),)


def atan(f: Text, x: Value) -> tuple[Value]:
    return (
        angle(
            f,
            x,
            f.emit("double", f"fadd {f.type('double')} {f.value(1.0, 'double').name}, {f.value(0.0, 'double').name}"),
        ),
    )


def arc(f: Text, x: Value) -> tuple[Value, Value, Value, Value]:
    """Return whether |x| > 1/2, and of s = |x| or else sqrt((1 - |x|)/2): s, what is left of s, and arcsin s - s."""
    a = f.absolute(x)
    is_large = a > 0.5
    z = f.where(is_large, 0.5 * (1.0 - a), a * a)
    root = f.root(z)
    s = f.where(is_large, root, a)
    p, e = exact_product(root, root)
    rest = ((z - p) - e) / (2.0 * root)
    return is_large, s, f.where(is_large & (root > 0.0), rest, 0.0), (s * z) * polynomial(z, ASIN)


def asin(f: Text, x: Value) -> tuple[Value]:
    is_large, s, rest, beyond = arc(f, x)
    high, low = fast_sum(HALF_PI, -2.0 * s)
    large = high + (low + (HALF_PI_LOW - 2.0 * (rest + beyond)))
    return (f.with_sign(f.where(is_large, large, s + beyond), f.sign(x)),)


def acos(f: Text, x: Value) -> tuple[Value]:
    """Return pi/2 - arcsin x, where |x| is large 2 arcsin s or pi less that."""
    is_large, s, rest, beyond = arc(f, x)
    factor = f.where(is_large, 2.0, 1.0)
    sign = f.sign(x) ^ f.where(is_large, -(2**63), 0)
    s, beyond = f.with_sign(factor * s, sign), f.with_sign(factor * (rest + beyond), sign)
    turns = f.where(is_large, f.where(x < 0.0, 2.0, 0.0), 1.0)
    high, low = fast_sum(turns * HALF_PI, 0.0 - s)
    return (high + (low + (turns * HALF_PI_LOW - beyond)),)


def tanh(f: Text, x: Value) -> tuple[Value]:
    """Return (e - 1)/(e + 1) with e = exp 2|x|, which from SATURATED on is one."""
    twice = 2.0 * f.absolute(x)
    is_less = f.do("fcmp ule", "i1", twice, f.value(SATURATED, "double"))
    one = f.with_sign(f.value(1.0, "double"), f.sign(x))
    f.lines += [f"  br i1 {f.some(is_less)}, label %less, label %both", "less:"]
    found, t = f.where(is_less, tanh_of_less(f, x, f.where(is_less, twice, SATURATED)), one), f.type("double")
    f.lines += ["  br label %both", "both:"]
    return (f.emit("double", f"phi {t} [ {one.name}, %near ], [ {found.name}, %less ]"),)


def tanh_of_less(f: Text, x: Value, twice: Value) -> Value:
    _, n, r, rest = exponential(f, twice, 0.0)
    e = power_of_two(f, n - bits_of(MAGIC))
    sums: list[Value] = []
    for one in (-1.0, 1.0):
        first, first_low = fast_sum(e, f.value(one, "double"))
        second, second_low = fast_sum(first, e * r)
        sums += fast_sum(second, (second_low + first_low) + e * rest)
    above, above_low, below, below_low = sums
    q, left = quotient(above, above_low, below, below_low)
    return f.with_sign(q + left, f.sign(x))


def hypot(f: Text, x: Value, y: Value) -> tuple[Value]:
    """Return sqrt(x^2 + y^2), its root corrected by what is left."""
    a, b = f.absolute(x), f.absolute(y)
    is_less = a < b
    u, v = f.where(is_less, a, b), f.where(is_less, b, a)
    by, back = scale(f, v)
    u, v = u * by, v * by
    (uu, uu_low), (vv, vv_low) = exact_product(u, u), exact_product(v, v)
    square, low = fast_sum(vv, uu)
    h = f.root(square)
    hh, hh_low = exact_product(h, h)
    found = (h + (((square - hh) - hh_low) + (low + (uu_low + vv_low))) / (2.0 * h)) * back
    found = f.where(v.equals(0.0), 0.0, found)
    return (f.where(a.equals(INF) | b.equals(INF), INF, f.where(f.is_nan(x, y), float("nan"), found)),)


FUNCTIONS: dict[str, tuple[int, Callable[..., tuple[Value, ...]]]] = {
    "sincos": (1, sincos),
    "tan": (1, tan),
    "exp": (1, exp),
    "log": (1, log),
    "pow": (2, power),
    "atan": (1, atan),
    "atan2": (2, atan2),
    "asin": (1, asin),
    "acos": (1, acos),
    "tanh": (1, tanh),
    "hypot": (2, hypot),
}
PARTS_OF = {"sin": ("sincos", 0), "cos": ("sincos", 1)}  # of which function these are results
PAIR = "{double, double}"
INTRINSICS = {"sqrt": 1, "fabs": 1, "copysign": 2, "trunc": 1}  # exact, of the processor
ELEMENTARY = {*INTRINSICS, *PARTS_OF, *FUNCTIONS} - {"sincos", "trunc"}

REDUCE = """define internal {double, double, i64} @linkwork.reduce(double %x) nounwind noinline cold {
begin:
  %bits = bitcast double %x to i64
  %biased = lshr i64 %bits, 52
  %mantissa = and i64 %bits, 4503599627370495
  %m = or i64 %mantissa, 4503599627370496
  %m0 = and i64 %m, 16777215
  %m1.and = lshr i64 %m, 24
  %m1 = and i64 %m1.and, 16777215
  %m2 = lshr i64 %m, 48
  %start = sub i64 %biased, 1029
  %first = udiv i64 %start, 24
  %shift = urem i64 %start, 24
  %back = sub i64 24, %shift
  %digits = alloca [8 x i64]
  br label %loop
loop:
  %k = phi i64 [ 7, %begin ], [ %next, %loop ]
  %w1 = phi i64 [ 0, %begin ], [ %w0, %loop ]
  %w2 = phi i64 [ 0, %begin ], [ %w1, %loop ]
  %carry = phi i64 [ 0, %begin ], [ %above, %loop ]
  %i = add i64 %first, %k
  %j = add i64 %i, 1
  %p0 = getelementptr i32, ptr @linkwork.two.over.pi, i64 %i
  %p1 = getelementptr i32, ptr @linkwork.two.over.pi, i64 %j
  %d0 = load i32, ptr %p0
  %d1 = load i32, ptr %p1
  %e0 = zext i32 %d0 to i64
  %e1 = zext i32 %d1 to i64
  %f0 = shl i64 %e0, %shift
  %f1 = lshr i64 %e1, %back
  %g = or i64 %f0, %f1
  %w0 = and i64 %g, 16777215
  %t0 = mul i64 %w0, %m0
  %t1 = mul i64 %w1, %m1
  %t2 = mul i64 %w2, %m2
  %s0 = add i64 %t0, %carry
  %s1 = add i64 %s0, %t1
  %sum = add i64 %s1, %t2
  %digit = and i64 %sum, 16777215
  %above = lshr i64 %sum, 24
  %to = getelementptr i64, ptr %digits, i64 %k
  store i64 %digit, ptr %to
  %next = sub i64 %k, 1
  %more = icmp sge i64 %next, 0
  br i1 %more, label %loop, label %done
done:
"""


def far_reduction() -> str:
    """Reduce x >= FAR to x - k pi/2: of x 2/pi = m 2^e 2/pi only digits of 2/pi count that leave no multiples of 4."""
    f = Text(1)
    x = Value(f, "double", "%x")

    def digit(k: int) -> Value:
        place = f.emit("ptr", f"getelementptr i64, ptr %digits, i64 {k}")
        return f.emit("i64", f"load i64, ptr {place.name}")

    first = digit(0)
    parts = [(digit(k) << DIGIT) | digit(k + 1) for k in (2, 4)]
    fraction = ((first & (2**22 - 1)) << DIGIT) | digit(1)
    is_more = fraction > 2**45
    n = (first >> 22) + f.where(is_more, 1, 0)
    whole = f.cast("sitofp", fraction - f.where(is_more, 2**46, 0), "double") * 2.0**-46
    second, third = (
        f.cast("sitofp", part, "double") * by for part, by in zip(parts, (2.0**-94, 2.0**-142), strict=True)
    )
    high, low = fast_sum(whole, second)
    high, low = fast_sum(high, low + third)
    product, error = exact_product(high, HALF_PI)
    r, r_low = fast_sum(product + (x - x), error + (high * HALF_PI_LOW + low * HALF_PI))
    found = "poison"
    for k, part in enumerate((r, r_low, n)):
        found = f.emit("", f"insertvalue {{double, double, i64}} {found}, {part.kind} {part.name}, {k}").name
    count = len(TWO_OVER_PI) * 4 // DIGIT
    numbers = ", ".join(f"i32 {int(TWO_OVER_PI[6 * k : 6 * k + 6], 16)}" for k in range(count))
    constants = f"@linkwork.two.over.pi = private constant [{count} x i32] [{numbers}]"
    return "\n".join([constants, REDUCE + "\n".join(f.lines), f"  ret {{double, double, i64}} {found}", "}"])


def definition(name: str, lanes: int) -> str:
    count, write = FUNCTIONS[name]
    f = Text(lanes)
    t = f.type("double")
    arguments = [Value(f, "double", f"%x{k}") for k in range(count)]
    found = write(f, *arguments)
    result, value = t, found[0].name
    if len(found) > 1:
        result, value = f"{{{t}, {t}}}", "poison"
        for k, x in enumerate(found):
            value = f.emit("", f"insertvalue {result} {value}, {t} {x.name}, {k}").name
    head = f"define internal {result} @{called(name, lanes)}({', '.join(f'{t} {x.name}' for x in arguments)})"
    return "\n".join([f"{head} nounwind memory(none) {{", "near:", *f.lines, f"  ret {result} {value}", "}"])


def called(name: str, lanes: int = 1) -> str:
    """Return the name in LLVM of a function of so many lanes."""
    return f"linkwork.{name}" if lanes == 1 else f"linkwork.{name}.{lanes}"


def call(name: str, arguments: Sequence[str], lanes: int = 1) -> str:
    """Return the call of a function, or of an intrinsic of LLVM."""
    f = Text(lanes)
    t = f.type("double")
    given = ", ".join(f"{t} {x}" for x in arguments)
    if name in INTRINSICS:
        return f"call {t} @llvm.{name}.{f.suffix}({given})"
    result = t if name != "sincos" else f"{{{t}, {t}}}"
    return f"call {result} @{called(name, lanes)}({given})"


def define(text: str) -> str:
    """Return LLVM text of all functions that a text calls, and of what these call; the whole then imports nothing."""
    found = sorted(set(re.findall(r"@linkwork\.(\w+)(?:\.(\d+))?\(", text)))
    texts = [definition(name, int(lanes or 1)) for name, lanes in found]
    whole = "\n".join(texts)
    if "@linkwork.reduce(" in whole:
        texts.append(far_reduction())
    if "@linkwork.logarithms" in whole:
        texts.append(table())
    return "\n".join([*texts, *declare(whole + text)])


def declare(text: str) -> list[str]:
    """Return declarations of the intrinsics of LLVM that a text calls."""
    lines = []
    for name, lanes in sorted(set(re.findall(rf"@llvm\.({'|'.join(INTRINSICS)})\.(?:v(\d+))?f64\(", text))):
        f = Text(int(lanes or 1))
        t = f.type("double")
        lines.append(f"declare {t} @llvm.{name}.{f.suffix}({', '.join([t] * INTRINSICS[name])})")
    for lanes in sorted(set(re.findall(r"@llvm\.vector\.reduce\.or\.v(\d+)i1\(", text))):
        lines.append(f"declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)")
    return lines
