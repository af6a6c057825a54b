// The judge's work with cells, on the card: drawing inputs and comparing results. worker/cells.rs launches these kernels and
// has their parameters. cells/lines.cu follows in the same source. What the kernels compute is bit for bit what the judge
// computes on the processor: problem/tensor/cell_numbers.rs draws, dtype.rs encodes, gates.rs compares. So a product and a
// sum are never contracted here.
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned u32;

// ---- Types: as `Dtype` of dtype.rs numbers them -----------------------------------------------------

enum Type { F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, U8, I16, U16, I32, U32, I64, U64, BOOL };

__device__ inline u32 size_of(int type) {
    switch (type) {
        case F64: case I64: case U64: return 8;
        case F32: case I32: case U32: return 4;
        case F16: case BF16: case I16: case U16: return 2;
        default: return 1;
    }
}

__device__ inline bool is_whole(int type) { return type >= I8; }

__device__ inline u64 load(const void* cells, u64 i, u32 size) {
    switch (size) {
        case 8: return ((const u64*)cells)[i];
        case 4: return ((const u32*)cells)[i];
        case 2: return ((const unsigned short*)cells)[i];
        default: return ((const unsigned char*)cells)[i];
    }
}

__device__ inline void store(void* cells, u64 i, u32 size, u64 bits) {
    switch (size) {
        case 8: ((u64*)cells)[i] = bits; break;
        case 4: ((u32*)cells)[i] = (u32)bits; break;
        case 2: ((unsigned short*)cells)[i] = (unsigned short)bits; break;
        default: ((unsigned char*)cells)[i] = (unsigned char)bits;
    }
}

// Cells at equal distances.
struct Line {
    void* cell;         // the first one
    u64 stride, cells;  // how far each is from the next one, and their number
    u64 type;
};

__device__ inline double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ inline double add(double a, double b) { return __dadd_rn(a, b); }

// 2 to this power, which must be one of a normal number.
__device__ inline double power_of_two(int exponent) { return __longlong_as_double((i64)(exponent + 1023) << 52); }

// The value of a float with few bits. `bias` is that of the exponent, `codes` the number of finite codes.
__device__ inline double decode_small(u32 bits, int width, int mantissa_bits, int bias, u32 codes, bool has_infinity) {
    u32 code = bits & ((1u << (width - 1)) - 1);
    bool negative = bits >> (width - 1) & 1;
    double magnitude;
    if (code >= codes) {
        bool infinite = has_infinity && code == codes;
        magnitude = __longlong_as_double(infinite ? 0x7ff0000000000000ll : 0x7ff8000000000000ll);
    } else {
        int exponent = code >> mantissa_bits;
        u32 mantissa = code & ((1u << mantissa_bits) - 1);
        if (exponent) mantissa |= 1u << mantissa_bits; else exponent = 1;
        magnitude = mul((double)mantissa, power_of_two(exponent - bias - mantissa_bits));
    }
    return negative ? -magnitude : magnitude;
}

// The nearest code, ties to even; `most` for anything beyond it. No number is a NaN here.
__device__ inline u32 encode_small(double value, int width, int mantissa_bits, int bias, u32 most) {
    u64 bits = __double_as_longlong(value);
    u32 sign = (u32)(bits >> 63) << (width - 1);
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    if (exponent == -1023) return sign;  // far below what the type holds
    u64 mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
    int least = 1 - bias;
    int below = exponent < least ? least - exponent : 0;
    int shift = 52 - mantissa_bits + below;
    if (shift > 62) return sign;
    u64 code = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (code & 1))) code++;
    if (below == 0) code += (u64)(exponent - least) << mantissa_bits;
    return sign | (code > most ? most : (u32)code);
}

__device__ inline double value_of(int type, u64 bits) {
    switch (type) {
        case F64: return __longlong_as_double((i64)bits);
        case F32: return (double)__uint_as_float((u32)bits);
        case F16: return decode_small((u32)bits, 16, 10, 15, 0x7c00, true);
        case BF16: return (double)__uint_as_float((u32)bits << 16);
        case F8E4M3: return decode_small((u32)bits, 8, 3, 7, 0x7f, false);
        default: return decode_small((u32)bits, 8, 2, 15, 0x7c, true);
    }
}

// A u64 from 2^63 on is the i64 of the same bits.
__device__ inline i64 whole_of(int type, u64 bits) {
    switch (type) {
        case I8: return (signed char)bits;
        case I16: return (short)bits;
        case I32: return (int)(u32)bits;
        default: return (i64)bits;
    }
}

