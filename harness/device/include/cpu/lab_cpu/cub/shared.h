// What the primitives of CUB share: places of threads, and values in shared memory.
#pragma once

#include "../functional.h"

#define CUB_VERSION 300000
#define CUB_MAJOR_VERSION 3
#define CUB_MINOR_VERSION 0

namespace cub {

// The rank of a thread in its block, x first.
inline int RowMajorTid(int x, int y, int) {
    const uint3 at = lab_cpu_self->thread_index;
    return int(at.x) + x * (int(at.y) + y * int(at.z));
}

template <class Key, class Value>
struct KeyValuePair {
    Key key;
    Value value;
};

struct ArgMax {
    template <class T, class Offset>
    KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a, const KeyValuePair<Offset, T>& b) const {
        return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

struct ArgMin {
    template <class T, class Offset>
    KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a, const KeyValuePair<Offset, T>& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

// Memory for `count` values without a constructor, so that it may be part of a union.
template <class T, int count>
struct lab_cpu_cells {
    alignas(T) unsigned char bytes[sizeof(T) * count];
    T& operator[](int at) { return reinterpret_cast<T*>(bytes)[at]; }
};

// The reduction of a thread's own values, in their order.
template <class T, int items, class Op>
T ThreadReduce(T (&values)[items], Op op) {
    T result = values[0];
    for (int i = 1; i < items; i++) result = op(result, values[i]);
    return result;
}

}  // namespace cub
