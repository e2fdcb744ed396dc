// The gradient of attention's queries, of f16 or bf16, by tiles of keys, and what `flash_keys.cu` needs of each row: dq = scale (p (dp - sum(p dp))) k, where p
// are the weights and dp = dy v^T. Keys are gone through twice, first for the sums.
//
// Source: Dao, "FlashAttention-2" (2023), with a kernel for queries and one for keys, so that nothing is added up by atomics.
//
// Before this text stand `warp.h`, `tiles.h` and what they need, and CAUSAL, 1 where a query sees the keys up to its own position alone. A block has THREADS
// threads and a dynamic shared memory of six tiles, and makes LENGTH rows of one head; there are as many blocks as heads of all batches times `tiles`.

// What a warp knows of its 16 rows, a thread of two.
struct Rows {
    float greatest[2], total[2], inner[2];
};

// Adds a tile's weights, and their products with their gradients, relative to the greatest score until now.
static __device__ __forceinline__ void sum_up(Rows &rows, const Long<1> &scores, const Long<1> &by_weights, float scale) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float greatest = rows.greatest[half];
#pragma unroll
        for (int j = 0; j < LENGTH / 8; ++j) greatest = fmaxf(greatest, fmaxf(scores[0][j][2 * half], scores[0][j][2 * half + 1]));
        greatest = greatest_of_row(greatest);
        const float base = greatest == NOTHING ? 0.0f : greatest * scale;
        const float reduced = exp2_of(fmaf(rows.greatest[half], scale, -base));
        rows.greatest[half] = greatest;
        rows.total[half] *= reduced, rows.inner[half] *= reduced;
#pragma unroll
        for (int j = 0; j < LENGTH / 8; ++j)
#pragma unroll
            for (int e = 2 * half; e < 2 * half + 2; ++e) {
                const float weight = exp2_of(fmaf(scores[0][j][e], scale, -base));
                rows.total[half] += weight;
                rows.inner[half] = fmaf(weight, by_weights[0][j][e], rows.inner[half]);
            }
    }
}

// `sums` are, for every row of every head, log2(sum(2^score)), and then as many sum(p dp).
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    kernel(const Half *q, const Half *k, const Half *v, const Half *dy, Half *dq, float *sums, const Problem p) {
    SHARED_MEMORY(memory);
    const int warp = threadIdx.x / 32;
    const int all_heads = gridDim.x / p.tiles;
    const int every_head = CAUSAL ? blockIdx.x % all_heads : blockIdx.x / p.tiles;
    const int tile = CAUSAL ? p.tiles - 1 - blockIdx.x / all_heads : blockIdx.x % p.tiles;
    const int batch = every_head / p.heads, head = every_head % p.heads;
    q += batch * p.q.batch + head * p.q.head;
    k += batch * p.k.batch + head / p.group * p.k.head;
    v += batch * p.v.batch + head / p.group * p.v.head;
    dy += batch * p.dy.batch + head * p.dy.head;
    dq += (long long)every_head * p.queries * p.width;
    sums += (long long)every_head * p.queries;

    // Queries, the output's gradients, and two tiles of keys and of values.
    const unsigned shared = shared_address(memory), first_tile = shared + 2 * TILE_BYTES;
    const unsigned own_queries = shared + 16 * warp * ROW_BYTES, own_grads = own_queries + TILE_BYTES;
    const int row = LENGTH * tile + 16 * warp;
    const int seen = CAUSAL ? min(p.keys, LENGTH * (tile + 1)) : p.keys;
    copy<LENGTH>(shared, q, p.q.row, LENGTH * tile, p.queries, p.width);
    copy<LENGTH>(shared + TILE_BYTES, dy, p.dy.row, LENGTH * tile, p.queries, p.size);
    copy<LENGTH>(first_tile, k, p.k.row, 0, p.keys, p.width);
    copy<LENGTH>(first_tile + TILE_BYTES, v, p.v.row, 0, p.keys, p.size);
    arrive();
    __syncthreads();

    Wide<1> by_q = {};
    Rows rows = {{NOTHING, NOTHING}};
    const int count = (seen + LENGTH - 1) / LENGTH;
    for (int step = 0; step < 2 * count; ++step) {
        const int key = step % count * LENGTH, turn = step % 2;
        const unsigned keys = first_tile + 2 * turn * TILE_BYTES, values = keys + TILE_BYTES;
        if (step + 1 < 2 * count) {
            const int next_key = (step + 1) % count * LENGTH;
            const unsigned next = first_tile + 2 * (turn ^ 1) * TILE_BYTES;
            copy<LENGTH>(next, k, p.k.row, next_key, p.keys, p.width);
            copy<LENGTH>(next + TILE_BYTES, v, p.v.row, next_key, p.keys, p.size);
        }
        if (!CAUSAL || key < row + 16) {
            Long<1> scores = {}, by_weights = {};
            add_product<1>(scores, own_queries, keys);
            add_product<1>(by_weights, own_grads, values);
            if (key + LENGTH > p.keys || (CAUSAL && key + LENGTH > row + 1)) hide<1>(scores, row, key, p.keys, CAUSAL);
            if (step < count) {
                sum_up(rows, scores, by_weights, p.scale);
            } else {
#pragma unroll
                for (int j = 0; j < LENGTH / 8; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        scores[0][j][e] = exp2_of(fmaf(scores[0][j][e], p.scale, -rows.total[e / 2])) * (by_weights[0][j][e] - rows.inner[e / 2]);
                add_weighted<1>(by_q, scores, keys);
            }
        }
        if (step == count - 1) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float total = sum_of_row(rows.total[half]);
                rows.inner[half] = sum_of_row(rows.inner[half]) / total;
                rows.total[half] = fmaf(rows.greatest[half], p.scale, log2_of(total));
                const int own_row = row + row_of(2 * half);
                if (lane() % 4 == 0 && own_row < p.queries) {
                    sums[own_row] = rows.total[half];
                    sums[(long long)all_heads * p.queries + own_row] = rows.inner[half];
                }
            }
        }
        arrive();
        __syncthreads();
    }
    // log2(e) is in the scale that scores have.
    const float scale = 0.693147180559945f * p.scale;
    const float scales[1][2] = {{scale, scale}};
    write<1>(by_q, scales, memory + 16 * warp * ROW_BYTES, dq, row, p.queries, p.width);
}
