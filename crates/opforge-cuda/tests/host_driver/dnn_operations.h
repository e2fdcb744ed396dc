// Graphs of several operations, carried out one after the other in double precision. Included by dnn_graph.h.
#pragma once

namespace {

constexpr int INT32 = 4, BOOLEAN = 11;
std::atomic<int> of_several{0};

// A tensor of a graph while it runs: its elements by their place in memory.
struct Running {
    const Backend &of;
    std::vector<int> dims, strides;
    std::vector<double> at;

    explicit Running(const Backend &of) : of(of), dims(of.numbers(902)), strides(of.numbers(903)) {
        int64_t last = 0;
        for (size_t d = 0; d < dims.size(); ++d) last += int64_t(dims[d] - 1) * strides[d];
        at.assign(last + 1, 0.0);
    }
    int kind() const { return int(of.one(901)); }
    bool is_between() const { return of.attributes.count(907); }
    bool is_number() const { return of.attributes.count(908); }
    // Of an index of a tensor that it is broadcast to; where it has fewer heads, several have one in common.
    int64_t place(const std::vector<int> &index, const std::vector<int> &shape) const {
        int64_t flat = 0;
        for (size_t d = 0; d < dims.size(); ++d) flat += int64_t(index[d]) * dims[d] / shape[d] * strides[d];
        return flat;
    }
    double rounded(double value) const {
        if (kind() == INT32 || kind() == BOOLEAN) return value;
        alignas(8) char bytes[8];
        Elements one{reinterpret_cast<void *>(reinterpret_cast<uint64_t>(bytes) + BEYOND), kind() == BFLOAT16 ? 14 : kind()};
        one.set(0, value);
        return one.get(0);
    }
};

double function(int mode, double a, double b, double t) {
    switch (mode) {
        case 0: return a + b;
        case 1: return a * b;
        case 6: return a / b;
        case 9: return a - b;
        case 13: return exp(a);
        case 15: return log(a);
        case 21: return a;
        case 303: return a >= b;
        case 601: return t ? a : b;
        default: return NAN;
    }
}

// Which tensors are whose addresses.
struct Run {
    std::map<const Backend *, Running> tensors = {};
    std::map<int64_t, void *> addresses = {};
    bool is_misaligned = false;

    Elements elements(const Running &of) { return {addresses.at(of.of.one(906)), of.kind() == BFLOAT16 ? 14 : of.kind()}; }

    Running &tensor(const Backend &of) {
        const auto found = tensors.find(&of);
        if (found != tensors.end()) return found->second;
        Running &made = tensors.emplace(&of, Running(of)).first->second;
        if (made.is_number()) {
            made.at[0] = *static_cast<float *>(addresses.at(of.one(906)));
        } else if (!made.is_between()) {
            is_misaligned |= reinterpret_cast<uint64_t>(addresses.at(of.one(906))) % of.one(900) != 0;
            each(made.dims, [&](const std::vector<int> &i) { made.at[made.place(i, made.dims)] = elements(made).get(made.place(i, made.dims)); });
        }
        return made;
    }

    void finish(Running &of) {
        each(of.dims, [&](const std::vector<int> &i) {
            double &value = of.at[of.place(i, of.dims)];
            value = of.rounded(value);
            if (!of.is_between()) elements(of).set(of.place(i, of.dims), value);
        });
    }

    void elementwise(const Backend &by) {
        const Backend &how = by.of(750);
        Running &a = tensor(by.of(751)), &to = tensor(by.of(753));
        Running *b = by.attributes.count(752) ? &tensor(by.of(752)) : nullptr, *t = by.attributes.count(758) ? &tensor(by.of(758)) : nullptr;
        each(to.dims, [&](const std::vector<int> &i) {
            const auto value = [&](const Running *x) { return x ? x->at[x->place(i, to.dims)] : 0; };
            to.at[to.place(i, to.dims)] = how.one(0) == 501 ? i[how.one(9)] : function(int(how.one(0)), value(&a), value(b), value(t));
        });
        finish(to);
    }

    void multiply(const Backend &by) {
        Running &a = tensor(by.of(1520)), &b = tensor(by.of(1521)), &to = tensor(by.of(1522));
        each(to.dims, [&](const std::vector<int> &i) {
            double sum = 0;
            for (int k = 0; k < a.dims[3]; ++k) {
                const std::vector<int> &n = to.dims;
                sum += a.at[a.place({i[0], i[1], i[2], k}, {n[0], n[1], n[2], a.dims[3]})] * b.at[b.place({i[0], i[1], k, i[3]}, {n[0], n[1], a.dims[3], n[3]})];
            }
            to.at[to.place(i, to.dims)] = sum;
        });
        finish(to);
    }

    void reduce(const Backend &by) {
        const bool is_max = by.of(1612).one(1600) == 3;
        Running &from = tensor(by.of(1610)), &to = tensor(by.of(1611));
        for (double &value : to.at) value = is_max ? -INFINITY : 0;
        each(from.dims, [&](const std::vector<int> &i) {
            const double value = from.at[from.place(i, from.dims)];
            double &all = to.at[to.place(i, from.dims)];
            all = is_max ? (value > all || value != value ? value : all) : all + value;
        });
        finish(to);
    }

    void see(const Backend &by) {
        Running &from = tensor(by.of(2200)), &to = tensor(by.of(2201));
        to.at = from.at;
        finish(to);
    }
};

int execute_all(const Backend &graph, const Backend &pack) {
    if (getenv("OPFORGE_HOST_DRIVER_FAILS")) return EXECUTION_FAILED;
    Run run;
    const std::vector<int64_t> &names = pack.attributes.at(1000), &addresses = pack.attributes.at(1001);
    for (size_t i = 0; i < names.size(); ++i) run.addresses[names[i]] = reinterpret_cast<void *>(addresses[i]);
    for (int64_t at : graph.attributes.at(801)) {
        const Backend &operation = *reinterpret_cast<Backend *>(at);
        switch (operation.kind) {
            case OF_ELEMENTS: run.elementwise(operation); break;
            case OF_MATRICES: run.multiply(operation); break;
            case OF_ROWS: run.reduce(operation); break;
            case RESHAPE: run.see(operation); break;
            default: return NOT_SUPPORTED;
        }
    }
    return run.is_misaligned ? BAD_PARAM : (++of_several, 0);
}

}  // namespace

// How many graphs of several operations have been run, for tests.
extern "C" int opforge_host_graphs_of_several() { return of_several; }
