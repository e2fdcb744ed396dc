// Tiles of matrices of halves in shared memory, and products of them in registers.
//
// Defined before this text: WIDTH, the columns of a tile, 64 or 128, of which tensors may have fewer, and what `warp.h` needs, which stands before it.
//
// Fragments are those of mma.m16n8k16 (PTX ISA, "Matrix Fragments"): with g = lane / 4 and t = lane % 4, a thread has of a 16 x 8 result, in order, the
// elements (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1), and two such results beside each other, as pairs of halves, are the left operand of 16 x 16.

#define WARPS 4
#define THREADS (32 * WARPS)
// Rows of a tile.
#define LENGTH 64
// A row's pieces of 16 bytes.
#define CHUNKS (WIDTH / 8)
#define ROW_BYTES (2 * WIDTH)
#define TILE_BYTES (LENGTH * ROW_BYTES)
#define NOTHING __int_as_float(0xff800000)

// Strides in elements, multiples of 8.
struct Stride {
    long long batch, head, row;
};

// What attention is called with; `dy` is the output's gradient.
struct Problem {
    Stride q, k, v, dy;
    // Columns of queries and keys, and of values: multiples of 8.
    int queries, keys, width, size;
    // Heads of a batch, how many of which share one of keys and values, and blocks of a head.
    int heads, group, tiles;
    // What scores are multiplied by, above 0, times log2(e).
    float scale;
};

// Accumulators of 16 * M rows: of a tile's columns, and of a column for each row of a tile.
template <int M> using Wide = float[M][WIDTH / 8][4];
template <int M> using Long = float[M][LENGTH / 8][4];

static __device__ __forceinline__ int lane() { return threadIdx.x % 32; }

// The row and column, in a 16 x 8 fragment, of this thread's element of that number.
static __device__ __forceinline__ int row_of(int element) { return lane() / 4 + 8 * (element / 2); }
static __device__ __forceinline__ int column_of(int element) { return 2 * (lane() % 4) + element % 2; }

// Where a chunk of a row is in a tile: chunks of 8 rows that are read together lie in different banks.
static __device__ __forceinline__ unsigned place(int row, int chunk) { return row * ROW_BYTES + ((chunk ^ (row & 7)) << 4); }

// Begins to copy COUNT rows from `first` on, of which there are `end` in all; what is beyond them or beyond `columns` is zeros.
template <int COUNT>
static __device__ __forceinline__ void copy(unsigned to, const Half *from, long long stride, int first, int end, int columns) {
    const int chunk = threadIdx.x % CHUNKS, row = threadIdx.x / CHUNKS;
    const Half *at = from + (first + row) * stride + 8 * chunk;
#pragma unroll
    for (int i = 0; i < COUNT; i += THREADS / CHUNKS) {
        const bool is_there = first + row + i < end && 8 * chunk < columns;
        copy_chunk(to + place(row + i, chunk), is_there ? at + i * stride : from, is_there);
    }
}

// The left operands of 16 x 16 at a column of 16 * M rows, the first of which is a multiple of 8 of its tile's.
template <int M> static __device__ __forceinline__ void fragments(unsigned (&to)[M][4], unsigned rows, int column) {
#pragma unroll
    for (int i = 0; i < M; ++i) matrices(to[i], rows + place(16 * i + lane() % 16, column / 8 + lane() / 16));
}

// sum += a b^T, for 16 columns of a tile b.
template <int M> static __device__ __forceinline__ void add_by_rows(Long<M> &sum, const unsigned (&a)[M][4], unsigned b, int column) {
    const unsigned at = b + place(lane() % 8 + lane() / 16 * 8, column / 8 + lane() / 8 % 2);
#pragma unroll
    for (int j = 0; j < LENGTH / 16; ++j) {
        unsigned right[4];
        matrices(right, at + 16 * j * ROW_BYTES);
#pragma unroll
        for (int i = 0; i < M; ++i) {
            multiply(sum[i][2 * j], a[i], right[0], right[1]);
            multiply(sum[i][2 * j + 1], a[i], right[2], right[3]);
        }
    }
}

// sum += a b^T, for 16 * M rows of a tile a and a tile b.
template <int M> static __device__ __forceinline__ void add_product(Long<M> &sum, unsigned a, unsigned b) {
#pragma unroll
    for (int column = 0; column < WIDTH; column += 16) {
        unsigned left[M][4];
        fragments<M>(left, a, column);
        add_by_rows<M>(sum, left, b, column);
    }
}

// sum += a b, for a tile b; a is rounded to halves.
template <int M> static __device__ __forceinline__ void add_weighted(Wide<M> &sum, const Long<M> &a, unsigned b) {
#pragma unroll
    for (int j = 0; j < LENGTH / 16; ++j) {
        unsigned left[M][4];
#pragma unroll
        for (int i = 0; i < M; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e) left[i][e] = pair(a[i][2 * j + e / 2][2 * (e % 2)], a[i][2 * j + e / 2][2 * (e % 2) + 1]);
#pragma unroll
        for (int d = 0; d < WIDTH / 16; ++d) {
            unsigned right[4];
            transposed(right, b + place(16 * j + lane() % 16, 2 * d + lane() / 16));
#pragma unroll
            for (int i = 0; i < M; ++i) {
                multiply(sum[i][2 * d], left[i], right[0], right[1]);
                multiply(sum[i][2 * d + 1], left[i], right[2], right[3]);
            }
        }
    }
}

// Hides scores of keys that are none, and, where `is_causal`, of those after the query. `row` and `key` are the first ones.
template <int M> static __device__ __forceinline__ void hide(Long<M> &scores, int row, int key, int keys, bool is_causal) {
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < LENGTH / 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int own_key = key + 8 * j + column_of(e);
                if (own_key >= keys || (is_causal && own_key > row + 16 * i + row_of(e))) scores[i][j][e] = NOTHING;
            }
}

// Of the four lanes that have a row's elements.
static __device__ __forceinline__ float greatest_of_row(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

static __device__ __forceinline__ float sum_of_row(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// Writes 16 * M rows, each times its factor, from `row` of `end` on, by way of this warp's rows of a tile, so that a row's chunks are written together.
template <int M>
static __device__ __forceinline__ void write(
    const Wide<M> &y, const float (&factors)[M][2], unsigned char *staged, Half *to, int row, int end, int columns) {
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int d = 0; d < WIDTH / 8; ++d) {
                const unsigned both = pair(y[i][d][2 * half] * factors[i][half], y[i][d][2 * half + 1] * factors[i][half]);
                *(unsigned *)(staged + place(16 * i + row_of(2 * half), d) + 2 * column_of(0)) = both;
            }
    __syncwarp();
    const int chunk = lane() % CHUNKS;
#pragma unroll
    for (int i = lane() / CHUNKS; i < 16 * M; i += 32 / CHUNKS)
        if (row + i < end && 8 * chunk < columns) *(uint4 *)(to + (long long)(row + i) * columns + 8 * chunk) = *(const uint4 *)(staged + place(i, chunk));
}
