// Mathematical functions of CUDA that the C library does not have.
#pragma once

// Sine and cosine together.
inline void sincosf(float x, float* s, float* c) { *s = sin(x), *c = cos(x); }
inline void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
inline void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }

// Lengths of vectors, and their reciprocals.
inline double norm3d(double a, double b, double c) { return sqrt(a * a + b * b + c * c); }
inline double norm4d(double a, double b, double c, double d) { return sqrt(a * a + b * b + c * c + d * d); }
inline double rhypot(double a, double b) { return 1.0 / hypot(a, b); }
inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
inline double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
// Of any number of coordinates.
extern "C" {
inline double norm(int count, const double* x) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += x[i] * x[i];
    return sqrt(sum);
}
inline float normf(int count, const float* x) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += double(x[i]) * x[i];
    return float(sqrt(sum));
}
inline double rnorm(int count, const double* x) { return 1.0 / norm(count, x); }
inline float rnormf(int count, const float* x) { return 1.0f / normf(count, x); }
}
inline float norm4df(float a, float b, float c, float d) { return float(norm4d(a, b, c, d)); }
inline float rhypotf(float a, float b) { return float(rhypot(double(a), double(b))); }
inline float rnorm3df(float a, float b, float c) { return float(rnorm3d(a, b, c)); }
inline float rnorm4df(float a, float b, float c, float d) { return float(rnorm4d(a, b, c, d)); }

// exp(x²)·erfc(x). For large x, a continued fraction (Abramowitz and Stegun, 7.1.14).
inline double erfcx(double x) {
    if (x < 20.0) return exp(x * x) * erfc(x);
    double tail = x;
    for (int i = 30; i > 0; i--) tail = x + 0.5 * i / tail;
    return 0.56418958354775628695 / tail;
}
// The inverse of erfc, for y from 0 to 2: bisection, and Newton's steps, which are exact in the tail too.
inline double erfcinv(double y) {
    if (y != y || y < 0.0 || y > 2.0) return __builtin_nan("");
    if (y == 0.0) return __builtin_inf();
    if (y == 2.0) return -__builtin_inf();
    if (y > 1.0) return -erfcinv(2.0 - y);
    double low = 0.0, high = 28.0;
    for (int i = 0; i < 40; i++) {
        const double middle = 0.5 * (low + high);
        (erfc(middle) > y ? low : high) = middle;
    }
    double x = 0.5 * (low + high);
    for (int i = 0; i < 2; i++) x += (erfc(x) - y) * 0.88622692545275801365 * exp(x * x);
    return x;
}
// The inverse of erf. Near 0, 1 − y has no digits left, and a Newton step on erf itself gives them.
inline double erfinv(double y) {
    if (y == 0.0 || y != y) return y;
    const double x = y < 0.0 ? -erfcinv(1.0 + y) : erfcinv(1.0 - y);
    if (x - x != 0.0) return x;
    return x - (erf(x) - y) * 0.88622692545275801365 * exp(x * x);
}
inline double normcdfinv(double y) { return -1.41421356237309504880 * erfcinv(2.0 * y); }
inline float erfcxf(float x) { return float(erfcx(double(x))); }
inline float erfcinvf(float y) { return float(erfcinv(double(y))); }
inline float erfinvf(float y) { return float(erfinv(double(y))); }
inline float normcdfinvf(float y) { return float(normcdfinv(double(y))); }

// Modified Bessel functions of the first kind, of order 0 and 1: their power series, whose terms are all positive.
inline double lab_cpu_bessel(int order, double x) {
    const double quarter = 0.25 * x * x;
    double term = order ? 0.5 * x : 1.0, sum = term;
    for (int k = 1; k < 1000 && fabs(term) > 1e-17 * fabs(sum); k++) {
        term *= quarter / (double(k) * (k + order));
        sum += term;
    }
    return sum;
}
inline double cyl_bessel_i0(double x) { return lab_cpu_bessel(0, x); }
inline double cyl_bessel_i1(double x) { return lab_cpu_bessel(1, x); }
inline float cyl_bessel_i0f(float x) { return float(cyl_bessel_i0(double(x))); }
inline float cyl_bessel_i1f(float x) { return float(cyl_bessel_i1(double(x))); }
