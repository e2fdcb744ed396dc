// Does not compile: an attribute has no type `int`.
#include "custom_aot_extra.h"

extern "C" int Narrow(int, void **, int *, int64_t **, const char **, void *, void *extra) {
  return static_cast<AotExtra *>(extra)->Attr<WRONG>("axis") != WRONG();
}
