// The gradients of attention's keys and values, of f16 or bf16, by tiles of queries: dk = scale (p (dp - sum(p dp)))^T q and dv = p^T dy, where p are the
// weights and dp = dy v^T. All matrices of weights are transposed: a row is a key.
//
// Source: Dao, "FlashAttention-2" (2023).
//
// Before this text stand `warp.h`, `tiles.h` and what they need, and CAUSAL, 1 where a query sees the keys up to its own position alone. A block has THREADS
// threads and a dynamic shared memory of six tiles and 4 * LENGTH floats, and makes LENGTH rows of one head of keys; there are as many blocks as such heads
// of all batches times `tiles`.

// Scores become weights, and the gradients of weights those of scores, by the `sums` of the queries, which are columns: see `flash_queries.cu`.
static __device__ __forceinline__ void differentiate(Long<1> &scores, Long<1> &by_weights, const float *sums, int query, int key, float scale) {
#pragma unroll
    for (int j = 0; j < LENGTH / 8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int column = 8 * j + column_of(e);
            const bool is_hidden = CAUSAL && query + column < key + row_of(e);
            const float weight = is_hidden ? 0.0f : exp2_of(fmaf(scores[0][j][e], scale, -sums[column]));
            by_weights[0][j][e] = weight * (by_weights[0][j][e] - sums[LENGTH + column]);
            scores[0][j][e] = weight;
        }
}

// `sums` are those that `flash_queries.cu` writes.
extern "C" __global__ void __launch_bounds__(THREADS, 2) kernel(
    const Half *q, const Half *k, const Half *v, const Half *dy, Half *dk, Half *dv, const float *sums, const Problem p) {
    SHARED_MEMORY(memory);
    const int warp = threadIdx.x / 32;
    // Keys that most queries see come first.
    const int all_heads = gridDim.x / p.tiles, heads = p.heads / p.group;
    const int every_head = CAUSAL ? blockIdx.x % all_heads : blockIdx.x / p.tiles;
    const int tile = CAUSAL ? blockIdx.x / all_heads : blockIdx.x % p.tiles;
    const int batch = every_head / heads, head = every_head % heads;
    k += batch * p.k.batch + head * p.k.head;
    v += batch * p.v.batch + head * p.v.head;
    dk += (long long)every_head * p.keys * p.width;
    dv += (long long)every_head * p.keys * p.size;

    // Keys, values, and two tiles of queries and of the output's gradients, whose sums come last.
    const unsigned shared = shared_address(memory), first_tile = shared + 2 * TILE_BYTES;
    const unsigned own_keys = shared + 16 * warp * ROW_BYTES, own_values = own_keys + TILE_BYTES;
    float *const all_sums = (float *)(memory + 6 * TILE_BYTES);
    const int key = LENGTH * tile + 16 * warp;

    // Tiles of queries of every head that shares these keys, from the first that sees some.
    const int begin = CAUSAL ? tile : 0;
    const int span = max(0, (p.queries + LENGTH - 1) / LENGTH - begin), count = p.group * span;
    const auto begin_to_copy = [&](int step, int turn) {
        const int query = (begin + step % span) * LENGTH, own_head = head * p.group + step / span;
        const unsigned to = first_tile + 2 * turn * TILE_BYTES;
        copy<LENGTH>(to, q + batch * p.q.batch + own_head * p.q.head, p.q.row, query, p.queries, p.width);
        copy<LENGTH>(to + TILE_BYTES, dy + batch * p.dy.batch + own_head * p.dy.head, p.dy.row, query, p.queries, p.size);
        const int column = threadIdx.x % LENGTH, which = threadIdx.x / LENGTH;
        const long long rows = (long long)all_heads * p.group * p.queries, row = ((long long)batch * p.heads + own_head) * p.queries + query + column;
        // A query that is none has weights of 0.
        const float none = which == 0 ? -NOTHING : 0.0f;
        all_sums[2 * turn * LENGTH + threadIdx.x] = query + column < p.queries ? sums[which * rows + row] : none;
    };
    copy<LENGTH>(shared, k, p.k.row, LENGTH * tile, p.keys, p.width);
    copy<LENGTH>(shared + TILE_BYTES, v, p.v.row, LENGTH * tile, p.keys, p.size);
    if (count > 0) begin_to_copy(0, 0);
    arrive();
    __syncthreads();

    Wide<1> by_k = {}, by_v = {};
    for (int step = 0; step < count; ++step) {
        const int query = (begin + step % span) * LENGTH, turn = step % 2;
        const unsigned queries = first_tile + 2 * turn * TILE_BYTES, grads = queries + TILE_BYTES;
        if (step + 1 < count) begin_to_copy(step + 1, turn ^ 1);
        Long<1> scores = {}, by_weights = {};
        add_product<1>(scores, own_keys, queries);
        add_product<1>(by_weights, own_values, grads);
        differentiate(scores, by_weights, all_sums + 2 * turn * LENGTH, query, key, p.scale);
        add_weighted<1>(by_v, scores, grads);
        add_weighted<1>(by_k, by_weights, queries);
        arrive();
        __syncthreads();
    }
    // log2(e) is in the scale that scores have.
    const float scale = 0.693147180559945f * p.scale;
    const float scales[1][2] = {{scale, scale}}, ones[1][2] = {{1.0f, 1.0f}};
    write<1>(by_k, scales, memory + 16 * warp * ROW_BYTES, dk, key, p.keys, p.width);
    write<1>(by_v, ones, memory + TILE_BYTES + 16 * warp * ROW_BYTES, dv, key, p.keys, p.size);
}
