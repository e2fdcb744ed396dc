// The first thread that finds a fault tells what it found.
static inline void fail(uint32_t *status, uint32_t fault, int64_t found) {
    if (atomicCAS(status, 0u, fault) != 0u) return;
    status[1] = (uint32_t)found;
    status[2] = (uint32_t)((uint64_t)found >> 32);
}
