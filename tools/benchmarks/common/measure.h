// Clocks, a latency histogram, and what a process has used of the machine (from /proc).
#ifndef BENCHMARKS_MEASURE_H
#define BENCHMARKS_MEASURE_H

#include <dirent.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Prints a message and ends the program with exit code 1.
__attribute__((noreturn, format(printf, 1, 2))) static inline void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// CPU time of this process.
static inline uint64_t own_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Log-linear histogram of nanoseconds: 64 buckets for each power of two, so an error of at most 1.6 %.
enum { HISTOGRAM_SUB_BITS = 6, HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS };
struct histogram {
    uint64_t count, max, buckets[HISTOGRAM_BUCKETS];
};

static inline void histogram_add(struct histogram *h, uint64_t ns) {
    size_t index = (size_t)ns;
    if (ns >> HISTOGRAM_SUB_BITS) {
        int shift = 63 - __builtin_clzll(ns) - HISTOGRAM_SUB_BITS;
        index = ((size_t)(shift + 1) << HISTOGRAM_SUB_BITS) + (size_t)((ns >> shift) & ((1u << HISTOGRAM_SUB_BITS) - 1));
    }
    h->buckets[index]++;
    h->count++;
    if (ns > h->max) h->max = ns;
}

// The value below which `fraction` of all lie, in nanoseconds (upper end of its bucket); 0 when empty.
static inline uint64_t histogram_quantile(const struct histogram *h, double fraction) {
    uint64_t wanted = (uint64_t)(fraction * (double)h->count), seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen <= wanted || h->buckets[i] == 0) continue;
        if (i >> HISTOGRAM_SUB_BITS == 0) return i;
        int shift = (int)(i >> HISTOGRAM_SUB_BITS) - 1;
        uint64_t low = ((uint64_t)(i & ((1u << HISTOGRAM_SUB_BITS) - 1)) + (1u << HISTOGRAM_SUB_BITS)) << shift;
        uint64_t high = low + ((uint64_t)1 << shift) - 1;
        return high < h->max ? high : h->max;
    }
    return h->max;
}

// The resources that a process has used since it began.
struct usage {
    uint64_t cpu_ns;   // of all its living threads, from schedstat: exact
    uint64_t user_ns;  // in user mode, in ticks of the kernel's clock (10 ms)
    uint64_t threads;
};

static inline struct usage process_usage(int pid) {
    struct usage usage = {0};
    if (pid <= 0) return usage;
    char path[128], line[1024];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks) die("there is no process %d", pid);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", pid, entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;  // the thread has ended meanwhile
        unsigned long long run;
        if (fscanf(file, "%llu", &run) == 1) usage.cpu_ns += run, usage.threads++;
        fclose(file);
    }
    closedir(tasks);

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) die("there is no process %d", pid);
    // The second field is the name in parentheses and may hold anything: count from the last ')'.
    if (fgets(line, sizeof line, file)) {
        char *rest = strrchr(line, ')');
        unsigned long long ticks;
        if (rest && sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu", &ticks) == 1)
            usage.user_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    }
    fclose(file);
    return usage;
}

// Resident memory of a process in KB.
static inline long process_resident_kb(int pid) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    if (!file) die("there is no process %d", pid);
    long kb = -1;
    while (kb < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kb) != 1) kb = -1;
    fclose(file);
    return kb;
}

#endif
