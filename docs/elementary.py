"""The page of elementary functions: their polynomials, computed anew, and their errors, measured.

python docs/elementary.py     # prints the page
"""

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.native import elementary, machine
from reference import table

Array = NDArray[np.float64]

SAMPLES, SEED = 4_000, 1
DIGITS = 60  # of mpmath where polynomials are computed
BITS, BITS_FAR = 200, 1300  # of mpmath where errors are; the sine of 1e308 takes as many more
ROUNDS, GRID = 6, 60  # of Remez' exchange; points between two extrema
REACH = 1.0 + 1e-5  # of the range that a reduction leaves, which rounding may pass


def remez(f: Callable[[Any], Any], weight: Callable[[Any], Any], low: Any, high: Any, degree: int) -> list[float]:
    """Coefficients of the polynomial P for which the largest weight |P - f| is least.  [muller2018, section 10.3]"""
    from mpmath import cos, lu_solve, matrix, mpf, pi

    n = degree + 2

    def points(count: int) -> list[Any]:
        return [(low + high) / 2 - (high - low) / 2 * cos(pi * k / (count - 1)) for k in range(count)]

    nodes = points(n)
    for _ in range(ROUNDS):
        system, values = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(nodes):
            for j in range(degree + 1):
                system[i, j] = x**j
            system[i, degree + 1] = (-1) ** i / (weight(x) or mpf(10) ** -30)
            values[i] = f(x)
        c = [*lu_solve(system, values)][: degree + 1]
        extrema: list[tuple[Any, Any]] = []
        for x in points(GRID * n):
            error = weight(x) * (sum(c_k * x**k for k, c_k in enumerate(c)) - f(x))
            if not extrema or (error > 0) != (extrema[-1][1] > 0):
                extrema.append((x, error))
            elif abs(error) > abs(extrema[-1][1]):
                extrema[-1] = x, error
        while len(extrema) > n:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        nodes = [x for x, _ in extrema]
    return [float(x) for x in c]


def coefficients() -> dict[str, tuple[float, ...]]:
    """The polynomials of `native/elementary.py`, by their names there."""
    from mpmath import asin, atan, cos, exp, log, log1p, mp, mpf, pi, sin, sqrt

    def of_root(f: Callable[[Any], Any], limit: Any) -> Callable[[Any], Any]:
        """(f(s) - s)/s^3 of z = s^2."""
        return lambda z: limit if z < mpf(10) ** -14 else (f(sqrt(z)) - sqrt(z)) / (z * sqrt(z))

    with mp.workdps(DIGITS):
        near_zero, quarter, half = mpf(10) ** -14, (pi / 4) ** 2 * REACH, log(2) / 2 * REACH
        found = {
            "SIN": remez(of_root(sin, -mpf(1) / 6), lambda z: z, mpf(0), quarter, 5),
            "COS": remez(
                lambda z: mpf(1) / 24 if z < near_zero else (cos(sqrt(z)) - 1 + z / 2) / z**2,
                lambda z: z * z,
                mpf(0),
                quarter,
                5,
            ),
            "EXP": remez(
                lambda r: mpf(1) / 2 if abs(r) < near_zero else (exp(r) - 1 - r) / r**2,
                lambda r: r * r + half * half / 100,
                -half,
                half,
                9,
            ),
            "LOG": remez(
                lambda r: mpf(1) / 3 if abs(r) < near_zero else (log1p(r) - r + r * r / 2) / r**3,
                lambda r: r * r + mpf(10) ** -7,
                mpf("-0.0042"),
                mpf("0.0042"),
                5,
            ),
            "ATAN": remez(of_root(atan, -mpf(1) / 3), lambda z: z, mpf(0), mpf("0.0626"), 7),
            "ASIN": remez(of_root(asin, mpf(1) / 6), lambda z: z, mpf(0), mpf("0.25001"), 12),
        }
    return {name: tuple(c) for name, c in found.items()}


