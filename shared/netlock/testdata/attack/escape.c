#include "attack.h"
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#ifdef __x86_64__
#include <sys/user.h>
#endif

static void escaped_if(int yes) { _exit(yes ? ESCAPED : HELD); }

static void held(const char *name, void (*f)(void)) {
	int st = in_child(f);
	errno = 0;
	check(name, !(WIFEXITED(st) && WEXITSTATUS(st) == ESCAPED), "status %#x", st);
}

#ifdef __x86_64__
// The 32-bit entry: socketcall and connect by their i386 numbers.
static void i386(void) {
	int s = socket(AF_INET, SOCK_STREAM, 0);
	uint32_t *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct sockaddr_in *a = (void *)(low + 16);
	*a = v4("127.0.0.1", target.evil);
	low[0] = s, low[1] = (uint32_t)(uintptr_t)a, low[2] = sizeof *a;
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(102), "b"(3), "c"((uint32_t)(uintptr_t)low) : "memory");
	if (r == 0) _exit(ESCAPED);
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(362), "b"(s), "c"((uint32_t)(uintptr_t)a), "d"(16) : "memory");
	escaped_if(r == 0);
}

static void i386_socket(void) { // a UDP socket by the 32-bit entry
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(359), "b"(AF_INET), "c"(SOCK_DGRAM), "d"(0) : "memory");
	escaped_if(r >= 0);
}

static void x32(void) {
	int s = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = v4("127.0.0.1", target.evil);
	escaped_if(syscall(0x40000000 | SYS_connect, s, &a, sizeof a) == 0);
}

static void x32_socket(void) { escaped_if(syscall(0x40000000 | SYS_socket, AF_INET, SOCK_DGRAM, 0) >= 0); }

static void x32_setsockopt(void) { // the x32 ABI has numbers of its own, too
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	escaped_if(syscall(0x40000000 | 541, s, 1, 62, &one, sizeof one) == 0);
}

static void traced(void) { // the tracer rewrites getppid into connect
	struct sockaddr_in a = v4("127.0.0.1", target.evil);
	int st, changed = 0, s = socket(AF_INET, SOCK_STREAM, 0);
	pid_t p = fork();
	if (!p) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0)) _exit(5);
		raise(SIGSTOP);
		syscall(SYS_getppid, s, &a, sizeof a);
		escaped_if(peer_port(s) > 0);
	}
	waitpid(p, &st, 0);
	if (!WIFSTOPPED(st)) _exit(WEXITSTATUS(st));
	for (;;) {
		struct user_regs_struct r;
		ptrace(PTRACE_SYSCALL, p, 0, 0);
		if (waitpid(p, &st, 0) < 0 || WIFEXITED(st)) break;
		ptrace(PTRACE_GETREGS, p, 0, &r);
		if (!changed && r.orig_rax == SYS_getppid) {
			r.orig_rax = SYS_connect;
			ptrace(PTRACE_SETREGS, p, 0, &r);
			changed = 1;
		}
	}
	_exit(WEXITSTATUS(st));
}
#endif

static int install(unsigned ret, unsigned flags) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ret), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

static void own_notify(void) {
	if (install(0x7fc00000, 0) < 0) _exit(4);
	escaped_if(dial_evil() >= 0);
}
static void own_trace(void) {
	if (install(SECCOMP_RET_TRACE, 0) < 0) _exit(4);
	escaped_if(dial_evil() >= 0);
}
static void own_allow(void) {
	if (install(SECCOMP_RET_ALLOW, 0) < 0) _exit(4);
	escaped_if(dial_evil() >= 0);
}
static void not_dumpable(void) {
	prctl(PR_SET_DUMPABLE, 0);
	escaped_if(dial_evil() >= 0);
}
static void vforked(void) {
	int st;
	pid_t p = vfork();
	if (!p) _exit(dial_evil() >= 0 ? ESCAPED : HELD);
	waitpid(p, &st, 0);
	_exit(WEXITSTATUS(st));
}
static void suspend(void) {
	pid_t p = fork();
	if (!p)
		for (;;) pause();
	long r = ptrace(PTRACE_SEIZE, p, 0, PTRACE_O_SUSPEND_SECCOMP);
	kill(p, SIGKILL);
	escaped_if(r == 0);
}

void attack_abi(void) {
#ifdef __x86_64__
	held("i386 connect", i386);
	held("i386 socket", i386_socket);
	held("x32 connect", x32);
	held("x32 socket", x32_socket);
	held("x32 setsockopt", x32_setsockopt);
	held("tracer rewrites a call", traced);
#endif
	held("vfork", vforked);
	held("not dumpable", not_dumpable);
}

void attack_filters(void) {
	errno = 0;
	int r = install(0x7fc00000, 8 /* NEW_LISTENER */);
	check("second listener", r < 0, "r=%d", r);
	held("own filter that notifies", own_notify);
	held("own filter that traces", own_trace);
	held("own filter that allows", own_allow);
	held("PTRACE_O_SUSPEND_SECCOMP", suspend);
}

static int evil_thread(void *unused) { _exit(dial_evil() >= 0); }

void attack_namespaces(void) {
	static char stack[1 << 16];
	char buf[256] = {0}, ch = 'x';
	int st;
	errno = 0;
	int r = unshare(CLONE_NEWUSER | CLONE_NEWNET);
	check("unshare user and net", r < 0 && errno == EPERM, "r=%d", r);
	struct clone_args ca = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	r = syscall(SYS_clone3, &ca, sizeof ca);
	if (r == 0) _exit(0);
	check("clone3", r < 0 && errno == ENOSYS, "r=%d", r);
	r = clone(evil_thread, stack + sizeof stack, CLONE_NEWUSER | SIGCHLD, 0);
	check("clone user", r < 0 && errno == EPERM, "r=%d", r);
	r = clone(evil_thread, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, 0);
	waitpid(r, &st, 0);
	errno = 0;
	check("clone sharing memory and files", WEXITSTATUS(st) == 0, "status %#x", st);
	int ns = open("/proc/1/ns/net", O_RDONLY);
	r = syscall(SYS_setns, ns, 0);
	check("setns", r < 0, "r=%d", r);
	r = syscall(SYS_request_key, "dns_resolver", "evil.example", 0, 0);
	check("request_key dns_resolver", r < 0 && errno == EPERM, "r=%d", r);
	r = syscall(SYS_bpf, 0, buf, 64);
	check("bpf", r < 0 && errno == EPERM, "r=%d", r);
	r = syscall(SYS_userfaultfd, 0);
	check("userfaultfd", r < 0 && errno == EPERM, "r=%d", r);
	r = ioctl(0, TIOCSTI, &ch);
	check("TIOCSTI", r < 0 && errno == EPERM, "r=%d", r);
	int disc = 1;
	r = ioctl(0, TIOCSETD, &disc);
	check("TIOCSETD", r < 0 && errno == EPERM, "r=%d", r);
	r = open("/dev/net/tun", O_RDWR);
	check("tunnel device", r < 0 || ioctl(r, 0x400454ca, buf) < 0, "descriptor %d", r);
	r = syscall(2000, 0, 0, 0);
	check("call of the future", r < 0 && errno == ENOSYS, "r=%d", r);
}
