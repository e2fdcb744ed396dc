// cuDNN's convolutions for machines without a GPU: see driver.cpp. Sums are in double precision.

#include <stdlib.h>

#include <atomic>
#include <vector>

#include "elements.h"

namespace {

constexpr int BAD_PARAM = 3, EXECUTION_FAILED = 8, NOT_SUPPORTED = 9;
constexpr int FLOAT = 0, DOUBLE = 1, BFLOAT16 = 9;
constexpr int DEFAULT_MATH = 0, FMA_MATH = 3;

// Of those that are proposed, the one that works: the others are not deterministic, or work in more memory than there is.
constexpr int NOT_DETERMINISTIC = 0, LARGE = 1, USABLE = 2;
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

struct Candidate {
    int algorithm, status;
    float milliseconds;
    size_t nbytes;
    int is_deterministic, math, reserved[3];
};

const Tensor &tensor(void *of) { return *static_cast<Tensor *>(of); }
Convolution &convolution(void *of) { return *static_cast<Convolution *>(of); }

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

    Operand(void *of, const void *at) : of(tensor(of)), elements{at, tensor(of).kind == BFLOAT16 ? 14 : tensor(of).kind} {}

    int64_t place(const std::vector<int> &at) const {
        int64_t flat = 0;
        for (size_t d = 0; d < at.size(); ++d) flat += int64_t(at[d]) * of.strides[d];
        return flat;
    }
};

// Makes one of x, w and y (0, 1, 2) of the other two.
int convolve(int made, Operand x, Operand w, Operand y, const Convolution &by, int algorithm, void *workspace, size_t nbytes, const void *alpha, const void *beta) {
    if (!fit(x.of, w.of, y.of, by)) return BAD_PARAM;
    if (algorithm != USABLE || !workspace || nbytes < WORKSPACE) return NOT_SUPPORTED;
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
    const double one = factor(alpha, x.of.kind), other = factor(beta, x.of.kind);
    for (size_t i = 0; i < sums.size(); ++i) target.elements.set(i, one * sums[i] + (other ? other * target.elements.get(i) : 0));
    ++convolutions;
    if (channels_last(x.of) && channels_last(w.of) && channels_last(y.of)) ++of_channels_last;
    return 0;
}

int choose(void *x, void *w, void *y, void *by, int most, int *count, Candidate *found) {
    if (!fit(tensor(x), tensor(w), tensor(y), convolution(by)) || most < 4) return BAD_PARAM;
    const int math = convolution(by).math;
    found[0] = {NOT_DETERMINISTIC, 0, 1, WORKSPACE, 0, math, {}};
    found[1] = {LARGE, 0, 2, size_t(1) << 40, 1, math, {}};
    found[2] = {USABLE, 0, 3, WORKSPACE, 1, DEFAULT_MATH, {}};
    found[3] = {USABLE + 1, NOT_SUPPORTED, -1, 0, 1, DEFAULT_MATH, {}};
    return *count = 4, 0;
}

int size(int algorithm, size_t *nbytes) { return algorithm == USABLE ? (*nbytes = WORKSPACE, 0) : NOT_SUPPORTED; }

}  // namespace

