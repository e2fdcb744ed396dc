// cuBLAS and cuBLASLt for machines without a GPU: see driver.cpp. Matrices lie column by column; sums are in double precision.

#include <stdlib.h>

#include <atomic>
#include <initializer_list>

#include "elements.h"

namespace {

constexpr int INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15;
constexpr int F32 = 0, F64 = 1, SUMMED_IN_F32 = 68, SUMMED_IN_F64 = 70, SUMMED_IN_F32_OF_TF32 = 77;

std::atomic<int> products{0}, epilogues{0};

bool is_summed(int kind, int in) {
    return in == (kind == F64 ? SUMMED_IN_F64 : SUMMED_IN_F32) || (kind == F32 && in == SUMMED_IN_F32_OF_TF32);
}

struct Matrix {
    Elements elements;
    bool transposed;
    int64_t lead;

    int64_t place(int64_t row, int64_t column) const { return transposed ? column + row * lead : row + column * lead; }
};

// c = alpha a b + beta c + bias, of m, n and k.
void multiply(const int64_t (&of)[3], double alpha, const Matrix &a, const Matrix &b, double beta, Matrix c, const Elements *bias, bool reduced) {
    const auto value = [&](const Matrix &x, int64_t row, int64_t column) {
        const double found = x.elements.get(x.place(row, column));
        return reduced ? to_tf32(found) : found;
    };
    for (int64_t column = 0; column < of[1]; ++column)
        for (int64_t row = 0; row < of[0]; ++row) {
            double sum = 0;
            for (int64_t j = 0; j < of[2]; ++j) sum += value(a, row, j) * value(b, j, column);
            const int64_t at = c.place(row, column);
            const double more = beta ? beta * c.elements.get(at) : 0;
            c.elements.set(at, alpha * sum + more + (bias ? bias->get(row) : 0));
        }
}

// What cuBLASLt keeps of a matrix, as it is stored; of a product, by the numbers of its attributes; of what algorithms are chosen by.
struct Layout {
    int kind;
    uint64_t rows, columns;
    int64_t lead;
};
struct Operation {
    int summed_in, kind_of_factors, left_transposed = 0, right_transposed = 0;
    uint32_t epilogue = 1;
    const void *bias = nullptr;
};
struct Preference {
    uint64_t most_bytes = 0;
    uint32_t alignment = 256;
};
struct Candidate {
    uint64_t algorithm[8];
    size_t nbytes;
    int status;
    float waves;
    int reserved[4];
};

constexpr uint32_t ENDS_WITH_BIAS = 4;
constexpr uint64_t ALGORITHM = 0xa190;
constexpr size_t WORKSPACE = 1024;

const Layout &layout(void *of) { return *static_cast<Layout *>(of); }
Operation &operation(void *of) { return *static_cast<Operation *>(of); }
bool is_aligned(const void *at) { return at && reinterpret_cast<uint64_t>(at) % 16 == 0; }

// The m, n and k of a product; false if its matrices do not go together.
bool sizes(const Operation &by, const Layout &a, const Layout &b, const Layout &c, int64_t (&of)[3]) {
    of[0] = by.left_transposed ? a.columns : a.rows, of[2] = by.left_transposed ? a.rows : a.columns;
    of[1] = by.right_transposed ? b.rows : b.columns;
    const bool meet = int64_t(by.right_transposed ? b.columns : b.rows) == of[2] && int64_t(c.rows) == of[0] && int64_t(c.columns) == of[1];
    const auto stored = [](const Layout &of) { return of.lead >= int64_t(of.rows); };
    return meet && stored(a) && stored(b) && stored(c) && a.kind == c.kind && b.kind == c.kind && by.kind_of_factors == (c.kind == F64 ? F64 : F32);
}

}  // namespace

