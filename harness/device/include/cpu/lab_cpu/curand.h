// curand_kernel.h: the generator Philox4x32-10 with its uniform and normal numbers. The words are those of cuRAND.
#pragma once

#define PHILOX_W32_0 0x9E3779B9u
#define PHILOX_W32_1 0xBB67AE85u
#define PHILOX_M4x32_0 0xD2511F53u
#define PHILOX_M4x32_1 0xCD9E8D57u

struct curandStatePhilox4_32_10 {
    uint4 ctr;
    uint4 output;
    uint2 key;
    unsigned STATE;
    int boxmuller_flag;
    int boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

inline uint4 curand_Philox4x32_10(uint4 c, uint2 k) {
    for (int round = 0; round < 10; round++) {
        const unsigned long long a = 1ull * PHILOX_M4x32_0 * c.x, b = 1ull * PHILOX_M4x32_1 * c.z;
        c = make_uint4(unsigned(b >> 32) ^ c.y ^ k.x, unsigned(b), unsigned(a >> 32) ^ c.w ^ k.y, unsigned(a));
        k.x += PHILOX_W32_0;
        k.y += PHILOX_W32_1;
    }
    return c;
}

// Adds to the counter of 128 bits. The carry into the third word is cuRAND's.
inline void lab_cpu_philox_add(curandStatePhilox4_32_10_t* s, unsigned long long n) {
    unsigned low = unsigned(n), high = unsigned(n >> 32);
    s->ctr.x += low;
    if (s->ctr.x < low) high++;
    s->ctr.y += high;
    if (high <= s->ctr.y) return;
    if (++s->ctr.z) return;
    ++s->ctr.w;
}
inline void lab_cpu_philox_next(curandStatePhilox4_32_10_t* s) {
    if (!++s->ctr.x && !++s->ctr.y && !++s->ctr.z) ++s->ctr.w;
    s->output = curand_Philox4x32_10(s->ctr, s->key);
}

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* s) {
    s->STATE += unsigned(n & 3);
    n /= 4;
    if (s->STATE > 3) {
        n += 1;
        s->STATE -= 4;
    }
    lab_cpu_philox_add(s, n);
    s->output = curand_Philox4x32_10(s->ctr, s->key);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* s) {
    unsigned low = unsigned(n), high = unsigned(n >> 32);
    s->ctr.z += low;
    if (s->ctr.z < low) high++;
    s->ctr.w += high;
    s->output = curand_Philox4x32_10(s->ctr, s->key);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10_t* s) {
    *s = curandStatePhilox4_32_10_t{};
    s->key = make_uint2(unsigned(seed), unsigned(seed >> 32));
    skipahead_sequence(subsequence, s);
    skipahead(offset, s);
}

inline unsigned curand(curandStatePhilox4_32_10_t* s) {
    const unsigned words[4] = {s->output.x, s->output.y, s->output.z, s->output.w};
    const unsigned word = words[s->STATE++];
    if (s->STATE == 4) {
        lab_cpu_philox_next(s);
        s->STATE = 0;
    }
    return word;
}
inline uint4 curand4(curandStatePhilox4_32_10_t* s) {
    const uint4 old = s->output;
    lab_cpu_philox_next(s);
    const unsigned words[8] = {old.x,       old.y,       old.z,       old.w,
                               s->output.x, s->output.y, s->output.z, s->output.w};
    const unsigned* w = words + s->STATE;
    return make_uint4(w[0], w[1], w[2], w[3]);
}

// Uniform numbers above 0, up to 1.
inline float lab_cpu_uniform(unsigned x) { return float(x) * 2.3283064e-10f + 2.3283064e-10f / 2; }
inline double lab_cpu_uniform_double(unsigned x, unsigned y) {
    const unsigned long long z = static_cast<unsigned long long>(x) ^ (static_cast<unsigned long long>(y) << (53 - 32));
    return double(z) * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
}
// Two normal numbers by the Box–Muller transform. A GPU computes sine and cosine by its fast functions.
inline float2 lab_cpu_normal2(unsigned x, unsigned y) {
    const float v = float(y) * (2.3283064e-10f * 6.2831855f) + 2.3283064e-10f * 6.2831855f / 2;
    const float s = sqrtf(-2.0f * logf(lab_cpu_uniform(x)));
    return make_float2(s * sinf(v), s * cosf(v));
}

inline float curand_uniform(curandStatePhilox4_32_10_t* s) { return lab_cpu_uniform(curand(s)); }
inline float4 curand_uniform4(curandStatePhilox4_32_10_t* s) {
    const uint4 x = curand4(s);
    return make_float4(lab_cpu_uniform(x.x), lab_cpu_uniform(x.y), lab_cpu_uniform(x.z), lab_cpu_uniform(x.w));
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10_t* s) {
    const uint4 x = curand4(s);
    return make_double2(lab_cpu_uniform_double(x.x, x.y), lab_cpu_uniform_double(x.z, x.w));
}
inline double curand_uniform_double(curandStatePhilox4_32_10_t* s) {
    return curand(s) * 2.3283064365386963e-10 + 2.3283064365386963e-10 / 2.0;
}

inline float curand_normal(curandStatePhilox4_32_10_t* s) {
    if (s->boxmuller_flag) {
        s->boxmuller_flag = 0;
        return s->boxmuller_extra;
    }
    const unsigned x = curand(s), y = curand(s);
    const float2 both = lab_cpu_normal2(x, y);
    s->boxmuller_extra = both.y;
    s->boxmuller_flag = 1;
    return both.x;
}
inline float2 curand_normal2(curandStatePhilox4_32_10_t* s) {
    const unsigned x = curand(s), y = curand(s);
    return lab_cpu_normal2(x, y);
}
inline float4 curand_normal4(curandStatePhilox4_32_10_t* s) {
    const uint4 x = curand4(s);
    const float2 a = lab_cpu_normal2(x.x, x.y), b = lab_cpu_normal2(x.z, x.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
