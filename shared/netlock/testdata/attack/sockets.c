#include "attack.h"

static void options(void) {
	static const struct {
		const char *name;
		int level, option;
	} list[] = {
		{"IP_OPTIONS", 0, 4}, {"IP_TRANSPARENT", 0, 19}, {"IP_HDRINCL", 0, 3}, {"IP_UNICAST_IF", 0, 50},
		{"IPV6_RTHDR", 41, 57}, {"IPV6_2292PKTOPTIONS", 41, 6}, {"SO_BINDTODEVICE", 1, 25},
		{"SO_BINDTOIFINDEX", 1, 62}, {"SO_MARK", 1, 36}, {"SO_ATTACH_FILTER", 1, 26}, {"TCP_REPAIR", 6, 19},
		{"TCP_ULP", 6, 31}, {"TCP_MD5SIG", 6, 14}, {"SOL_MPTCP", 284, 1}, {"SOL_SCTP", 132, 110},
	};
	unsigned char source_route[8] = {131, 7, 4, 127, 0, 0, 9, 0};
	int s = socket(AF_INET, SOCK_STREAM, 0);
	for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
		char name[64];
		errno = 0;
		int r = setsockopt(s, list[i].level, list[i].option, source_route, sizeof source_route);
		snprintf(name, sizeof name, "setsockopt %s", list[i].name);
		check(name, r < 0 && errno == EPERM, "r=%d", r);
	}
	close(s);
}

static void kinds(void) {
	static const struct {
		const char *name;
		long family, type, protocol;
	} list[] = {
		{"UDP", AF_INET, SOCK_DGRAM, 0}, {"UDP6", AF_INET6, SOCK_DGRAM, 0},
		{"UDP, garbage above", AF_INET | 1L << 32, SOCK_DGRAM | 1L << 40, 0},
		{"UDP, stream above", AF_INET, 1L << 32 | SOCK_DGRAM, 0}, {"ping", AF_INET, SOCK_DGRAM, 1},
		{"raw", AF_INET, SOCK_RAW, 1}, {"raw6", AF_INET6, SOCK_RAW, 58}, {"packet", AF_PACKET, SOCK_RAW, 0},
		{"SOCK_PACKET", AF_INET, 10, 0}, {"MPTCP", AF_INET, SOCK_STREAM, 262}, {"SCTP", AF_INET, SOCK_STREAM, 132},
		{"SCTP seqpacket", AF_INET, SOCK_SEQPACKET, 132}, {"vsock", 40, SOCK_STREAM, 0},
		{"vsock datagram", 40, SOCK_DGRAM, 0}, {"alg", 38, SOCK_SEQPACKET, 0}, {"XDP", 44, SOCK_RAW, 0},
		{"SMC", 43, SOCK_STREAM, 0}, {"SMC over IPv4", AF_INET, SOCK_STREAM, 256}, {"TIPC", 30, SOCK_STREAM, 0},
		{"RDS", 21, SOCK_SEQPACKET, 0}, {"bluetooth", 31, SOCK_STREAM, 0}, {"CAN", 29, SOCK_RAW, 1},
		{"netlink audit", 16, SOCK_RAW, 9}, {"netlink sock_diag", 16, SOCK_RAW, 4}, {"unix datagram", AF_UNIX, SOCK_DGRAM, 0},
	};
	for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
		char name[64];
		errno = 0;
		long s = syscall(SYS_socket, list[i].family, list[i].type, list[i].protocol);
		snprintf(name, sizeof name, "socket %s", list[i].name);
		check(name, s < 0, "descriptor %ld", s);
		if (s >= 0) close(s);
	}
	int sv[2];
	errno = 0;
	int r = socketpair(AF_UNIX, SOCK_DGRAM, 0, sv);
	check("socketpair, datagram", r < 0, "r=%d", r);
	r = socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
	check("socketpair, stream, is allowed", r == 0, "r=%d", r);
	char params[256] = {0};
	errno = 0;
	r = syscall(425, 8, params);
	check("io_uring_setup", r < 0 && errno == ENOSYS, "r=%d", r);
}

// own_server connects to a unix server of the attacker's own.
static void own_server(void) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof a.sun_path, "%s/c-own", target.dir);
	unlink(a.sun_path);
	int server = socket(AF_UNIX, SOCK_STREAM, 0), s = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(server, (void *)&a, sizeof a) || listen(server, 5) || connect(s, (void *)&a, sizeof a)) {
		check("own unix server", 0, "not reached");
		return;
	}
	struct ucred c = {0};
	socklen_t l = sizeof c;
	int peer = accept(server, 0, 0);
	getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &c, &l);
	check("own unix server, peer is own user", c.uid == getuid(), "uid %d", c.uid);
	close(peer), close(s), close(server);
}

static void unix_paths(void) {
	char link[200], path[300];
	snprintf(link, sizeof link, "%s/c-link", target.dir);
	unlink(link);
	if (symlink("/var/run/docker.sock", link)) perror("symlink");
	snprintf(path, sizeof path, "%s/../../../var/run/docker.sock", target.dir);
	const char *list[] = {"/var/run/docker.sock", link, path, "relative"};
	for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
		struct sockaddr_un a = {.sun_family = AF_UNIX};
		strncpy(a.sun_path, list[i], sizeof a.sun_path - 1);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		errno = 0;
		int r = connect(s, (void *)&a, sizeof a);
		check("unix path outside", r < 0, "%s", list[i]);
		close(s);
	}
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "\0evil"};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	errno = 0;
	int r = connect(s, (void *)&a, offsetof(struct sockaddr_un, sun_path) + 5);
	check("abstract unix", r < 0 && errno == EACCES, "r=%d", r);
	close(s);
}

void attack_sockets(void) {
	options();
	kinds();
	unix_paths();
	own_server();
}

void attack_serving(void) {
	struct sockaddr_in any = v4("0.0.0.0", 0), good = v4("127.0.0.1", target.good), at = {0};
	socklen_t l = sizeof at;
	int s = socket(AF_INET, SOCK_STREAM, 0);
	errno = 0;
	int r = listen(s, 5);
	check("listen, not bound", r < 0, "r=%d", r);
	int b = bind(s, (void *)&any, sizeof any);
	r = listen(s, 5);
	getsockname(s, (void *)&at, &l);
	check("listen everywhere", target.serve ? r == 0 && at.sin_addr.s_addr == htonl(INADDR_LOOPBACK) : b < 0 && r < 0, "bind %d listen %d", b, r);
	if (target.serve) check("own server", dial(AF_INET, &at, sizeof at) == ntohs(at.sin_port), "port %d", ntohs(at.sin_port));
	close(s);
	s = socket(AF_INET, SOCK_STREAM, 0);
	errno = 0;
	r = bind(s, (void *)&good, sizeof good);
	check("bind the allowed port", r < 0 && errno == EACCES, "r=%d", r);
	close(s);
}
