"""Prints MathCoefficients.h: polynomials for the functions of MathFunctions*.cpp.

Each is the interpolation of a function at the zeros of a Chebyshev polynomial, which is within a small
factor of the best one; the printed error is the largest over the interval, in units of the largest value, with
the coefficients rounded as they are used. Run with numpy: python coefficients.py > MathCoefficients.h
"""

import math
from decimal import Decimal, getcontext

import numpy as np
from scipy import special

Long = np.longdouble
getcontext().prec = 50
SQRT_PI = Decimal("3.14159265358979323846264338327950288419716939937510582").sqrt()


def interpolate(function, low, high, degree):
    """Power-basis coefficients, lowest first, computed in long double."""
    count = degree + 1
    angles = (2 * np.arange(count, dtype=Long) + 1) * Long(np.pi) / (2 * count)
    nodes = np.cos(angles)
    x = (Long(low) + Long(high)) / 2 + (Long(high) - Long(low)) / 2 * nodes
    values = function(x)
    # Newton's divided differences, then expanded: stable enough at these degrees in 64 bits.
    table = values.copy()
    for step in range(1, count):
        table[step:] = (table[step:] - table[step - 1 : -1]) / (x[step:] - x[: count - step])
    coefficients = np.zeros(count, dtype=Long)
    for i in range(count - 1, -1, -1):
        coefficients = np.concatenate(([Long(0)], coefficients[:-1])) - x[i] * coefficients
        coefficients[0] += table[i]
    return coefficients


def evaluate(coefficients, x):
    result = np.zeros_like(x)
    for c in coefficients[::-1]:
        result = result * x + c
    return result


def emit(name, why, function, low, high, degree, single):
    coefficients = interpolate(function, low, high, degree)
    rounded = coefficients.astype(np.float32 if single else np.float64)
    x = np.linspace(low, high, 20001).astype(Long)
    exact = function(x)
    error = np.max(np.abs(evaluate(rounded.astype(Long), x) - exact)) / np.max(np.abs(exact))
    digits = 9 if single else 17
    print(f"/// {why}; error {float(error):.1e}.")
    print(f"inline constexpr double {name}[] = {{")
    for c in rounded:
        print(f"    {float(c):.{digits - 1}e},")
    print("};")


def series(terms, x, power):
    """sum of terms[k] * x^(power k), for arguments near zero where the closed form cancels."""
    result = np.zeros_like(x)
    for term in terms[::-1]:
        result = result * x**power + term
    return result


def factorial(n):
    return Long(math.factorial(n))


def exp_tail(x):  # (e^x - 1 - x) / x^2
    return series([1 / factorial(k + 2) for k in range(22)], x, 1)


def log_ratio(z):  # (log((1 + s) / (1 - s)) - 2 s) / s^3 with z = s^2
    return series([Long(2) / (2 * k + 3) for k in range(24)], z, 1)


def erfc_scaled(t):  # (1 + 2 x) e^(x^2) erfc(x) with x = 3.75 (1 + t) / (1 - t)
    x = 3.75 * (1 + t) / (1 - t)
    return ((1 + 2 * x) * special.erfcx(x.astype(np.float64))).astype(Long)


def erfc_exactly(x):  # e^(x^2) erfc(x) of a decimal
    if x > 3:  # the continued fraction, from its end
        below = x
        for k in range(400, 0, -1):
            below = x + Decimal(k) / 2 / below
        return 1 / (below * SQRT_PI)
    term = total = x
    k = 1
    while term > total * Decimal(10) ** -45:
        term *= 2 * x * x / (2 * k + 1)
        total += term
        k += 1
    return (x * x).exp() - 2 / SQRT_PI * total


def erfc_scaled_exactly(t):  # erfc_scaled, with the digits that f64 needs
    def one(value):
        part = Decimal(np.format_float_positional(value, unique=True))
        x = Decimal("3.75") * (1 + part) / (1 - part)
        return Long(str((1 + 2 * x) * erfc_exactly(x)))

    return np.array([one(value) for value in t], dtype=Long)


def exp_slope(x):  # (e^x - 1) / x
    return series([1 / factorial(k + 1) for k in range(24)], x, 1)


def log_slope(x):  # log(1 + x) / x
    small = np.abs(x) < 0.05
    near = series([Long((-1) ** k) / (k + 1) for k in range(20)], np.where(small, x, Long(0)), 1)
    return np.where(small, near, np.log1p(x) / np.where(small, Long(1), x))


def log_tail(x):  # (log(1 + x) - x + x^2 / 2) / x^3
    small = np.abs(x) < 0.15
    near = series([Long((-1) ** k) / (k + 3) for k in range(40)], np.where(small, x, Long(0)), 1)
    far = np.where(small, Long(1), x)
    return np.where(small, near, (np.log1p(far) - far + far**2 / 2) / far**3)