extern "C" {

int cublasLtCreate(void **handle) { return *handle = &epilogues, 0; }

int cublasLtMatmulDescCreate(void **of, int summed_in, int kind_of_factors) { return *of = new Operation{summed_in, kind_of_factors}, 0; }
int cublasLtMatmulDescDestroy(void *of) { return delete static_cast<Operation *>(of), 0; }
int cublasLtMatmulDescSetAttribute(void *of, int which, const void *value, size_t nbytes) {
    const auto set = [&](auto &to) { return nbytes == sizeof to ? (memcpy(&to, value, nbytes), 0) : INVALID_VALUE; };
    Operation &by = operation(of);
    return which == 3 ? set(by.left_transposed) : which == 4 ? set(by.right_transposed) : which == 7 ? set(by.epilogue) : which == 8 ? set(by.bias) : INVALID_VALUE;
}

int cublasLtMatrixLayoutCreate(void **of, int kind, uint64_t rows, uint64_t columns, int64_t lead) { return *of = new Layout{kind, rows, columns, lead}, 0; }
int cublasLtMatrixLayoutDestroy(void *of) { return delete static_cast<Layout *>(of), 0; }

int cublasLtMatmulPreferenceCreate(void **of) { return *of = new Preference, 0; }
int cublasLtMatmulPreferenceDestroy(void *of) { return delete static_cast<Preference *>(of), 0; }
int cublasLtMatmulPreferenceSetAttribute(void *of, int which, const void *value, size_t nbytes) {
    Preference &by = *static_cast<Preference *>(of);
    const auto set = [&](auto &to) { return nbytes == sizeof to ? (memcpy(&to, value, nbytes), 0) : INVALID_VALUE; };
    return which == 1 ? set(by.most_bytes) : which >= 5 && which <= 8 ? set(by.alignment) : INVALID_VALUE;
}

// As the library, it has no such epilogue for doubles.
int cublasLtMatmulAlgoGetHeuristic(void *, void *by, void *a, void *b, void *c, void *d, void *preference, int most, Candidate *found, int *count) {
    int64_t of[3];
    const Preference &wanted = *static_cast<Preference *>(preference);
    if (c != d || most < 1 || !sizes(operation(by), layout(a), layout(b), layout(c), of) || !is_aligned(operation(by).bias)) return INVALID_VALUE;
    if (layout(c).kind == F64 || operation(by).epilogue != ENDS_WITH_BIAS || wanted.most_bytes < WORKSPACE || wanted.alignment != 16) return *count = 0, NOT_SUPPORTED;
    *found = {{ALGORITHM}, WORKSPACE, 0, 1, {}};
    return *count = 1, 0;
}

int cublasLtMatmul(
    void *, void *by, const void *alpha, const void *a, void *of_a, const void *b, void *of_b, const void *beta, const void *c, void *of_c, void *d, void *of_d,
    const uint64_t *algorithm, void *workspace, size_t nbytes, void *) {
    int64_t of[3];
    const Operation &told = operation(by);
    const int kind = layout(of_c).kind;
    if (!sizes(told, layout(of_a), layout(of_b), layout(of_c), of) || c != d || of_c != of_d) return INVALID_VALUE;
    for (const void *at : {a, b, c, told.bias, static_cast<const void *>(workspace)})
        if (!is_aligned(at)) return INVALID_VALUE;
    if (*algorithm != ALGORITHM || nbytes < WORKSPACE || !is_summed(kind, told.summed_in)) return NOT_SUPPORTED;
    if (getenv("OPFORGE_HOST_DRIVER_FAILS")) return EXECUTION_FAILED;
    const Elements bias{told.bias, kind};
    const auto matrix = [&](const void *at, bool transposed, void *of) { return Matrix{{at, kind}, transposed, layout(of).lead}; };
    multiply(
        of, factor(alpha, kind), matrix(a, told.left_transposed, of_a), matrix(b, told.right_transposed, of_b), factor(beta, kind), matrix(c, false, of_c), &bias,
        told.summed_in == SUMMED_IN_F32_OF_TF32);
    ++epilogues;
    return 0;
}

// How many products with a bias there have been, for tests.
int opforge_host_epilogues() { return epilogues; }

int cublasCreate_v2(void **handle) { return *handle = &products, 0; }
int cublasSetStream_v2(void *, void *) { return 0; }

int cublasGemmStridedBatchedEx(
    void *, int a_transposed, int b_transposed, int m, int n, int k, const void *alpha, const void *a, int a_kind, int lda, int64_t a_next, const void *b,
    int b_kind, int ldb, int64_t b_next, const void *beta, void *c, int c_kind, int ldc, int64_t c_next, int count, int summed_in, int) {
    if (lda < (a_transposed ? k : m) || ldb < (b_transposed ? n : k) || ldc < m || a_kind != b_kind) return INVALID_VALUE;
    // Results of halves may be single.
    const bool is_wider = c_kind == 0 && (a_kind == 2 || a_kind == 14);
    if (a_kind != c_kind && !is_wider) return NOT_SUPPORTED;
    if (!is_summed(c_kind, summed_in)) return NOT_SUPPORTED;
    if (getenv("OPFORGE_HOST_DRIVER_FAILS")) return EXECUTION_FAILED;
    for (int64_t i = 0; i < count; ++i) {
        const auto matrix = [&](int kind, const void *at, bool transposed, int64_t lead, int64_t next) {
            return Matrix{Elements{at, kind}.from(i * next), transposed, lead};
        };
        multiply(
            {m, n, k}, factor(alpha, c_kind), matrix(a_kind, a, a_transposed, lda, a_next), matrix(a_kind, b, b_transposed, ldb, b_next), factor(beta, c_kind),
            matrix(c_kind, c, false, ldc, c_next), nullptr, summed_in == SUMMED_IN_F32_OF_TF32);
    }
    ++products;
    return 0;
}

// How many products there have been, for tests.
int opforge_host_products() { return products; }

}