extern "C" {

int cudnnCreate(void **handle) { return *handle = &convolutions, 0; }
int cudnnGetProperty(int which, int *number) { return *number = which == 0 ? 9 : 0, 0; }
int cudnnSetStream(void *, void *) { return 0; }

int cudnnCreateTensorDescriptor(void **of) { return *of = new Tensor, 0; }
int cudnnDestroyTensorDescriptor(void *of) { return delete static_cast<Tensor *>(of), 0; }
int cudnnSetTensorNdDescriptor(void *of, int kind, int rank, const int *dims, const int *strides) {
    if (rank < 4 || rank > 5) return BAD_PARAM;
    *static_cast<Tensor *>(of) = {kind, {dims, dims + rank}, {strides, strides + rank}};
    return 0;
}

int cudnnCreateFilterDescriptor(void **of) { return cudnnCreateTensorDescriptor(of); }
int cudnnDestroyFilterDescriptor(void *of) { return cudnnDestroyTensorDescriptor(of); }
int cudnnSetFilterNdDescriptor(void *of, int kind, int format, int rank, const int *dims) {
    if (format != 0 && format != 1) return NOT_SUPPORTED;
    std::vector<int> strides(rank, 1);
    strides[rank - 1] = format == 1 ? dims[1] : 1;
    for (int d = rank - 1; d > 2; --d) strides[d - 1] = strides[d] * dims[d];
    strides[1] = format == 1 ? 1 : strides[2] * dims[2];
    strides[0] = format == 1 ? strides[2] * dims[2] : strides[1] * dims[1];
    return cudnnSetTensorNdDescriptor(of, kind, rank, dims, strides.data());
}

int cudnnCreateConvolutionDescriptor(void **of) { return *of = new Convolution, 0; }
int cudnnDestroyConvolutionDescriptor(void *of) { return delete static_cast<Convolution *>(of), 0; }
int cudnnSetConvolutionNdDescriptor(void *of, int spatial, const int *padding, const int *stride, const int *dilation, int mode, int summed_in) {
    if (mode != 1) return NOT_SUPPORTED;
    convolution(of).padding = {padding, padding + spatial};
    convolution(of).stride = {stride, stride + spatial};
    convolution(of).dilation = {dilation, dilation + spatial};
    convolution(of).summed_in = summed_in;
    return 0;
}
int cudnnSetConvolutionGroupCount(void *of, int groups) { return convolution(of).groups = groups, 0; }
int cudnnSetConvolutionMathType(void *of, int math) { return convolution(of).math = math, math >= DEFAULT_MATH && math <= FMA_MATH ? 0 : BAD_PARAM; }

int cudnnGetConvolutionForwardAlgorithm_v7(void *, void *x, void *w, void *by, void *y, int most, int *count, Candidate *found) {
    return choose(x, w, y, by, most, count, found);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *, void *w, void *y, void *by, void *x, int most, int *count, Candidate *found) {
    return choose(x, w, y, by, most, count, found);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *, void *x, void *y, void *by, void *w, int most, int *count, Candidate *found) {
    return choose(x, w, y, by, most, count, found);
}

int cudnnGetConvolutionForwardWorkspaceSize(void *, void *, void *, void *, void *, int algorithm, size_t *nbytes) { return size(algorithm, nbytes); }
int cudnnGetConvolutionBackwardDataWorkspaceSize(void *, void *, void *, void *, void *, int algorithm, size_t *nbytes) { return size(algorithm, nbytes); }
int cudnnGetConvolutionBackwardFilterWorkspaceSize(void *, void *, void *, void *, void *, int algorithm, size_t *nbytes) { return size(algorithm, nbytes); }

int cudnnConvolutionForward(
    void *, const void *alpha, void *of_x, const void *x, void *of_w, const void *w, void *by, int algorithm, void *workspace, size_t nbytes, const void *beta,
    void *of_y, void *y) {
    return convolve(2, {of_x, x}, {of_w, w}, {of_y, y}, convolution(by), algorithm, workspace, nbytes, alpha, beta);
}
int cudnnConvolutionBackwardData(
    void *, const void *alpha, void *of_w, const void *w, void *of_y, const void *y, void *by, int algorithm, void *workspace, size_t nbytes, const void *beta,
    void *of_x, void *x) {
    return convolve(0, {of_x, x}, {of_w, w}, {of_y, y}, convolution(by), algorithm, workspace, nbytes, alpha, beta);
}
int cudnnConvolutionBackwardFilter(
    void *, const void *alpha, void *of_x, const void *x, void *of_y, const void *y, void *by, int algorithm, void *workspace, size_t nbytes, const void *beta,
    void *of_w, void *w) {
    return convolve(1, {of_x, x}, {of_w, w}, {of_y, y}, convolution(by), algorithm, workspace, nbytes, alpha, beta);
}

// How many convolutions there have been, for tests.
int opforge_host_convolutions() { return convolutions; }
// Of these, how many had the channels of all tensors last.
int opforge_host_channels_last() { return of_channels_last; }

}

#include "dnn_graph.h"