def tanh_tail(z):  # (tanh(x) - x) / x^3 with z = x^2
    terms = []
    bernoulli = special.bernoulli(60)
    for k in range(2, 28):
        n = 2 * k
        power = Long(2) ** n
        terms.append(power * (power - 1) * Long(bernoulli[n]) / factorial(n))
    return series(terms, z, 1)


def erf_slope(z):  # erf(x) / x - 1 with z = x^2
    terms = [2 / np.sqrt(Long(np.pi)) * (-1) ** k / (factorial(k) * (2 * k + 1)) for k in range(40)]
    terms[0] -= 1
    return series(terms, z, 1)


def erf_rate(t):  # -log(erfc(t)) / t
    return -np.log(special.erfc(t.astype(np.float64)).astype(Long)) / t


def sin_tail(z):  # (sin(x) - x) / x^3
    return series([Long((-1) ** (k + 1)) / factorial(2 * k + 3) for k in range(14)], z, 1)


def cos_tail(z):  # (cos(x) - 1 + x^2 / 2) / x^4
    return series([Long((-1) ** k) / factorial(2 * k + 4) for k in range(14)], z, 1)


def atan_tail(z):  # (atan(x) - x) / x^3
    x = np.sqrt(np.maximum(z, Long(1e-30)))
    small = z < 0.02
    near = series([Long((-1) ** (k + 1)) / (2 * k + 3) for k in range(24)], np.where(small, z, Long(0)), 1)
    return np.where(small, near, (np.arctan(x) - x) / np.maximum(z, Long(1e-30)) / x)


print("// Coefficients of polynomials, lowest first. Made by coefficients.py.")
print("#ifndef TILEWRIGHT_TARGET_LANES_MATHCOEFFICIENTS_H")
print("#define TILEWRIGHT_TARGET_LANES_MATHCOEFFICIENTS_H\n")
print("namespace tilewright::lanes::coefficients {\n")
half = math.log(2) / 2 * 1.0001
emit("expTailSingle", "(e^x - 1 - x) / x^2 for |x| <= ln(2) / 2", exp_tail, -half, half, 4, True)
emit("expSlope", "(e^x - 1) / x for |x| <= ln(2) / 2", exp_slope, -half, half, 8, False)
emit("expTail", "(e^x - 1 - x) / x^2 for |x| <= ln(2) / 2", exp_tail, -half, half, 10, False)
root = math.sqrt(2)
limit = ((root - 1) / (root + 1)) ** 2 * 1.0001
emit("logRatio", "(log((1 + s) / (1 - s)) - 2 s) / s^3 over s^2 for (1 + s) / (1 - s) <= sqrt(2)", log_ratio, 0, limit, 6, False)
last = (11 - 3.75) / (11 + 3.75)
emit("erfcScaled", "(1 + 2 x) e^(x^2) erfc(x) over (x - 3.75) / (x + 3.75) for 0 <= x <= 11", erfc_scaled, -1, last, 14, False)
last = (28 - 3.75) / (28 + 3.75)
emit("erfcScaledDouble", "erfcScaled for 0 <= x <= 28", erfc_scaled_exactly, -1, last, 25, False)
emit("erfSlopeDouble", "erf(x) / x - 1 over x^2 for |x| <= 0.75", erf_slope, 0, 0.75**2, 11, False)
emit("logTailSingle", "(log(1 + x) - x + x^2 / 2) / x^3 for sqrt(1/2) <= 1 + x <= sqrt(2)", log_tail, 1 / root - 1, root - 1, 7, True)
emit("logSlope", "log(1 + x) / x for sqrt(1/2) <= 1 + x <= sqrt(2)", log_slope, 1 / root - 1, root - 1, 14, False)
emit("tanhTailSingle", "(tanh(x) - x) / x^3 over x^2 for |x| <= 0.625", tanh_tail, 0, 0.625**2, 4, True)
emit("erfSlopeSingle", "erf(x) / x - 1 over x^2 for |x| <= 0.921875", erf_slope, 0, 0.921875**2, 6, True)
emit("erfRateSingle", "-log(erfc(x)) / x for 0.921875 <= x <= 4", erf_rate, 0.921875, 4.0, 7, True)
quarter = (math.pi / 4 * 1.0001) ** 2
emit("sinTail", "(sin(x) - x) / x^3 over x^2 for |x| <= pi / 4", sin_tail, 0, quarter, 4, False)
emit("cosTail", "(cos(x) - 1 + x^2 / 2) / x^4 over x^2 for |x| <= pi / 4", cos_tail, 0, quarter, 4, False)
emit("atanTail", "(atan(x) - x) / x^3 over x^2 for |x| <= tan(pi / 8)", atan_tail, 0, (root - 1) ** 2, 8, False)
print("\n} // namespace tilewright::lanes::coefficients\n")
print("#endif // TILEWRIGHT_TARGET_LANES_MATHCOEFFICIENTS_H")