def module_text(lanes: int) -> str:
    """Loops of all functions over arrays, so many numbers at once."""
    loops = []
    for name, (count, _) in elementary.FUNCTIONS.items():
        f = elementary.Text(lanes)
        t, results = f.type("double"), 2 if name == "sincos" else 1
        x = range(count)
        loads = [f"%at{k} = getelementptr double, ptr %x{k}, i64 %i\n%a{k} = load {t}, ptr %at{k}, align 8" for k in x]
        result = f"{{{t}, {t}}}" if results == 2 else t
        value = [f"%r{k} = extractvalue {result} %r, {k}" for k in range(results)] if results == 2 else []
        stores = [
            f"%to{k} = getelementptr double, ptr %y{k}, i64 %i\n"
            f"store {t} %r{k if results == 2 else ''}, ptr %to{k}, align 8"
            for k in range(results)
        ]
        arguments = ", ".join(f"ptr %{array}" for array in [*(f"x{k}" for k in x), *(f"y{k}" for k in range(results))])
        call = elementary.call(name, [f"%a{k}" for k in x], lanes)
        loops.append(
            "\n".join(
                [
                    f"define void @all.{name}({arguments}, i64 %n) nounwind {{",
                    "br label %loop",
                    "loop:",
                    "%i = phi i64 [ 0, %0 ], [ %next, %loop ]",
                    *loads,
                    f"%r = {call}",
                    *value,
                    *stores,
                    f"%next = add i64 %i, {lanes}",
                    "%more = icmp slt i64 %next, %n",
                    "br i1 %more, label %loop, label %done",
                    "done:",
                    "ret void",
                    "}",
                ]
            )
        )
    text = "\n".join(loops)
    return f"{text}\n{elementary.define(text)}"


@cache
def compiled(lanes: int, target: tuple[str, str] | None = None) -> machine.Code:
    """The same as machine code, also for another processor and its features."""
    text = module_text(lanes)
    names = [f"all.{name}" for name in elementary.FUNCTIONS]
    if target is None:
        return machine.load(machine.assemble(text, 1), names)
    llvm = machine.binding()
    module = llvm.parse_assembly(text)
    return machine.load(machine._target_machine(1, *target).emit_object(module), names)


def evaluate(name: str, *given: Array, lanes: int = 1, target: tuple[str, str] | None = None) -> list[Array]:
    """The results of a function of these numbers."""
    whole = -len(given[0]) % lanes
    x = [np.append(a, np.ones(whole)) for a in given]
    y = [np.empty(len(x[0])) for _ in range(2 if name == "sincos" else 1)]
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(x) + len(y)), ctypes.c_int64)
    entry(compiled(lanes, target).addresses[f"all.{name}"])(*(a.ctypes.data for a in (*x, *y)), len(x[0]))
    return [a[: len(given[0])] for a in y]


