// cuDNN's graphs: descriptors of kinds by number, whose attributes are kept as they are given. Included by dnn.cpp.
#pragma once

#include <map>

namespace {

constexpr int CONVOLUTION = 1, ENGINE = 2, CONFIGURATION = 3, HEURISTICS = 4, PLAN = 5, FORWARD = 10, BACKWARD_FILTER = 11, BACKWARD_DATA = 12, GRAPH = 15, PACK = 16,
              TENSOR = 17, ELEMENT = 0, OF_ELEMENTS = 13, PRODUCT = 18, OF_MATRICES = 19, REDUCTION = 21, OF_ROWS = 22, RESHAPE = 31;
constexpr int BY_MATRICES = 0, NOT_DETERMINISTIC_NOTE = 4;

// Engines that are proposed, the first of them the fastest: one that is not deterministic, one by units for matrices, one in full precision.
constexpr int64_t NEVER = 0, BY_UNITS = 1, IN_FULL = 2;

struct Backend {
    int kind;
    int64_t engine = -1;
    bool is_done = false;
    std::map<int, std::vector<int64_t>> attributes = {};

    bool has(std::initializer_list<int> all) const {
        for (int attribute : all)
            if (!attributes.count(attribute)) return false;
        return true;
    }
    int64_t one(int attribute) const { return attributes.at(attribute)[0]; }
    std::vector<int> numbers(int attribute) const { return {attributes.at(attribute).begin(), attributes.at(attribute).end()}; }
    const Backend &of(int attribute) const { return *reinterpret_cast<Backend *>(one(attribute)); }
};

Backend &backend(void *of) { return *static_cast<Backend *>(of); }

// The bytes of a value of an attribute's type: integers, addresses, descriptors and handles have eight, booleans one.
size_t size_of_type(int type) { return type == 2 ? 1 : type == 0 || type == 3 || type == 5 || type == 6 || type == 15 ? 8 : 4; }

// The attributes of an operation: how tensors meet, x, w, y, alpha, beta.
std::vector<int> attributes_of(int kind) {
    if (kind == FORWARD) return {702, 704, 703, 705, 700, 701};
    if (kind == BACKWARD_DATA) return {708, 710, 709, 711, 706, 707};
    return {714, 716, 715, 717, 712, 713};
}

// The bits of 1 in single and double precision.
constexpr int64_t ONE = 0x3f800000, WIDE_ONE = 0x3ff0000000000000;

bool is_whole(const Backend &of) {
    switch (of.kind) {
        case TENSOR: return of.has({900, 901, 902, 903, 906});
        case CONVOLUTION: return of.has({100, 101, 102, 103, 104, 105, 106}) && of.attributes.at(104) == of.attributes.at(105) && of.one(101) == 1;
        case FORWARD: return of.has({700, 701, 702, 703, 704, 705});
        case BACKWARD_DATA: return of.has({706, 707, 708, 709, 710, 711});
        case BACKWARD_FILTER: return of.has({712, 713, 714, 715, 716, 717});
        case GRAPH: return of.has({800, 801});
        case HEURISTICS: return of.has({200, 201});
        case PLAN: return of.has({400, 401}) && of.of(401).engine >= 0;
        case PACK: return of.has({1000, 1001, 1003});
        case ELEMENT: return of.has({0, 1});
        case OF_ELEMENTS: return of.has({750, 751, 753});
        case PRODUCT: return of.has({1500});
        case OF_MATRICES: return of.has({1520, 1521, 1522, 1523});
        case REDUCTION: return of.has({1600, 1601});
        case OF_ROWS: return of.has({1610, 1611, 1612});
        case RESHAPE: return of.has({2200, 2201});
        default: return false;
    }
}

Tensor tensor_of(const Backend &of) { return {int(of.one(901)), of.numbers(902), of.numbers(903)}; }

}  // namespace

#include "dnn_operations.h"

