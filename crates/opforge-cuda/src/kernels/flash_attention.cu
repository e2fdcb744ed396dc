// softmax(q k^T scale) v of f16 or bf16 by tiles of keys, whose scores and weights stay in registers.
//
// Source: Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023).
//
// Before this text stand `warp.h`, `tiles.h` and what they need, and CAUSAL, 1 where a query sees the keys up to its own position alone. A block has THREADS
// threads and a dynamic shared memory of six tiles, and makes ROWS rows of one head; there are as many blocks as heads of all batches times `tiles`.

#define ROWS (32 * WARPS)

// What a warp knows of its 32 rows, a thread of two in each 16.
struct Rows {
    Wide<2> y;
    float greatest[2][2];
    // This thread's part of the weights' sum.
    float total[2][2];
};

// Scores become weights, relative to the greatest score until now, to which what there was before is reduced.
static __device__ __forceinline__ void weigh(Rows &rows, Long<2> &scores, float scale) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float greatest = rows.greatest[i][half];
#pragma unroll
            for (int j = 0; j < LENGTH / 8; ++j) greatest = fmaxf(greatest, fmaxf(scores[i][j][2 * half], scores[i][j][2 * half + 1]));
            greatest = greatest_of_row(greatest);
            // Scores that are all minus infinity have weights of 0 until greater ones come.
            const float base = greatest == NOTHING ? 0.0f : greatest * scale;
            const float reduced = exp2_of(fmaf(rows.greatest[i][half], scale, -base));
            rows.greatest[i][half] = greatest;
            float sum = 0.0f;
#pragma unroll
            for (int j = 0; j < LENGTH / 8; ++j)
#pragma unroll
                for (int e = 2 * half; e < 2 * half + 2; ++e) {
                    scores[i][j][e] = exp2_of(fmaf(scores[i][j][e], scale, -base));
                    sum += scores[i][j][e];
                }
            rows.total[i][half] = fmaf(rows.total[i][half], reduced, sum);
#pragma unroll
            for (int d = 0; d < WIDTH / 8; ++d) rows.y[i][d][2 * half] *= reduced, rows.y[i][d][2 * half + 1] *= reduced;
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) kernel(const Half *q, const Half *k, const Half *v, Half *y, const Problem p) {
    SHARED_MEMORY(memory);
    const int warp = threadIdx.x / 32;
    // Rows that see most keys come first, so that none of them is alone at the end.
    const int all_heads = gridDim.x / p.tiles;
    const int every_head = CAUSAL ? blockIdx.x % all_heads : blockIdx.x / p.tiles;
    const int tile = CAUSAL ? p.tiles - 1 - blockIdx.x / all_heads : blockIdx.x % p.tiles;
    const int batch = every_head / p.heads, head = every_head % p.heads;
    q += batch * p.q.batch + head * p.q.head;
    k += batch * p.k.batch + head / p.group * p.k.head;
    v += batch * p.v.batch + head / p.group * p.v.head;
    y += (long long)every_head * p.queries * p.size;

    // Queries, and two tiles of keys and of values.
    const unsigned shared = shared_address(memory), first_tile = shared + ROWS * ROW_BYTES;
    const unsigned own_queries = shared + 32 * warp * ROW_BYTES;
    const int row = ROWS * tile + 32 * warp;
    const int seen = CAUSAL ? min(p.keys, ROWS * (tile + 1)) : p.keys;
    copy<ROWS>(shared, q, p.q.row, ROWS * tile, p.queries, p.width);
    copy<LENGTH>(first_tile, k, p.k.row, 0, p.keys, p.width);
    copy<LENGTH>(first_tile + TILE_BYTES, v, p.v.row, 0, p.keys, p.size);
    arrive();
    __syncthreads();

#if WIDTH <= 64
    unsigned kept[WIDTH / 16][2][4];
#pragma unroll
    for (int column = 0; column < WIDTH; column += 16) fragments<2>(kept[column / 16], own_queries, column);
#endif
    Rows rows = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) rows.greatest[i / 2][i % 2] = NOTHING;

    for (int key = 0, turn = 0; key < seen; key += LENGTH, turn ^= 1) {
        const unsigned keys = first_tile + 2 * turn * TILE_BYTES, values = keys + TILE_BYTES;
        if (key + LENGTH < seen) {
            const unsigned next = first_tile + 2 * (turn ^ 1) * TILE_BYTES;
            copy<LENGTH>(next, k, p.k.row, key + LENGTH, p.keys, p.width);
            copy<LENGTH>(next + TILE_BYTES, v, p.v.row, key + LENGTH, p.keys, p.size);
        }
        if (!CAUSAL || key < row + 32) {
            Long<2> scores = {};
#if WIDTH <= 64
#pragma unroll
            for (int column = 0; column < WIDTH; column += 16) add_by_rows<2>(scores, kept[column / 16], keys, column);
#else
            add_product<2>(scores, own_queries, keys);
#endif
            if (key + LENGTH > p.keys || (CAUSAL && key + LENGTH > row + 1)) hide<2>(scores, row, key, p.keys, CAUSAL);
            weigh(rows, scores, p.scale);
            add_weighted<2>(rows.y, scores, values);
        }
        arrive();
        __syncthreads();
    }
    float shares[2][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) shares[i / 2][i % 2] = 1.0f / sum_of_row(rows.total[i / 2][i % 2]);
    write<2>(rows.y, shares, memory + 32 * warp * ROW_BYTES, y, row, p.queries, p.size);
}
