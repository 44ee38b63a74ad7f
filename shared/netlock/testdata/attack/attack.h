// The attack matrix: what Go cannot do well (other ABIs, vfork, shared address
// spaces, tracing) and, for comparison, all of the rest, in C.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MSG_FASTOPEN
#define MSG_FASTOPEN 0x20000000
#endif

// What the attacker was told: the port that may be reached, one that may not,
// a directory whose unix sockets may be reached, an unlocked process of the
// same user (0: the user is another one), whether the supervisor is safe from
// signals, whether loopback servers are allowed.
struct target {
	int good, evil;
	const char *dir;
	int victim, safe, serve;
};
extern struct target target;

// check reports one attack; pass means that it failed.
void check(const char *name, int pass, const char *format, ...) __attribute__((format(printf, 3, 4)));

struct sockaddr_in v4(const char *ip, int port);
struct sockaddr_in6 v6(const char *ip, int port);
int peer_port(int s);                                        // -1: not connected
int dial(int family, const void *addr, socklen_t len);       // the peer's port, or -1
int dial_evil(void);
int in_child(void (*f)(void));                               // its wait status

#define ESCAPED 7 // exit status of a child that got out
#define HELD 3

void attack_inherited(void);
void attack_connect(void);
void attack_sockets(void);
void attack_serving(void);
void attack_abi(void);
void attack_filters(void);
void attack_namespaces(void);
void attack_supervisor(void);
void attack_user(void);

void race_address(int seconds);
void race_descriptor(int seconds);
void race_signals(int seconds);
void race_unix_path(int seconds);
