// cuDNN's convolutions for machines without a GPU: see driver.cpp. Sums are in double precision.

#include <stdlib.h>

#include <atomic>
#include <vector>

#include "elements.h"

namespace {

constexpr int BAD_PARAM = 3, EXECUTION_FAILED = 8, NOT_SUPPORTED = 9;
constexpr int FLOAT = 0, DOUBLE = 1, BFLOAT16 = 9;
constexpr int DEFAULT_MATH = 0, FMA_MATH = 3;

constexpr size_t WORKSPACE = 64;

std::atomic<int> convolutions{0}, of_channels_last{0};

struct Tensor {
    int kind;
    std::vector<int> dims, strides;
};

struct Convolution {
    std::vector<int> padding, stride, dilation;
    int summed_in, groups = 1, math = DEFAULT_MATH;
};

bool channels_last(const Tensor &of) { return of.dims[1] > 1 && of.strides[1] == 1 && of.strides.back() == of.dims[1]; }

// Whether x, w and y meet in such a convolution.
bool fit(const Tensor &x, const Tensor &w, const Tensor &y, const Convolution &by) {
    const size_t rank = x.dims.size();
    bool all = rank == by.stride.size() + 2 && w.dims.size() == rank && y.dims.size() == rank && x.kind == w.kind && x.kind == y.kind;
    all = all && by.summed_in == (x.kind == DOUBLE ? DOUBLE : FLOAT) && x.dims[1] == w.dims[1] * by.groups && w.dims[0] % by.groups == 0;
    all = all && y.dims[0] == x.dims[0] && y.dims[1] == w.dims[0];
    for (size_t d = 2; all && d < rank; ++d) {
        const int room = x.dims[d] + 2 * by.padding[d - 2] - (w.dims[d] - 1) * by.dilation[d - 2] - 1;
        all = room >= 0 && y.dims[d] == room / by.stride[d - 2] + 1;
    }
    return all;
}

// All indices of a tensor with these lengths.
template <class F> void each(const std::vector<int> &dims, F f) {
    std::vector<int> at(dims.size(), 0);
    for (;;) {
        f(at);
        size_t d = dims.size();
        while (d > 0 && ++at[d - 1] == dims[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}

struct Operand {
    const Tensor &of;
    Elements elements;

    Operand(const Tensor &of, const void *at) : of(of), elements{at, of.kind == BFLOAT16 ? 14 : of.kind} {}

    int64_t place(const std::vector<int> &at) const {
        int64_t flat = 0;
        for (size_t d = 0; d < at.size(); ++d) flat += int64_t(at[d]) * of.strides[d];
        return flat;
    }
};

// Makes one of x, w and y (0, 1, 2) of the other two.
int convolve(int made, Operand x, Operand w, Operand y, const Convolution &by) {
    if (!fit(x.of, w.of, y.of, by)) return BAD_PARAM;
    if (getenv("OPFORGE_HOST_DRIVER_FAILS")) return EXECUTION_FAILED;
    const bool reduced = x.of.kind == FLOAT && by.math == DEFAULT_MATH;
    const auto value = [&](const Operand &of, int64_t at) { return reduced ? to_tf32(of.elements.get(at)) : of.elements.get(at); };
    Operand &target = made == 0 ? x : made == 1 ? w : y;
    std::vector<double> sums(size_t(target.of.dims[0]) * target.of.strides[0], 0.0);
    each(y.of.dims, [&](const std::vector<int> &t) {
        each({w.of.dims.begin() + 1, w.of.dims.end()}, [&](const std::vector<int> &k) {
            std::vector<int> in{t[0], t[1] / (w.of.dims[0] / by.groups) * w.of.dims[1] + k[0]}, weight{t[1]};
            weight.insert(weight.end(), k.begin(), k.end());
            for (size_t d = 2; d < t.size(); ++d) {
                const int at = t[d] * by.stride[d - 2] + k[d - 1] * by.dilation[d - 2] - by.padding[d - 2];
                if (at < 0 || at >= x.of.dims[d]) return;
                in.push_back(at);
            }
            const int64_t of_x = x.place(in), of_w = w.place(weight), of_y = y.place(t);
            if (made == 0) sums[of_x] += value(w, of_w) * value(y, of_y);
            if (made == 1) sums[of_w] += value(x, of_x) * value(y, of_y);
            if (made == 2) sums[of_y] += value(x, of_x) * value(w, of_w);
        });
    });
    for (size_t i = 0; i < sums.size(); ++i) target.elements.set(i, sums[i]);
    ++convolutions;
    if (channels_last(x.of) && channels_last(w.of) && channels_last(y.of)) ++of_channels_last;
    return 0;
}

}  // namespace

extern "C" {

int cudnnCreate(void **handle) { return *handle = &convolutions, 0; }
int cudnnGetProperty(int which, int *number) { return *number = which == 0 ? 9 : which == 1 ? 10 : 0, 0; }
int cudnnSetStream(void *, void *) { return 0; }

// How many convolutions there have been, for tests.
int opforge_host_convolutions() { return convolutions; }
// Of these, how many had the channels of all tensors last.
int opforge_host_channels_last() { return of_channels_last; }

}

#include "dnn_graph.h"
