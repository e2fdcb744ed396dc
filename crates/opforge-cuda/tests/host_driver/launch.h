// What stands after a kernel: a function that calls it with arguments as the driver is given them, by their places.
template <class T> struct Argument {
    static T of(void *at) { return *static_cast<T *>(at); }
};

// Devices' addresses lie beyond the host's.
template <class T> struct Argument<T *> {
    static T *of(void *at) { return reinterpret_cast<T *>(*static_cast<unsigned long long *>(at) - (1ull << 62)); }
};

template <unsigned... I> struct Numbers {};

template <class... A, unsigned... I> static void call(void (*f)(A...), void **arguments, Numbers<I...>) {
    f(Argument<A>::of(arguments[I])...);
}

template <class... A> static void call_all(void (*f)(A...), void **arguments) {
    call(f, arguments, Numbers<__integer_pack(sizeof...(A))...>());
}

extern "C" void host_call(void **arguments) { call_all(kernel, arguments); }
