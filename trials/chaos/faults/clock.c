/* The time of day of a process and of all that it starts, as far ahead as a file says. `clocks.py` loads it.

   Only the time of day is another one, as on a host whose clock was set: what counts seconds goes on as before. Waits
   until a time of day are turned into the host's, and an offset that changes while one of them goes on comes too late
   for it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EARLIEST_TIME_OF_DAY_S 1000000000 /* seconds since the host started are fewer, and those since 1970 more */

static const volatile int64_t *file_ahead_us;

__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("COINCIDE_CHAOS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *file_ahead_us, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) file_ahead_us = mapped;
    close(file);
}

static void add_us(struct timespec *at, int64_t us) {
    int64_t ns = at->tv_nsec + us % 1000000 * 1000;
    at->tv_sec += us / 1000000 + (ns >= 1000000000) - (ns < 0);
    at->tv_nsec = (ns + 1000000000) % 1000000000;
}

static int64_t ahead_us(void) { return file_ahead_us ? *file_ahead_us : 0; }

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*of_host)(clockid_t, struct timespec *);
    if (!of_host) of_host = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = of_host(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) add_us(at, ahead_us());
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    (void)zone; /* nobody has used it for decades, and glibc fills it with zeros */
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    static int (*of_host)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!of_host) of_host = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!of_host) of_host = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    struct timespec of_host_until = *until;
    if (until->tv_sec > EARLIEST_TIME_OF_DAY_S) add_us(&of_host_until, -ahead_us());
    return of_host(condition, mutex, &of_host_until);
}
