// usage: attack matrix|address|descriptor|signals|path GOOD EVIL DIR VICTIM SAFE SERVE SECONDS
#include "attack.h"
#include <stdarg.h>

struct target target;
static int good, bad;

void check(const char *name, int pass, const char *format, ...) {
	int e = errno;
	va_list args;
	char detail[200];
	va_start(args, format);
	vsnprintf(detail, sizeof detail, format, args);
	va_end(args);
	printf("%-5s %-42s %s (errno %d %s)\n", pass ? "ok" : "HOLE", name, detail, e, strerror(e));
	fflush(stdout);
	pass ? good++ : bad++;
}

struct sockaddr_in v4(const char *ip, int port) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, ip, &a.sin_addr);
	return a;
}

struct sockaddr_in6 v6(const char *ip, int port) {
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	inet_pton(AF_INET6, ip, &a.sin6_addr);
	return a;
}

int peer_port(int s) {
	struct sockaddr_storage a;
	socklen_t l = sizeof a;
	if (getpeername(s, (void *)&a, &l)) return -1;
	return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

int dial(int family, const void *addr, socklen_t len) {
	int s = socket(family, SOCK_STREAM, 0);
	if (s < 0) return -1;
	int r = connect(s, addr, len), e = errno, port = r == 0 ? peer_port(s) : -1;
	close(s);
	errno = r == 0 ? 0 : e;
	return port;
}

int dial_evil(void) {
	struct sockaddr_in a = v4("127.0.0.1", target.evil);
	return dial(AF_INET, &a, sizeof a);
}

int in_child(void (*f)(void)) {
	int st;
	fflush(stdout);
	pid_t p = fork();
	if (p == 0) {
		f();
		_exit(0);
	}
	if (p < 0 || waitpid(p, &st, 0) < 0) return ESCAPED << 8;
	return st;
}

int main(int n, char **arg) {
	if (n != 9) return 2;
	target = (struct target){atoi(arg[2]), atoi(arg[3]), arg[4], atoi(arg[5]), atoi(arg[6]), atoi(arg[7])};
	int seconds = atoi(arg[8]);
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(arg[1], "matrix")) {
		attack_inherited();
		attack_connect();
		attack_sockets();
		attack_serving();
		attack_abi();
		attack_filters();
		attack_namespaces();
		attack_supervisor();
		attack_user();
	} else if (!strcmp(arg[1], "address")) {
		race_address(seconds);
	} else if (!strcmp(arg[1], "descriptor")) {
		race_descriptor(seconds);
	} else if (!strcmp(arg[1], "signals")) {
		race_signals(seconds);
	} else if (!strcmp(arg[1], "path")) {
		race_unix_path(seconds);
	}
	printf("RESULT ok=%d HOLES=%d\n", good, bad);
	return bad != 0 || good == 0;
}
