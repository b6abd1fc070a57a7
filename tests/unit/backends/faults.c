/* Preloaded into a process (LD_PRELOAD): the n-th call that changes files kills it, or fails.

   Counted are the calls by which Python and the C library change files; a call that only reads
   leaves nothing that the one before it has not left. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls, fatal; /* counted so far; which one is at fault, 0: none */
static int error;         /* its errno; 0: the process is killed */
static int lasting;       /* whether later calls that need space fail, too */
static int exchange = 1;  /* whether the file system exchanges folders */

long fault_calls(void) { return calls; }
void fault_exchange(int can) { exchange = can; }

void fault_at(long which, int with, int from_then_on) {
    calls = 0;
    fatal = which;
    error = with;
    lasting = from_then_on;
}

static int fails(int needs_space) {
    calls++;
    if (fatal == 0 || calls < fatal || (calls > fatal && !(lasting && needs_space))) return 0;
    if (error == 0) kill(getpid(), SIGKILL);
    errno = error;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PASS(type, name, space, parameters, ...)                 \
    type name parameters {                                       \
        if (fails(space)) return -1;                             \
        return NEXT(name)(__VA_ARGS__);                          \
    }
#define OPEN(name, first, ...)                                   \
    int name first {                                             \
        mode_t mode = 0;                                         \
        if (flags & (O_CREAT | __O_TMPFILE)) {                   \
            va_list rest;                                        \
            va_start(rest, flags);                               \
            mode = va_arg(rest, mode_t);                         \
            va_end(rest);                                        \
            if (fails(1)) return -1;                             \
        }                                                        \
        return NEXT(name)(__VA_ARGS__, mode);                    \
    }

OPEN(open, (const char *path, int flags, ...), path, flags)
OPEN(open64, (const char *path, int flags, ...), path, flags)
OPEN(openat, (int at, const char *path, int flags, ...), at, path, flags)
OPEN(openat64, (int at, const char *path, int flags, ...), at, path, flags)
PASS(int, mkdir, 1, (const char *path, mode_t mode), path, mode)
PASS(int, mkdirat, 1, (int at, const char *path, mode_t mode), at, path, mode)
PASS(int, rename, 1, (const char *from, const char *to), from, to)
PASS(int, renameat, 1, (int a, const char *from, int b, const char *to), a, from, b, to)
PASS(int, unlink, 0, (const char *path), path)
PASS(int, unlinkat, 0, (int at, const char *path, int flags), at, path, flags)
PASS(int, rmdir, 0, (const char *path), path)
PASS(int, chmod, 0, (const char *path, mode_t mode), path, mode)
PASS(int, fchmod, 0, (int file, mode_t mode), file, mode)
PASS(int, ftruncate, 1, (int file, off_t size), file, size)
PASS(int, ftruncate64, 1, (int file, off_t size), file, size)
PASS(int, fsync, 1, (int file), file)
PASS(int, flock, 0, (int file, int operation), file, operation)
PASS(ssize_t, write, 1, (int file, const void *data, size_t size), file, data, size)
PASS(ssize_t, writev, 1, (int file, const struct iovec *data, int count), file, data, count)

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    if (fails(1)) return -1;
    if (flags && !exchange) {
        errno = EINVAL;
        return -1;
    }
    return NEXT(renameat2)(a, from, b, to, flags);
}

int close(int file) {
    int failed = fails(0), status = NEXT(close)(file); /* a close that fails has closed */
    return failed ? -1 : status;
}
