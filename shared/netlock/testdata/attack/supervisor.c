#include "attack.h"
#include <dirent.h>
#include <sys/ptrace.h>

static int opens(int pid, const char *file, int flags) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	errno = 0;
	int fd = open(path, flags);
	if (fd >= 0) close(fd);
	return fd >= 0;
}

// attack_inherited comes first: later there are descriptors of our own.
void attack_inherited(void) {
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int inherited = 0;
	while (d && (e = readdir(d))) {
		int n = atoi(e->d_name);
		if (n > 2 && n != dirfd(d)) inherited++;
	}
	check("no descriptor inherited", d && inherited == 0, "%d", inherited);
	closedir(d);
}

void attack_supervisor(void) {
	int pid = getppid();
	check("supervisor's memory", !opens(pid, "mem", O_RDWR), " ");
	check("supervisor's environment", !opens(pid, "environ", O_RDONLY), " ");
	check("supervisor's descriptors", !opens(pid, "fd", O_RDONLY | O_DIRECTORY), " ");
	errno = 0;
	int fd = syscall(SYS_pidfd_open, pid, 0), r = syscall(SYS_pidfd_getfd, fd, 3, 0);
	check("pidfd_getfd of the supervisor", r < 0, "r=%d", r);
	r = ptrace(PTRACE_SEIZE, pid, 0, 0);
	check("ptrace of the supervisor", r < 0, "r=%d", r);
	char here[32];
	struct { void *base; size_t len; } local = {here, sizeof here}, remote = {(void *)0x400000, sizeof here};
	r = syscall(SYS_process_vm_readv, pid, &local, 1L, &remote, 1L, 0L);
	check("process_vm_readv of the supervisor", r < 0, "r=%d", r);
	if (target.safe) {
		errno = 0;
		r = kill(pid, 0);
		check("signal to the supervisor", r < 0, "r=%d", r);
		char path[64];
		snprintf(path, sizeof path, "/proc/%d/task", pid);
		DIR *d = opendir(path);
		struct dirent *t;
		int reached = 0;
		while (d && (t = readdir(d)))
			if (t->d_name[0] != '.' && syscall(SYS_tgkill, pid, atoi(t->d_name), 0) == 0) reached++;
		check("signal to its threads", reached == 0, "%d", reached);
	}
}

// attack_user: an unlocked process of the same user.
void attack_user(void) {
	if (!target.victim) return;
	check("memory of an unlocked process", !opens(target.victim, "mem", O_RDWR), " ");
	check("environment of an unlocked process", !opens(target.victim, "environ", O_RDONLY), " ");
	check("descriptor of an unlocked process", !opens(target.victim, "fd/0", O_RDONLY), " ");
	errno = 0;
	int r = ptrace(PTRACE_SEIZE, target.victim, 0, 0);
	check("ptrace of an unlocked process", r < 0, "r=%d", r);
	if (target.safe) {
		errno = 0;
		r = kill(target.victim, 0);
		check("signal to an unlocked process", r < 0, "r=%d", r);
	}
	char path[300];
	snprintf(path, sizeof path, "%s/../c-outside", target.dir);
	errno = 0;
	r = open(path, O_WRONLY | O_CREAT, 0600);
	check("write outside the allowed paths", r < 0, "descriptor %d", r);
}