def samples(seed: int, count: int) -> Iterator[tuple[str, str, list[Array]]]:
    """Functions, what is sampled, and the samples."""
    rng = np.random.default_rng(seed)

    def wide(low: int, high: int) -> Array:
        """Numbers of all exponents between."""
        return np.ldexp(rng.uniform(1, 2, count), rng.integers(low, high, count)) * rng.choice([-1.0, 1.0], count)

    def even(low: float, high: float) -> Array:
        return rng.uniform(low, high, count)

    multiples = np.array([float(k) for k in rng.integers(1, 600_000, count)]) * (math.pi / 2)
    usual = np.concatenate([even(-1, 1), even(-100, 100), wide(-40, 20)])
    for name in ("sincos", "tan"):
        yield name, "|x| < 2^20", [usual]
        yield name, "next to k pi/2", [multiples]
        yield name, "2^20 to 2^1024", [wide(20, 1023)]
    yield "exp", "-708 to 709.7", [np.concatenate([even(-1, 1), even(-708, 709.7), wide(-60, 3)])]
    yield "exp", "-745 to -708, subnormal", [even(-745, -708)]
    yield "log", "all x > 0", [np.concatenate([abs(wide(-1074, 1023)), even(0.5, 2), 1 + wide(-52, -3)])]
    yield "pow", "x 2^-10 to 2^10", [abs(wide(-10, 10)), wide(-10, 5)]
    yield "pow", "all x > 0, |y| < 1", [abs(wide(-1074, 1023)), even(-1, 1)]
    yield "pow", "x near 1, |y| < 10^4", [1 + wide(-50, -4), even(-1e4, 1e4)]
    yield "atan", "all x", [np.concatenate([wide(-1074, 1023), wide(-3, 3), even(-1, 1)])]
    yield "atan2", "near each other", [wide(-5, 5), wide(-5, 5)]
    yield "atan2", "all x, y", [wide(-1074, 1023), wide(-1074, 1023)]
    ends = 1 - abs(wide(-52, -2))
    yield "asin", "|x| <= 1", [np.concatenate([even(-1, 1), wide(-60, -1), ends])]
    yield "acos", "|x| <= 1", [np.concatenate([even(-1, 1), wide(-60, -1), ends, -ends])]
    yield "tanh", "|x| < 64", [np.concatenate([even(-1, 1), wide(-60, 5), even(-3, 3)])]
    yield "hypot", "near each other", [wide(-5, 5), wide(-5, 5)]
    yield "hypot", "all x, y", [wide(-1074, 1022), wide(-1074, 1022)]


def ulps(found: float, exact: Any) -> float:
    """How far a result is from an exact one, by the distance of doubles there."""
    from mpmath import frexp, ldexp, mpf

    if exact == 0 or not math.isfinite(found):
        return 0.0 if found == float(exact) else math.inf
    return float(abs(mpf(found) - exact) / ldexp(1, max(int(frexp(exact)[1]) - 53, -1074)))


def errors(seed: int = SEED, count: int = SAMPLES) -> Iterator[tuple[str, str, float, Sequence[float]]]:
    """Function, range, largest error in ulp, and where."""
    import mpmath

    exact: dict[str, list[str]] = {"sincos": ["sin", "cos"], "pow": ["power"]}
    for name, of, given in samples(seed, count):
        far = name in ("sincos", "tan") and np.max(np.abs(given[0])) > elementary.FAR
        with mpmath.mp.workprec(BITS_FAR if far else BITS):
            points = [[mpmath.mpf(x) for x in point] for point in zip(*(a.tolist() for a in given), strict=True)]
            for f, y in zip(exact.get(name, [name]), evaluate(name, *given), strict=True):
                own = [ulps(a, getattr(mpmath, f)(*point)) for a, point in zip(y.tolist(), points, strict=True)]
                worst = int(np.argmax(own))
                yield f if name == "sincos" else name, of, own[worst], [float(a[worst]) for a in given]


def page() -> str:
    rows = [[f"`{name}`", of, f"{worst:.2f}", ", ".join(map(repr, at))] for name, of, worst, at in errors()]
    return "\n".join(
        [
            "# Elementary functions",
            "",
            "Machine code has its own sine, logarithm and so on, made of sums, products, quotients and roots",
            "alone, which IEEE 754 rounds alike everywhere, and no product is fused with a sum. So a run gives",
            "the same bits on every processor, in every lane of a vector, and in a page. It costs nothing on",
            "average: motions of a slider-crank, Andrews' squeezer and Bricard's mechanism gain or lose up to 4",
            "%.",
            "",
            "These are the largest errors of random numbers, in units in the last place, against mpmath; a",
            "correctly rounded result is off by 0.5. Values at zeros, infinities and NaN are those of C99. What",
            "Python evaluates, such as the values of a model file, takes the functions of Python, which may",
            "differ in the last digits.",
            "",
            *table(["function", "range", "error, ulp", "at"], rows),
        ]
    )


if __name__ == "__main__":
    print(page())