namespace {

int execute(const Backend &plan, const Backend &pack) {
    const Backend &configuration = plan.of(401), &graph = configuration.of(201), &operation = graph.of(801);
    if (configuration.engine == NEVER || !pack.one(1003)) return NOT_SUPPORTED;
    if (graph.attributes.at(801).size() > 1) return execute_all(graph, pack);
    const std::vector<int> names = attributes_of(operation.kind);
    const Backend &meeting = operation.of(names[0]);
    Tensor all[3];
    void *at[3];
    for (int i = 0; i < 3; ++i) {
        const Backend &tensor = operation.of(names[1 + i]);
        all[i] = tensor_of(tensor);
        const std::vector<int64_t> &known = pack.attributes.at(1000);
        for (size_t j = 0; j < known.size(); ++j)
            if (known[j] == tensor.one(906)) at[i] = reinterpret_cast<void *>(pack.attributes.at(1001)[j]);
        if (reinterpret_cast<uint64_t>(at[i]) % tensor.one(900)) return BAD_PARAM;
    }
    if (operation.one(names[4]) != (all[0].kind == DOUBLE ? WIDE_ONE : ONE) || operation.one(names[5]) != 0) return BAD_PARAM;
    Convolution by{meeting.numbers(104), meeting.numbers(103), meeting.numbers(102), int(meeting.one(100))};
    by.groups = all[1].dims[1] ? all[0].dims[1] / all[1].dims[1] : 1;
    by.math = configuration.engine == BY_UNITS ? DEFAULT_MATH : FMA_MATH;
    const int made = operation.kind == FORWARD ? 2 : operation.kind == BACKWARD_DATA ? 0 : 1;
    return convolve(made, {all[0], at[0]}, {all[1], at[1]}, {all[2], at[2]}, by);
}

}  // namespace

extern "C" {

int cudnnBackendCreateDescriptor(int kind, void **of) { return *of = new Backend{kind}, 0; }
int cudnnBackendDestroyDescriptor(void *of) { return delete static_cast<Backend *>(of), 0; }
int cudnnBackendSetAttribute(void *of, int attribute, int type, int64_t count, const void *values) {
    if (backend(of).is_done) return NOT_SUPPORTED;
    std::vector<int64_t> &all = backend(of).attributes[attribute];
    all.assign(count, 0);
    for (int64_t i = 0; i < count; ++i) memcpy(&all[i], static_cast<const char *>(values) + i * size_of_type(type), size_of_type(type));
    return 0;
}
int cudnnBackendFinalize(void *of) { return is_whole(backend(of)) ? backend(of).is_done = true, 0 : BAD_PARAM; }
int cudnnBackendGetAttribute(void *of, int attribute, int type, int64_t most, int64_t *count, void *to) {
    const Backend &from = backend(of);
    void **descriptors = static_cast<void **>(to);
    if (attribute == 202 && type == 15 && most >= 3) {
        for (int64_t i = 0; i < 3; ++i) backend(descriptors[i]).engine = i, backend(descriptors[i]).attributes = from.attributes;
        return *count = 3, 0;
    }
    if (attribute == 300 && type == 15) return backend(descriptors[0]).engine = from.engine, *count = 1, 0;
    if (attribute == 1303 && type == 11) {
        *static_cast<int *>(to) = from.engine == NEVER ? NOT_DETERMINISTIC_NOTE : BY_MATRICES;
        return *count = from.engine == IN_FULL ? 0 : 1, 0;
    }
    if (attribute == 402 && type == 3) return *static_cast<int64_t *>(to) = WORKSPACE, *count = 1, 0;
    return NOT_SUPPORTED;
}
int cudnnBackendExecute(void *, void *plan, void *pack) {
    if (backend(plan).kind != PLAN || !backend(plan).is_done || backend(pack).kind != PACK || !backend(pack).is_done) return BAD_PARAM;
    return execute(backend(plan), backend(pack));
}

}
