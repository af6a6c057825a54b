// What a build for the race detector (race_hooks.h) tells it besides accesses, and how such a build loads and stores a structure past a
// cache. In any other build nothing is told, and a structure is loaded as a whole.
#pragma once

#ifdef LAB_CPU_RACES

extern "C" void lab_cpu_race_scope(unsigned is_block);
extern "C" void lab_cpu_race_read_only(const volatile void* address, size_t bytes);

// As long as it lives, the thread's atomics and fences have the scope of its block, or that of the device.
template <bool is_block>
struct lab_cpu_scope {
    lab_cpu_scope() { lab_cpu_race_scope(is_block); }
    ~lab_cpu_scope() { lab_cpu_race_scope(0); }
};

// Structs that are loaded and stored past a cache pass data between threads like single words: word by word, volatile.
template <class T>
struct lab_cpu_words {
    using Word = lab_cpu_word<sizeof(T) % 8 == 0 ? 8 : sizeof(T) % 4 == 0 ? 4 : 1>;
    static constexpr size_t count = sizeof(T) / sizeof(Word);
    Word word[count];
};
template <class T>
inline T lab_cpu_load_words(const T* address) {
    lab_cpu_words<T> words;
    const volatile auto* from = reinterpret_cast<const volatile typename lab_cpu_words<T>::Word*>(address);
    for (size_t i = 0; i < words.count; ++i) words.word[i] = from[i];
    T value;
    __builtin_memcpy(&value, &words, sizeof value);
    return value;
}
template <class T>
inline void lab_cpu_store_words(T* address, T value) {
    lab_cpu_words<T> words;
    __builtin_memcpy(&words, &value, sizeof words);
    auto* to = reinterpret_cast<volatile typename lab_cpu_words<T>::Word*>(address);
    for (size_t i = 0; i < words.count; ++i) to[i] = words.word[i];
}

#else

template <bool is_block>
struct lab_cpu_scope {
    ~lab_cpu_scope() {}
};
inline void lab_cpu_race_read_only(const volatile void*, size_t) {}

template <class T>
inline T lab_cpu_load_words(const T* address) {
    return *address;
}
template <class T>
inline void lab_cpu_store_words(T* address, T value) {
    *address = value;
}

#endif
