#include <uv.h>

/// Measures for how long polls wait (`uv_metrics_idle_time`). `uv_loop_configure` is variadic, which Swift does not import.
static inline int chatroom_measure_idle_time(uv_loop_t *loop) { return uv_loop_configure(loop, UV_METRICS_IDLE_TIME); }
