"""CUDA C, small functions that generated kernels call. In: names. Out: their text.

Only what a kernel uses is put in front of it. Semantics are those of ``kernel_ir/nodes.py``:
integer division is total, float to integer saturates, minimum and maximum propagate NaN, shifts
beyond the width are defined. Next: ``cuda_expr.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: In front of every source: what a helper is.
PREAMBLE: Final = "#define DEVICE __device__ __forceinline__"

_BITS = """template <class To, class From> DEVICE To from_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To y;
  memcpy(&y, &x, sizeof(To));
  return y;
}"""

_COMPLEX = """struct alignas(8) c64 { float re, im; };
struct alignas(16) c128 { double re, im; };"""

#: Name -> (text, names it needs). The order here is the order in the source.
HELPERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "from_bits": (_BITS, ()),
    "complex": (_COMPLEX, ()),
    "half": (
        """DEVICE float half_to_float(unsigned short h) {
  const unsigned int sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return from_bits<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  // A power of two moves subnormal numbers to where they belong.
  const float magnitude = from_bits<float>(rest << 13) * from_bits<float>(0x77800000u);
  return from_bits<float>(sign | from_bits<unsigned int>(magnitude));
}
DEVICE unsigned short float_to_half(float x) {
  const unsigned int u = from_bits<unsigned int>(x), sign = (u >> 16) & 0x8000u;
  const unsigned int a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
  if (a >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (a < 0x38800000u) {  // subnormal: adding 0.5 rounds to a multiple of 2^-24
    const float moved = from_bits<float>(a) + 0.5f;
    return (unsigned short)(sign | (from_bits<unsigned int>(moved) - 0x3f000000u));
  }
  const unsigned int rounded = a + 0xfffu + ((a >> 13) & 1u);
  return (unsigned short)(sign | ((rounded - 0x38000000u) >> 13));
}
DEVICE float round_half(float x) { return half_to_float(float_to_half(x)); }""",
        ("from_bits",),
    ),
    "bfloat16": (
        """DEVICE float bf16_to_float(unsigned short h) {
  return from_bits<float>((unsigned int)h << 16);
}
DEVICE unsigned short float_to_bf16(float x) {
  const unsigned int u = from_bits<unsigned int>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (unsigned short)((u >> 16) | 0x40u);
  return (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
DEVICE float round_bf16(float x) { return bf16_to_float(float_to_bf16(x)); }""",
        ("from_bits",),
    ),
    "min_max": (
        """template <class T> DEVICE T min_of(T a, T b) { return b < a ? b : a; }
template <class T> DEVICE T max_of(T a, T b) { return a < b ? b : a; }
// The first NaN wins.
template <class T> DEVICE T min_nan(T a, T b) {
  return a != a ? a : (b != b ? b : (b < a ? b : a));
}
template <class T> DEVICE T max_nan(T a, T b) {
  return a != a ? a : (b != b ? b : (a < b ? b : a));
}""",
        (),
    ),
    "div": (
        """// x / 0 is -1 (all bits set), the most negative number / -1 is itself.
template <class T, class U> DEVICE T div_signed(T a, T b) {
  if (b == 0) return (T)-1;
  return b == (T)-1 ? (T)(0 - (U)a) : (T)(a / b);
}
template <class T> DEVICE T div_unsigned(T a, T b) {
  return b == 0 ? (T)~(T)0 : (T)(a / b);
}""",
        (),
    ),
    "rem": (
        """// x % 0 is x.
template <class T> DEVICE T rem_signed(T a, T b) {
  if (b == 0) return a;
  return b == (T)-1 ? (T)0 : (T)(a % b);
}
template <class T> DEVICE T rem_unsigned(T a, T b) {
  return b == 0 ? a : (T)(a % b);
}""",
        (),
    ),
    "shift": (
        """// A shift by the width or more leaves nothing, or the sign.
template <class U> DEVICE U shift_left(U a, U s) {
  return s < 8 * sizeof(U) ? (U)(a << s) : (U)0;
}
template <class U> DEVICE U shift_right(U a, U s) {
  return s < 8 * sizeof(U) ? (U)(a >> s) : (U)0;
}
template <class T, class U> DEVICE T shift_sign(T a, U s) {
  return (T)(a >> (s < 8 * sizeof(T) ? s : (U)(8 * sizeof(T) - 1)));
}""",
        (),
    ),
    "to_int": (
        """// NaN is 0, what does not fit is the nearest number that does.
template <class T, class F>
DEVICE T to_int(F x, F low, F above, T lowest, T highest) {
  if (x != x) return (T)0;
  if (x < low) return lowest;
  return x >= above ? highest : (T)x;
}""",
        (),
    ),
    "is_nan": (
        "template <class F> DEVICE bool is_nan(F x) { return x != x; }",
        (),
    ),
    "is_finite": (
        "template <class F> DEVICE bool is_finite(F x) { return x - x == 0; }",
        (),
    ),
    "complex_cast": (
        """template <class To, class Part, class From> DEVICE To complex_cast(From x) {
  return {(Part)x.re, (Part)x.im};
}""",
        ("complex",),
    ),
    "sign": (
        """template <class F> DEVICE F sign_of(F x) {
  return x > 0 ? (F)1 : (x < 0 ? (F)-1 : x);
}
template <class T> DEVICE T int_sign_of(T x) { return (T)((x > 0) - (x < 0)); }""",
        (),
    ),
    "abs": (
        """template <class T, class U> DEVICE T int_abs(T x) {
  return x < 0 ? (T)(0 - (U)x) : x;
}""",
        (),
    ),
    "int_pow": (
        """template <class T, class U> DEVICE T int_pow(T base, T exponent) {
  if (exponent < 0) return 0;
  U result = 1, square = (U)base;
  for (U e = (U)exponent; e; e >>= 1) {
    if (e & 1) result = (U)(result * square);
    square = (U)(square * square);
  }
  return (T)result;
}""",
        (),
    ),
    "lgamma": (
        """template <class F> DEVICE F lgamma_of(F x) {
  return x <= 0 && x == floor(x) ? from_bits<float>(0x7f800000u) : (F)lgamma(x);
}""",
        ("from_bits",),
    ),
    "complex_ops": (
        """template <class C> DEVICE C c_add(C a, C b) { return {a.re + b.re, a.im + b.im}; }
template <class C> DEVICE C c_sub(C a, C b) { return {a.re - b.re, a.im - b.im}; }
template <class C> DEVICE C c_neg(C a) { return {-a.re, -a.im}; }
template <class C> DEVICE C c_conj(C a) { return {a.re, -a.im}; }
template <class C> DEVICE bool c_eq(C a, C b) {
  return a.re == b.re && a.im == b.im;
}
template <class C> DEVICE C c_mul(C a, C b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Smith's method: no overflow where the quotient does not.
template <class C> DEVICE C c_div(C a, C b) {
  if (b.re == 0 && b.im == 0) return {a.re / b.re, a.im / b.re};
  if (fabs(b.re) >= fabs(b.im)) {
    const auto r = b.im / b.re, d = b.re + b.im * r;
    return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
  }
  const auto r = b.re / b.im, d = b.re * r + b.im;
  return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}""",
        ("complex",),
    ),
    "shuffle": (
        """template <class T> DEVICE T from_lane(T x, int distance) {
  return __shfl_xor_sync(0xffffffffu, x, distance);
}""",
        (),
    ),
    "shuffle_small": (
        """template <class T> DEVICE T small_from_lane(T x, int distance) {
  return (T)__shfl_xor_sync(0xffffffffu, (int)x, distance);
}""",
        (),
    ),
    "shuffle_complex": (
        """template <class C> DEVICE C complex_from_lane(C x, int distance) {
  return {from_lane(x.re, distance), from_lane(x.im, distance)};
}""",
        ("complex", "shuffle"),
    ),
}


def helpers_text(names: Iterable[str]) -> str:
    """Return the text of the helpers called ``names`` and of those that they need."""
    wanted: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting.extend(HELPERS[name][1])
    texts = [text for name, (text, _) in HELPERS.items() if name in wanted]
    return "\n".join([PREAMBLE, *texts]) if texts else ""
