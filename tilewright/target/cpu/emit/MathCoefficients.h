// Coefficients of polynomials, lowest first. Made by coefficients.py.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_MATHCOEFFICIENTS_H
#define TILEWRIGHT_TARGET_CPU_EMIT_MATHCOEFFICIENTS_H

namespace tilewright::cpu::coefficients {

/// (e^x - 1 - x) / x^2 for |x| <= ln(2) / 2; error 1.2e-07.
inline constexpr double expTailSingle[] = {
    5.00000000e-01, 1.66665763e-01, 4.16665561e-02, 8.36317893e-03, 1.39261840e-03,
};
/// (e^x - 1) / x for |x| <= ln(2) / 2; error 6.7e-14.
inline constexpr double expSlope[] = {
    1.0000000000000000e+00, 4.9999999999797773e-01, 1.6666666666648289e-01,
    4.1666666891091671e-02, 8.3333333537294156e-03, 1.3888821650721386e-03,
    1.9841208732518677e-04, 2.4876178957566736e-05, 2.7625115585447286e-06,
};
/// (log(1 + x) - x + x^2 / 2) / x^3 for sqrt(1/2) <= 1 + x <= sqrt(2); error 4.4e-07.
inline constexpr double logTailSingle[] = {
    3.33333313e-01, -2.50003070e-01, 2.00010449e-01, -1.66412815e-01,
    1.42144963e-01, -1.29981831e-01, 1.26223192e-01, -7.90274367e-02,
};
/// log(1 + x) / x for sqrt(1/2) <= 1 + x <= sqrt(2); error 4.8e-13.
inline constexpr double logSlope[] = {
    1.0000000000002172e+00,  -4.9999999998512556e-01, 3.3333333311417251e-01,
    -2.5000000433128178e-01, 2.0000003805512720e-01,  -1.6666632233792247e-01,
    1.4285458260945488e-01,  -1.2501075399568803e-01, 1.1119413052817063e-01,
    -9.9873661680517339e-02, 8.9541627883143821e-02,  -8.3174352191344489e-02,
    8.7504052433481985e-02,  -8.4678763869939305e-02, 4.2728006913013220e-02,
};
/// (tanh(x) - x) / x^3 over x^2 for |x| <= 0.625; error 1.5e-07.
inline constexpr double tanhTailSingle[] = {
    -3.33333284e-01, 1.33327693e-01, -5.38509078e-02, 2.09971797e-02, -6.09671418e-03,
};
/// erf(x) / x - 1 over x^2 for |x| <= 0.921875; error 6.4e-08.
inline constexpr double erfSlopeSingle[] = {
    1.28379166e-01, -3.76126349e-01, 1.12836994e-01, -2.68595926e-02,
    5.20146685e-03, -8.14720232e-04, 8.38759079e-05,
};
/// -log(erfc(x)) / x for 0.921875 <= x <= 4; error 3.7e-08.
inline constexpr double erfRateSingle[] = {
    1.12890410e+00, 6.34143889e-01,  1.07861511e-01, -2.51437947e-02,
    4.30556899e-03, -4.99258284e-04, 3.44454056e-05, -1.04918331e-06,
};
/// (sin(x) - x) / x^3 over x^2 for |x| <= pi / 4; error 1.7e-13.
inline constexpr double sinTail[] = {
    -1.6666666666663882e-01, 8.3333333310774225e-03,  -1.9841266915235115e-04,
    2.7555990399864215e-06,  -2.4805587182140937e-08,
};
/// (cos(x) - 1 + x^2 / 2) / x^4 over x^2 for |x| <= pi / 4; error 4.8e-14.
inline constexpr double cosTail[] = {
    4.1666666666664680e-02,  -1.3888888887276054e-03, 2.4801585209738211e-05,
    -2.7556369316719177e-07, 2.0700565395821787e-09,
};
/// (atan(x) - x) / x^3 over x^2 for |x| <= tan(pi / 8); error 7.2e-14.
inline constexpr double atanTail[] = {
    -3.3333333333330928e-01, 1.9999999997724902e-01,  -1.4285713930380425e-01,
    1.1111089649296187e-01,  -9.0902559545218267e-02, 7.6810452237304053e-02,
    -6.5509074397532355e-02, 5.1688353682692471e-02,  -2.7232889804621022e-02,
};

} // namespace tilewright::cpu::coefficients

#endif // TILEWRIGHT_TARGET_CPU_EMIT_MATHCOEFFICIENTS_H