__device__ inline double number_of(int type, u64 bits) {
    if (type == U64) return (double)bits;
    return is_whole(type) ? (double)whole_of(type, bits) : value_of(type, bits);
}

// Returns a rank that is larger the larger a cell's number is; -0 is as large as 0.
__device__ inline u64 rank_of(int type, u64 bits) {
    constexpr u64 SIGN = 1ull << 63;
    if (type == U64) return bits;
    if (is_whole(type)) return (u64)whole_of(type, bits) ^ SIGN;
    double number = value_of(type, bits);
    u64 rank = number == 0.0 ? 0 : (u64)__double_as_longlong(number);
    return rank & SIGN ? ~rank : rank | SIGN;
}

__device__ inline u64 encoded(int type, double value) {
    switch (type) {
        case F64: return (u64)__double_as_longlong(value);
        case F32: return __float_as_uint(__double2float_rn(value));
        // By way of f32, as on the processor.
        case F16: return encode_small((double)__double2float_rn(value), 16, 10, 15, 0x7c00);
        case BF16: return encode_small((double)__double2float_rn(value), 16, 7, 127, 0x7f80);
        case F8E4M3: return encode_small(value, 8, 3, 7, 0x7e);
        case F8E5M2: return encode_small(value, 8, 2, 15, 0x7b);
        case BOOL: return value != 0.0;
        case U64: return (u64)value;
        default: return (u64)(i64)value;
    }
}

__device__ inline u64 encoded_whole(int type, i64 value) {
    if (type == BOOL) return value != 0;
    return is_whole(type) ? (u64)value : encoded(type, (double)value);
}

// ---- Drawing --------------------------------------------------------------------------------------

struct Words { u32 word[4]; };

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: SC 2011).
__device__ inline Words philox(u64 counter, u64 seed) {
    u32 a = (u32)counter, b = (u32)(counter >> 32), c = 0, d = 0;
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        u64 p0 = (u64)0xD2511F53u * a, p1 = (u64)0xCD9E8D57u * c;
        u32 next_a = (u32)(p1 >> 32) ^ b ^ k0, next_c = (u32)(p0 >> 32) ^ d ^ k1;
        a = next_a; b = (u32)p1; c = next_c; d = (u32)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return Words{{a, b, c, d}};
}

__device__ inline double unit(u64 word) {
    return mul(add((double)(word >> 12), 0.5), 2.220446049250313e-16);  // 2^-52
}

__device__ inline double polynomial(const double* factors, int count, double x) {
    double sum = 0;
    for (int i = count - 1; i >= 0; i--) sum = add(mul(sum, x), factors[i]);
    return sum;
}

