// The first fault is told.
static inline void fail(uint32_t *status, uint32_t fault, int64_t found) {
    if (status[0] != 0) return;
    status[0] = fault;
    status[1] = (uint32_t)found;
    status[2] = (uint32_t)((uint64_t)found >> 32);
}
