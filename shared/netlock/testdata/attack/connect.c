#include "attack.h"
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/uio.h>

static void denied4(const char *ip, int port) {
	char name[80];
	struct sockaddr_in a = v4(ip, port);
	errno = 0;
	int r = dial(AF_INET, &a, sizeof a);
	snprintf(name, sizeof name, "connect %s", ip);
	check(name, r < 0, "peer port %d", r);
}

static void denied6(const char *ip, int port) {
	char name[80];
	struct sockaddr_in6 a = v6(ip, port);
	errno = 0;
	int r = dial(AF_INET6, &a, sizeof a);
	snprintf(name, sizeof name, "connect %s", ip);
	check(name, r < 0, "peer port %d", r);
}

static void addresses(void) {
	struct sockaddr_in a = v4("127.0.0.1", target.good);
	int r = dial(AF_INET, &a, sizeof a);
	check("allowed", r == target.good, "peer port %d", r);
	struct sockaddr_in6 m = v6("::ffff:127.0.0.1", target.good);
	r = dial(AF_INET6, &m, sizeof m);
	check("allowed, IPv4-mapped", r == target.good || errno == EAFNOSUPPORT, "peer port %d", r);
	denied4("127.0.0.1", target.evil);
	denied4("127.0.0.2", target.evil);
	denied4("127.0.0.2", target.good);
	denied4("0.0.0.0", target.evil);
	denied4("0.0.0.0", target.good);
	denied4("169.254.170.2", 80);
	denied4("169.254.169.254", 80);
	denied4("192.0.2.1", 443);
	denied4("255.255.255.255", target.good);
	denied6("::1", target.evil);
	denied6("::1", target.good);
	denied6("::ffff:127.0.0.1", target.evil);
	denied6("::", target.evil);
	denied6("2001:db8::1", 443);
	denied6("64:ff9b::7f00:1", target.good);
	denied6("::127.0.0.1", target.good);
	denied6("fe80::1", 443);
}

static void shapes(void) {
	struct sockaddr_in good = v4("127.0.0.1", target.good), evil = v4("127.0.0.1", target.evil), any = v4("0.0.0.0", 0);
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	char big[200] = {0};
	memcpy(big, &evil, sizeof evil);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	errno = 0;
	int r = connect(s, (void *)&evil, sizeof evil);
	check("non-blocking", r < 0 && errno != EINPROGRESS, "r=%d", r);
	close(s);
	s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	r = connect(s, (void *)&good, sizeof good);
	int e = errno;
	struct pollfd p = {s, POLLOUT, 0};
	poll(&p, 1, 2000);
	errno = e;
	check("allowed, non-blocking", (r == 0 || e == EINPROGRESS) && peer_port(s) == target.good, "r=%d", r);
	errno = 0;
	r = connect(s, &none, sizeof none);
	check("disconnect", r < 0, "r=%d", r);
	r = connect(s, (void *)&evil, sizeof evil);
	check("second connect", r < 0 && peer_port(s) != target.evil, "r=%d", r);
	close(s);
	s = socket(AF_INET, SOCK_STREAM, 0);
	bind(s, (void *)&any, sizeof any);
	r = connect(s, (void *)&evil, sizeof evil);
	check("connect after bind", r < 0, "r=%d", r);
	close(s);
	s = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t lengths[] = {100, 8, 0, 1 << 20, (socklen_t)-1};
	for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		errno = 0;
		r = connect(s, (void *)big, lengths[i]);
		check("connect, odd length", r < 0, "length %u r=%d", lengths[i], r);
	}
	r = connect(s, (void *)0xdead000, 16);
	check("connect, bad pointer", r < 0, "r=%d", r);
	r = syscall(SYS_connect, (long)s | 0x7700000000L, &evil, 16L | 0x100000000L);
	check("connect, garbage in high halves", r < 0 && peer_port(s) != target.evil, "r=%d", r);
	r = syscall(SYS_connect, -1, &good, 16);
	check("connect, descriptor -1", r < 0, "r=%d", r);
	r = connect(0, (void *)&good, 16);
	check("connect, descriptor no socket", r < 0, "r=%d", r);
	close(s);
}

static void fast_open(void) {
	struct sockaddr_in evil = v4("127.0.0.1", target.evil);
	char data[] = "GET / HTTP/1.0\r\n\r\n";
	struct iovec io = {data, sizeof data};
	struct msghdr m = {.msg_name = &evil, .msg_namelen = sizeof evil, .msg_iov = &io, .msg_iovlen = 1};
	struct mmsghdr mm = {m, 0};
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
	errno = 0;
	int r = sendto(s, data, sizeof data, MSG_FASTOPEN, (void *)&evil, sizeof evil);
	check("sendto with MSG_FASTOPEN", r < 0 && errno == EACCES, "r=%d", r);
	r = sendto(s, data, sizeof data, MSG_FASTOPEN, 0, 0);
	check("sendto with MSG_FASTOPEN, no address", r < 0 && errno == EACCES, "r=%d", r);
	r = sendmsg(s, &m, MSG_FASTOPEN | MSG_NOSIGNAL);
	check("sendmsg with MSG_FASTOPEN", r < 0 && errno == EACCES, "r=%d", r);
	r = sendmmsg(s, &mm, 1, MSG_FASTOPEN | MSG_NOSIGNAL);
	check("sendmmsg with MSG_FASTOPEN", r < 0 && errno == EACCES, "r=%d", r);
	r = sendmsg(s, &m, MSG_NOSIGNAL);
	check("sendmsg with an address", r < 0, "r=%d", r);
	r = sendto(s, data, sizeof data, MSG_NOSIGNAL, (void *)&evil, sizeof evil);
	check("sendto with an address", r < 0, "r=%d", r);
	close(s);
	s = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s, IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */, &one, sizeof one);
	r = connect(s, (void *)&evil, sizeof evil);
	check("TCP_FASTOPEN_CONNECT", r < 0, "r=%d", r);
	close(s);
}

void attack_connect(void) {
	addresses();
	shapes();
	fast_open();
}
