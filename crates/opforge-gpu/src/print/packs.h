// Elements side by side, which are loaded and stored as one where all packs of a kernel are ALIGNED.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T of[N];
};

template <int N, typename T>
static inline bool is_aligned(const T *at) { return ((uint64_t)at & (sizeof(T) * N - 1)) == 0; }

template <int N, bool ALIGNED, typename T>
static inline Pack<T, N> loaded(const T *at) {
    if (ALIGNED) return *(const Pack<T, N> *)at;
    Pack<T, N> pack;
    for (int i = 0; i < N; ++i) pack.of[i] = at[i];
    return pack;
}

template <bool ALIGNED, int N, typename T>
static inline void store(T *at, Pack<T, N> pack) {
    if (ALIGNED) *(Pack<T, N> *)at = pack;
    else
        for (int i = 0; i < N; ++i) at[i] = pack.of[i];
}