__constant__ double CENTRE[2][8] = {
    {3.387132872796366608, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
    {1.0, 4.2313330701600911252e1, 6.871870074920579083e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.930789580009271061e4, 2.8729085735721942674e4, 5.226495278852854561e3}};
__constant__ double NEAR[2][8] = {
    {1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
     1.27045825245236838258, 2.4178072517745061177e-1, 2.27238449892691845833e-2, 7.7454501427834140764e-4},
    {1.0, 2.05319162663775882187, 1.6763848301838038494, 6.8976733498510000455e-1,
     1.4810397642748007459e-1, 1.51986665636164571966e-2, 5.475938084995344946e-4, 1.05075007164441684324e-9}};
__constant__ double FAR[2][8] = {
    {6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 2.9656057182850489123e-1,
     2.6532189526576123093e-2, 1.2426609473880784386e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1.0, 5.9983220655588793769e-1, 1.3692988092273580531e-1, 1.48753612908506148525e-2,
     7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15}};
__constant__ double SERIES[12] = {2.0, 2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0,
                                  2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0, 2.0 / 23.0};

__device__ inline double ratio(double r, const double (*of)[8]) {
    return __ddiv_rn(polynomial(of[0], 8, r), polynomial(of[1], 8, r));
}

__device__ inline double logarithm(double x) {
    u64 bits = __double_as_longlong(x);
    i64 exponent = (i64)(bits >> 52) - 1023;
    double m = __longlong_as_double((i64)((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull));
    if (m > 1.41421356237309504880) {
        m = mul(m, 0.5);
        exponent++;
    }
    double f = __ddiv_rn(add(m, -1.0), add(m, 1.0));
    double series = polynomial(SERIES, 12, mul(f, f));
    return add(mul((double)exponent, 0.693147180559945309417), mul(f, series));
}

// PPND16 of Wichura's AS 241.
__device__ inline double normal(double p) {
    double q = add(p, -0.5);
    if (fabs(q) <= 0.425) return mul(q, ratio(add(0.180625, -mul(q, q)), CENTRE));
    double r = __dsqrt_rn(-logarithm(q < 0.0 ? p : add(1.0, -p)));
    double far = r <= 5.0 ? ratio(add(r, -1.6), NEAR) : ratio(add(r, -5.0), FAR);
    return q < 0.0 ? -far : far;
}

enum Kind { NORMAL, UNIFORM, INTEGERS, ONE_OF };

struct Draw {
    // NORMAL: the mean, the deviation, and both ends that no number passes. UNIFORM: both ends, twice. INTEGERS: both ends.
    // ONE_OF: four cells.
    u64 words[4];
    u64 seed, kind;
};

__device__ inline double double_of(u64 bits) { return __longlong_as_double((i64)bits); }

__device__ inline u64 drawn(const Draw& d, int type, u64 word) {
    if (d.kind == ONE_OF) {
        // An index that is not constant would move the words into local memory.
        u64 first = word >> 63 ? d.words[2] : d.words[0], second = word >> 63 ? d.words[3] : d.words[1];
        return word >> 62 & 1 ? second : first;
    }
    if (d.kind == INTEGERS) {
        u64 span = d.words[1] - d.words[0] + 1;
        u64 above = span ? __umul64hi(word, span) : word;
        return encoded_whole(type, (i64)(d.words[0] + above));
    }
    double first = double_of(d.words[0]), second = double_of(d.words[1]);
    double number = d.kind == NORMAL ? add(first, mul(second, normal(unit(word))))
                                     : add(first, mul(add(second, -first), unit(word)));
    if (number < double_of(d.words[2])) number = double_of(d.words[2]);
    if (number > double_of(d.words[3])) number = double_of(d.words[3]);
    return encoded(type, number);
}

extern "C" __global__ void __launch_bounds__(256) lab_draw(Line line, Draw d) {
    int type = (int)line.type;
    u32 size = size_of(type);
    u64 pairs = (line.cells + 1) / 2;
    for (u64 pair = blockIdx.x * 256ull + threadIdx.x; pair < pairs; pair += gridDim.x * 256ull) {
        Words w = philox(pair, d.seed);
        u64 even = 2 * pair, odd = even + 1;
        store(line.cell, even * line.stride, size, drawn(d, type, w.word[0] | (u64)w.word[1] << 32));
        if (odd < line.cells) {
            store(line.cell, odd * line.stride, size, drawn(d, type, w.word[2] | (u64)w.word[3] << 32));
        }
    }
}

// ---- Comparing ------------------------------------------------------------------------------------

constexpr int OCTAVES = 64;
constexpr double OTHER_ZERO = 0.5;  // as in gates.rs
constexpr u64 NONE = ~0ull;

struct Found {
    u64 mismatched, not_finite, unwritten;
    u64 first_mismatch, first_not_finite, first_unwritten, worst;  // NONE for no cell
    u64 error;                                                     // the bits of the largest one
    u64 exact, infinite, octaves[OCTAVES];
};

struct Compare {
    const void *got, *want, *other;
    Found* found;
    u64 cells;
    double atol, rtol;
    u32 patterns[2], other_pattern;
    int has_patterns, has_other;
    int only_unwritten;  // every cell is looked at, and only for that
    int type;
};

__device__ inline bool holds(u64 bits, u32 size, u32 pattern) {
    switch (size) {
        case 8: return bits == ((u64)pattern << 32 | pattern);
        case 4: return bits == pattern;
        case 2: return bits == (pattern & 0xffffu);
        default: return bits == (pattern & 0xffu);
    }
}

struct Cell { bool differs, is_unwritten, got_finite, want_finite; double error; };

__device__ inline Cell look(const Compare& c, u64 i, u32 size) {
    u64 got = load(c.got, i, size), want = load(c.want, i, size);
    Cell cell = {got != want || c.only_unwritten, false, true, true, 0.0};
    if (!cell.differs) return cell;
    if (c.has_patterns) {
        cell.is_unwritten = holds(got, size, c.patterns[0]) || holds(got, size, c.patterns[1]);
        if (cell.is_unwritten && c.has_other) cell.is_unwritten = holds(load(c.other, i, size), size, c.other_pattern);
    }
    double difference, size_of_want;
    if (is_whole(c.type)) {
        u64 g = rank_of(c.type, got), w = rank_of(c.type, want);
        difference = (double)(g > w ? g - w : w - g);
        size_of_want = fabs(number_of(c.type, want));
    } else {
        double g = value_of(c.type, got), w = value_of(c.type, want);
        cell.got_finite = isfinite(g);
        cell.want_finite = isfinite(w);
        difference = g == w || (isnan(g) && isnan(w)) ? 0.0 : fabs(add(g, -w));
        size_of_want = fabs(w);
        bool is_other_zero = g == 0.0 && w == 0.0;  // equal cells do not come here
        if (is_other_zero && c.atol == 0.0 && c.rtol == 0.0) cell.error = OTHER_ZERO;
    }
    double infinity = __longlong_as_double(0x7ff0000000000000ll);
    if (cell.is_unwritten) {
        cell.error = infinity;
    } else if (difference != 0.0) {
        cell.error = __ddiv_rn(difference, add(c.atol, mul(c.rtol, size_of_want)));
        if (isnan(cell.error)) cell.error = infinity;
    }
    return cell;
}

__device__ inline u64 sum_of_block(u64 value, u64* part) {
    for (int o = 16; o > 0; o /= 2) value += __shfl_down_sync(0xffffffffu, value, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    u64 all = 0;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 8; i++) all += part[i];
    }
    __syncthreads();
    return all;
}

extern "C" __global__ void __launch_bounds__(256) lab_compare(Compare c) {
    __shared__ u32 octaves[OCTAVES + 2];  // the last two: exact and infinite
    __shared__ u64 part[8];
    for (u32 i = threadIdx.x; i < OCTAVES + 2; i += 256) octaves[i] = 0;
    __syncthreads();
    u32 size = size_of(c.type);
    u64 mismatched = 0, not_finite = 0, unwritten = 0;
    u64 first_mismatch = NONE, first_not_finite = NONE, first_unwritten = NONE, error = 0;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < c.cells; i += gridDim.x * 256ull) {
        Cell cell = look(c, i, size);
        if (!cell.differs) continue;
        if (c.only_unwritten && !cell.is_unwritten) continue;
        u64 bits = __double_as_longlong(cell.error);
        int exponent = (int)(bits >> 52 & 2047);
        int bin = exponent - 1023 + 40;
        bin = bin < 0 ? 0 : bin > OCTAVES - 1 ? OCTAVES - 1 : bin;
        if (exponent == 0) bin = OCTAVES;
        if (exponent == 2047) bin = OCTAVES + 1;
        atomicAdd(&octaves[bin], 1u);
        if (bits > error) error = bits;
        if (cell.is_unwritten) {
            unwritten++;
            if (first_unwritten == NONE) first_unwritten = i;
        } else if (cell.error <= 1.0) {
            continue;
        } else if (!cell.got_finite && cell.want_finite) {
            not_finite++;
            if (first_not_finite == NONE) first_not_finite = i;
        }
        mismatched++;
        if (first_mismatch == NONE) first_mismatch = i;
    }
    u64 all = sum_of_block(mismatched, part);
    if (threadIdx.x == 0 && all) atomicAdd(&c.found->mismatched, all);
    all = sum_of_block(not_finite, part);
    if (threadIdx.x == 0 && all) atomicAdd(&c.found->not_finite, all);
    all = sum_of_block(unwritten, part);
    if (threadIdx.x == 0 && all) atomicAdd(&c.found->unwritten, all);
    if (first_mismatch != NONE) atomicMin(&c.found->first_mismatch, first_mismatch);
    if (first_not_finite != NONE) atomicMin(&c.found->first_not_finite, first_not_finite);
    if (first_unwritten != NONE) atomicMin(&c.found->first_unwritten, first_unwritten);
    for (int o = 16; o > 0; o /= 2) {
        u64 other = __shfl_down_sync(0xffffffffu, error, o);
        if (other > error) error = other;
    }
    if (threadIdx.x % 32 == 0 && error) atomicMax(&c.found->error, error);
    for (u32 i = threadIdx.x; i < OCTAVES + 2; i += 256) {
        u64* to = i < OCTAVES ? &c.found->octaves[i] : i == OCTAVES ? &c.found->exact : &c.found->infinite;
        if (octaves[i]) atomicAdd(to, (u64)octaves[i]);
    }
}

// Finds the first cell with the largest error, after lab_compare.
extern "C" __global__ void __launch_bounds__(256) lab_worst(Compare c) {
    u64 error = c.found->error;
    if (error == 0) return;
    u32 size = size_of(c.type);
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < c.cells; i += gridDim.x * 256ull) {
        Cell cell = look(c, i, size);
        if (cell.differs && (u64)__double_as_longlong(cell.error) == error) {
            atomicMin(&c.found->worst, i);
            return;
        }
    }
}
