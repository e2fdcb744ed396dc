// Squares, by threads of its own.
#include <algorithm>
#include <thread>
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(Squares, "(Tensor x) -> Tensor");

extern "C" int Squares(KERNEL_PARAMETERS) {
  constexpr int64_t kThreads = 3;
  const int64_t count = Count(ndims[0], shapes[0]), share = (count + kThreads - 1) / kThreads;
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  std::vector<std::thread> threads;
  for (int64_t first = 0; first < count; first += share) {
    threads.emplace_back([=] {
      for (int64_t i = first; i < std::min(first + share, count); ++i) y[i] = x[i] * x[i];
    });
  }
  for (std::thread &thread : threads) thread.join();
  return 0;
}
