// Loaded in front of a program's C library: writes down, in their order, what the program changes in the files of one folder
// and when a sync of them began and ended. RECORDED is the folder, RECORD the file for the record.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static const char *folder;

static __attribute__((constructor)) void begin(void) {
  const char *path = getenv("RECORD");
  folder = getenv("RECORDED");
  if (path && folder) record = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_inside(const char *path) {
  if (record < 0) return 0;
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int path_of(int fd, char *path) {
  if (record < 0) return 0;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, 4095);
  if (length < 0) return 0;
  path[length] = 0;
  return is_inside(path);
}

struct head { char kind; char unused[3]; uint32_t path; uint64_t at; uint32_t bytes; uint32_t end; };

static void note(char kind, const char *path, uint64_t at, const void *data, uint32_t bytes) {
  struct head head = {.kind = kind, .path = (uint32_t)strlen(path), .at = at, .bytes = bytes};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)data, bytes}};
  if (syscall(SYS_writev, record, parts, 3) < 0) abort();
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                                     \
  int name(const char *path, int flags, ...) {                         \
    REAL(name);                                                        \
    va_list rest;                                                      \
    va_start(rest, flags);                                             \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;          \
    va_end(rest);                                                      \
    if (!(flags & O_CREAT) || !is_inside(path)) return real(path, flags, mode); \
    pthread_mutex_lock(&order);                                        \
    int is_new = access(path, F_OK) != 0;                              \
    int fd = real(path, flags, mode);                                  \
    if (fd >= 0 && is_new) note('c', path, 0, "", 0);                  \
    pthread_mutex_unlock(&order);                                      \
    return fd;                                                         \
  }
OPEN(open)
OPEN(open64)

#define PWRITE(name, offset_t)                                                   \
  ssize_t name(int fd, const void *data, size_t bytes, offset_t at) {            \
    REAL(name);                                                                  \
    char path[4096];                                                             \
    if (!path_of(fd, path)) return real(fd, data, bytes, at);                    \
    pthread_mutex_lock(&order);                                                  \
    ssize_t done = real(fd, data, bytes, at);                                    \
    if (done > 0) note('w', path, (uint64_t)at, data, (uint32_t)done);           \
    pthread_mutex_unlock(&order);                                                \
    return done;                                                                 \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t bytes) {
  REAL(write);
  char path[4096];
  if (!path_of(fd, path)) return real(fd, data, bytes);
  pthread_mutex_lock(&order);
  ssize_t done = real(fd, data, bytes);
  if (done > 0) note('w', path, (uint64_t)lseek(fd, 0, SEEK_CUR) - (uint64_t)done, data, (uint32_t)done);
  pthread_mutex_unlock(&order);
  return done;
}

#define TRUNCATE(name, offset_t)                    \
  int name(int fd, offset_t size) {                 \
    REAL(name);                                     \
    char path[4096];                                \
    if (!path_of(fd, path)) return real(fd, size);  \
    pthread_mutex_lock(&order);                     \
    int failed = real(fd, size);                    \
    if (!failed) note('t', path, (uint64_t)size, "", 0); \
    pthread_mutex_unlock(&order);                   \
    return failed;                                  \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

// The disk takes a while, so that other threads go on meanwhile; what it really does is of no interest here.
#define SYNC(name)                                 \
  int name(int fd) {                               \
    REAL(name);                                    \
    char path[4096];                               \
    if (!path_of(fd, path)) return real(fd);       \
    static uint64_t count;                         \
    uint64_t number = __sync_add_and_fetch(&count, 1); \
    pthread_mutex_lock(&order);                    \
    note('s', path, number, #name, sizeof #name);  \
    pthread_mutex_unlock(&order);                  \
    usleep(1500);                                  \
    pthread_mutex_lock(&order);                    \
    note('e', path, number, #name, sizeof #name);  \
    pthread_mutex_unlock(&order);                  \
    return 0;                                      \
  }
SYNC(fsync)
SYNC(fdatasync)

#define NAMES(name, kind)                                              \
  int name(const char *from, const char *to) {                         \
    REAL(name);                                                        \
    if (!is_inside(from)) return real(from, to);                       \
    pthread_mutex_lock(&order);                                        \
    int failed = real(from, to);                                       \
    if (!failed) note(kind, from, 0, to, (uint32_t)strlen(to));        \
    pthread_mutex_unlock(&order);                                      \
    return failed;                                                     \
  }
NAMES(rename, 'r')
NAMES(link, 'l')

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  REAL(linkat);
  if (!is_inside(from)) return real(from_folder, from, to_folder, to, flags);
  pthread_mutex_lock(&order);
  int failed = real(from_folder, from, to_folder, to, flags);
  if (!failed) note('l', from, 0, to, (uint32_t)strlen(to));
  pthread_mutex_unlock(&order);
  return failed;
}

int unlink(const char *path) {
  REAL(unlink);
  if (!is_inside(path)) return real(path);
  pthread_mutex_lock(&order);
  int failed = real(path);
  if (!failed) note('u', path, 0, "", 0);
  pthread_mutex_unlock(&order);
  return failed;
}
