// Shows what a unit of work costs in CPU time when the CPU has rested before it: where others share the machine, caches
// are cold after a rest. Prints microseconds of CPU a unit.
//
//     cc -O1 -o /tmp/cold tools/benchmarks/sends/cold.c
//     for rest in 0 100 1000; do /tmp/cold 256 $rest; done
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t cpu_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: cold KILOBYTES REST_MICROSECONDS\n");
        return 2;
    }
    size_t places = strtoul(words[1], NULL, 10) * 1024 / 8;
    long rest = strtol(words[2], NULL, 10);
    uint64_t *table = calloc(places, sizeof *table);
    if (places == 0 || table == NULL) return 1;
    uint64_t state = 1;
    int units = rest > 0 ? 2000 : 20000;
    uint64_t begin = cpu_nanoseconds();
    for (int unit = 0; unit < units; unit++) {
        for (int step = 0; step < 5000; step++) {
            state = state * 6364136223846793005u + table[(state >> 20) % places];
            table[(state >> 30) % places] ^= state;
        }
        struct timespec pause = {0, rest * 1000};
        if (rest > 0) nanosleep(&pause, NULL);
    }
    uint64_t end = cpu_nanoseconds();
    printf("%s KB, rests of %ld us: %.1f us a unit (%u)\n", words[1], rest, (double)(end - begin) / 1000 / units,
        (unsigned)(state & 1));
    free(table);
    return 0;
}
