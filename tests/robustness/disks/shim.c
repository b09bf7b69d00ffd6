/* Stands between a process and its file system, for files below one folder: counts calls, lets one of them fail, or keeps a
   record of what was written. Loaded by LD_PRELOAD; writers.py compiles and steers it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_length;
static volatile long armed, counter, hit_at, hit_error, is_lasting, record = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void shim_arm(const char *folder, long at, long error, long lasting, long descriptor) {
    strncpy(root, folder, sizeof root - 1);
    root_length = strlen(root);
    counter = 0, hit_at = at, hit_error = error, is_lasting = lasting, record = descriptor;
    armed = 1;
}

long shim_disarm(void) {
    armed = 0;
    return counter;
}

static int below(const char *path) { return strncmp(path, root, root_length) == 0 && strchr("/", path[root_length]); }

static void of_descriptor(int fd, char *found) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, found, PATH_MAX - 1);
    found[length < 0 ? 0 : length] = 0;
}

static void of_path(int folder, const char *path, char *found) {
    size_t length = 0;
    if (path[0] != '/') {
        if (folder == AT_FDCWD) {
            if (!getcwd(found, PATH_MAX)) found[0] = 0;
        } else
            of_descriptor(folder, found);
        length = strlen(found);
        found[length++] = '/';
    }
    snprintf(found + length, PATH_MAX - length, "%s", path);
}

static void put(const void *data, size_t size) {
    while (size > 0) {
        long done = syscall(SYS_write, (int)record, data, size);
        if (done <= 0) _exit(99);
        data = (const char *)data + done, size -= done;
    }
}

/* One line of a record: the call, its path, a second path or nothing, an offset, and so many bytes behind it. Where a file is
   made or opened, the offset is its inode: a library that renames by a system call of its own is found out by that. */
static void note(const char *call, const char *path, const char *second, long offset, const void *data, size_t size) {
    char line[2 * PATH_MAX + 128];
    if (record < 0) return;
    int length = snprintf(line, sizeof line, "%s\t%s\t%s\t%ld\t%zu\n", call, path, second, offset, size);
    put(line, length);
    put(data, size);
}

/* Count a call on a path; return whether it is to fail. Where only a list of calls is wanted (hit_at is -1), write it down. */
static int fails(const char *call, const char *path) {
    if (!armed || !below(path)) return 0;
    long number = __sync_add_and_fetch(&counter, 1);
    if (hit_at < 0) note(call, path, "", 0, "", 0);
    if (hit_at > 0 && hit_error > 0 && (number == hit_at || (is_lasting && number > hit_at))) {
        if (number > hit_at && (!strchr("wcrm", call[0]) || !strcmp(call, "read"))) return 0; /* a full disk can be read */
        errno = hit_error;
        return 1;
    }
    return 0;
}

#define PATHS(call, folder, path) \
    char own[PATH_MAX]; \
    of_path(folder, path, own); \
    if (fails(call, own)) return -1;
#define DESCRIPTOR(call, fd) \
    char own[PATH_MAX]; \
    int saved = errno; \
    own[0] = 0; \
    if (armed) of_descriptor(fd, own); \
    errno = saved; \
    if (fails(call, own)) return -1;
#define RECORDING (armed && record >= 0 && hit_at == 0 && below(own))

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char own[PATH_MAX];
    of_path(folder, path, own);
    if (armed && below(own) && fails(flags & O_CREAT ? "create" : flags & O_DIRECTORY ? "folder" : "open", own)) return -1;
    struct stat64 status;
    int is_new = (flags & O_CREAT) && RECORDING && syscall(SYS_newfstatat, AT_FDCWD, own, &status, AT_SYMLINK_NOFOLLOW) < 0;
    int fd = syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && RECORDING) {
        long inode = syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) < 0 ? 0 : (long)status.st_ino;
        note(is_new ? "create" : "open", own, "", inode, "", 0);
        if (!is_new && (flags & O_TRUNC)) note("truncate", own, "", 0, "", 0);
    }
    return fd;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        return opened(AT_FDCWD, path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        return opened(folder, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t size) {
    DESCRIPTOR("write", fd)
    if (armed && below(own) && hit_at == counter && hit_error == 0 && size > 1) size /= 2; /* a short write */
    long at = RECORDING ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = syscall(SYS_write, fd, data, size);
    if (done > 0 && RECORDING) note("write", own, "", at, data, done);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    DESCRIPTOR("write", fd)
    ssize_t done = syscall(SYS_pwrite64, fd, data, size, at);
    if (done > 0 && RECORDING) note("write", own, "", at, data, done);
    return done;
}

ssize_t read(int fd, void *data, size_t size) {
    DESCRIPTOR("read", fd)
    return syscall(SYS_read, fd, data, size);
}

#define SYNC(name, number) \
    int name(int fd) { \
        DESCRIPTOR("wsync", fd) \
        int done = syscall(number, fd); \
        if (done == 0 && RECORDING) note("sync", own, "", 0, "", 0); \
        return done; \
    }
SYNC(fsync, SYS_fsync)
SYNC(fdatasync, SYS_fdatasync)

static int renamed(int from, const char *old, int to, const char *new) {
    PATHS("rename", to, new)
    char first[PATH_MAX];
    of_path(from, old, first);
    int done = syscall(SYS_renameat2, from, old, to, new, 0);
    if (done == 0 && RECORDING) note("rename", first, own, 0, "", 0);
    return done;
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new); }
int renameat(int from, const char *old, int to, const char *new) { return renamed(from, old, to, new); }

static int removed(int folder, const char *path, int flags) {
    PATHS("unlink", folder, path)
    int done = syscall(SYS_unlinkat, folder, path, flags);
    if (done == 0 && RECORDING) note(flags & AT_REMOVEDIR ? "rmdir" : "unlink", own, "", 0, "", 0);
    return done;
}
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int folder, const char *path, int flags) { return removed(folder, path, flags); }

static int made(int folder, const char *path, mode_t mode) {
    PATHS("mkdir", folder, path)
    int done = syscall(SYS_mkdirat, folder, path, mode);
    if (done == 0 && RECORDING) note("mkdir", own, "", 0, "", 0);
    return done;
}
int mkdir(const char *path, mode_t mode) { return made(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { return made(folder, path, mode); }

int chmod(const char *path, mode_t mode) {
    PATHS("chmod", AT_FDCWD, path)
    return syscall(SYS_fchmodat, AT_FDCWD, path, mode);
}

int flock(int fd, int operation) {
    DESCRIPTOR("lock", fd)
    return syscall(SYS_flock, fd, operation);
}

DIR *opendir(const char *path) {
    char own[PATH_MAX];
    of_path(AT_FDCWD, path, own);
    if (fails("folder", own)) return NULL;
    return REAL(opendir)(path);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
    if (armed && fd >= 0) {
        char own[PATH_MAX];
        of_descriptor(fd, own);
        if (fails("open", own)) return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

#define STAT(name) \
    { \
        PATHS("stat", AT_FDCWD, path) \
        return REAL(name)(path, status); \
    }
int stat64(const char *path, struct stat64 *status) STAT(stat64)
int lstat64(const char *path, struct stat64 *status) STAT(lstat64)
int stat(const char *path, struct stat *status) STAT(stat)
int lstat(const char *path, struct stat *status) STAT(lstat)
