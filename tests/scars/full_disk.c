/* Preloaded into a worker: while the file named by FULL_DISK exists, the disk of its store is
   full. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Applies to files whose names contain that of the store. */
static int is_full(int file) {
  const char *sign = getenv("FULL_DISK");
  char link[32], name[4096];
  ssize_t length;
  if (!sign || access(sign, F_OK) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  length = readlink(link, name, sizeof name - 1);
  if (length < 0) return 0;
  name[length] = '\0';
  return strstr(name, "state.db") != NULL;
}

#define WRITES(name, parameters, arguments)                                      \
  ssize_t name parameters {                                                      \
    static ssize_t(*real) parameters;                                            \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                        \
    if (is_full(file)) return errno = ENOSPC, -1;                                \
    return real arguments;                                                       \
  }

WRITES(write, (int file, const void *bytes, size_t count), (file, bytes, count))
WRITES(pwrite, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
WRITES(pwrite64, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
