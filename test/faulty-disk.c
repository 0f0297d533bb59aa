/*
 * A library to preload into a process. It intercepts the calls that write to disk.
 *
 * It makes calls fail. $FAULTY_DISK is a folder. Its file `faults` is read again at every call. Each of its lines is
 * `*|1 fsync|write|truncate PATH ERRNO` and fails these calls on files whose path ends with PATH: always, or with 1 once.
 *
 * It also tracks what would survive a power cut: $FAULTY_DISK/NAME holds the durable content of the database or log NAME.
 * A written page reaches it at the next fsync. If that fails, the page never does, because Linux then treats it as clean.
 * $FAULTY_DISK/NAME.dirty has a byte for each page that waits for an fsync.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { page_bytes = 4096, most_pages = 1 << 16 };

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *folder(void) { return getenv("FAULTY_DISK"); }

/* The errno with which this call fails on this file; 0 where it does not. */
static int fault(const char *call, const char *path) {
	char name[PATH_MAX], times[2], line_call[32], end[PATH_MAX];
	int number, found = 0;
	snprintf(name, sizeof name, "%s/faults", folder());
	FILE *file = fopen(name, "re");
	if (!file) return 0;
	while (!found && fscanf(file, "%1s %31s %4095s %d", times, line_call, end, &number) == 4) {
		size_t length = strlen(end), whole = strlen(path);
		if (!strcmp(line_call, call) && whole >= length && !strcmp(path + whole - length, end)) found = number;
	}
	fclose(file);
	if (found && times[0] == '1') REAL(unlink)(name);
	return found;
}

/* The path of a descriptor, if it is a database or its write-ahead log. */
static int database_path(int fd, char *path) {
	char link[64];
	if (!folder()) return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, PATH_MAX - 1);
	if (length < 0) return 0;
	path[length] = 0;
	return strstr(path, ".sqlite") && !strstr(path, "-shm");
}

static void image_name(const char *path, const char *suffix, char *name) {
	snprintf(name, PATH_MAX, "%s/%s%s", folder(), strrchr(path, '/') + 1, suffix);
}

/* The bytes that say which pages wait; shared with every process, and there after its end. */
static unsigned char *dirty_pages(const char *path) {
	char name[PATH_MAX];
	image_name(path, ".dirty", name);
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || REAL(ftruncate)(fd, most_pages)) abort();
	unsigned char *dirty = mmap(NULL, most_pages, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REAL(close)(fd);
	if (dirty == MAP_FAILED) abort();
	return dirty;
}

static void written(const char *path, off_t from, off_t to) {
	unsigned char *dirty = dirty_pages(path);
	for (off_t page = from / page_bytes; page * page_bytes < to; page++) {
		if (page >= most_pages) abort();
		dirty[page] = 1;
	}
	munmap(dirty, most_pages);
}

/* An fsync: what waits becomes durable, or is lost. */
static void synced(int fd, const char *path, int failed) {
	unsigned char *dirty = dirty_pages(path);
	if (!failed) {
		char name[PATH_MAX], page[page_bytes];
		struct stat file;
		image_name(path, "", name);
		int image = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (image < 0 || fstat(fd, &file)) abort();
		for (int number = 0; number < most_pages; number++) {
			if (!dirty[number]) continue;
			ssize_t got = pread(fd, page, sizeof page, (off_t)number * page_bytes);
			if (got > 0 && REAL(pwrite)(image, page, got, (off_t)number * page_bytes) != got) abort();
		}
		if (REAL(ftruncate)(image, file.st_size)) abort();
		REAL(close)(image);
	}
	memset(dirty, 0, most_pages);
	munmap(dirty, most_pages);
}

static int on_sync(int fd, int (*real)(int)) {
	char path[PATH_MAX];
	if (!database_path(fd, path)) return real(fd);
	pthread_mutex_lock(&mutex);
	int error = fault("fsync", path);
	synced(fd, path, error);
	pthread_mutex_unlock(&mutex);
	errno = error;
	return error ? -1 : 0;
}

int fsync(int fd) { return on_sync(fd, REAL(fsync)); }
int fdatasync(int fd) { return on_sync(fd, REAL(fdatasync)); }

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
	char path[PATH_MAX];
	if (!database_path(fd, path)) return REAL(pwrite)(fd, data, bytes, at);
	pthread_mutex_lock(&mutex);
	int error = fault("write", path);
	ssize_t done = error ? -1 : REAL(pwrite)(fd, data, bytes, at);
	if (done > 0) written(path, at, at + done);
	pthread_mutex_unlock(&mutex);
	if (error) errno = error;
	return done;
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at) { return pwrite(fd, data, bytes, at); }

ssize_t write(int fd, const void *data, size_t bytes) {
	char path[PATH_MAX];
	if (!database_path(fd, path)) return REAL(write)(fd, data, bytes);
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t done = pwrite(fd, data, bytes, at);
	if (done > 0) lseek(fd, at + done, SEEK_SET);
	return done;
}

int ftruncate(int fd, off_t length) {
	char path[PATH_MAX];
	if (!database_path(fd, path)) return REAL(ftruncate)(fd, length);
	pthread_mutex_lock(&mutex);
	int error = fault("truncate", path);
	int failed = error ? -1 : REAL(ftruncate)(fd, length);
	pthread_mutex_unlock(&mutex);
	if (error) errno = error;
	return failed;
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

/* A log that is deleted is gone at once; a file system may take some seconds for that. */
int unlink(const char *path) {
	if (folder() && strstr(path, ".sqlite")) {
		char name[PATH_MAX];
		for (int suffix = 0; suffix < 2; suffix++) {
			image_name(path, suffix ? ".dirty" : "", name);
			REAL(unlink)(name);
		}
	}
	return REAL(unlink)(path);
}
