#include "attack.h"
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>

static volatile int stop;
static volatile struct sockaddr_in flipped;
static int pair[2], flipping;
static char path_good[200], path_link[200], path_flip[200];

// Both flip an odd number of times and then yield, so that each state is seen
// as often: without yielding, the one that races waits for its turn on a busy
// machine, not for the lock.
static void *flip_address(void *unused) {
	for (unsigned n = 0; !stop; n++) {
		flipped.sin_port = htons(n & 1 ? target.good : target.evil);
		if (n % 101 == 0) sched_yield();
	}
	return 0;
}

static void *flip_descriptor(void *unused) {
	for (unsigned n = 0; !stop; n++) {
		dup2(pair[n & 1], flipping);
		if (n % 21 == 0) sched_yield();
	}
	return 0;
}

// A name that is now a socket, now a link to one outside.
static void *flip_path(void *unused) {
	while (!stop) {
		unlink(path_flip);
		if (link(path_good, path_flip)) continue;
		unlink(path_flip);
		if (symlink(path_link, path_flip)) continue;
		sched_yield();
	}
	return 0;
}

static pthread_t begin(void *(*f)(void *)) {
	pthread_t t;
	stop = 0;
	pthread_create(&t, 0, f, 0);
	return t;
}

static void end(pthread_t t) {
	stop = 1;
	pthread_join(t, 0);
	errno = 0;
}

void race_address(int seconds) {
	flipped.sin_family = AF_INET;
	flipped.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	pthread_t t = begin(flip_address);
	long tries = 0, allowed = 0, wins = 0;
	for (time_t last = time(0) + seconds; time(0) < last; tries++) {
		int s = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s, (void *)&flipped, sizeof flipped) == 0) peer_port(s) == target.good ? allowed++ : wins++;
		close(s);
	}
	end(t);
	check("race: address", wins == 0 && allowed > 0, "tries=%ld allowed=%ld wins=%ld", tries, allowed, wins);
}

void race_descriptor(int seconds) {
	struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/nonexistent/x"};
	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	pair[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	flipping = dup(pair[1]);
	pthread_t t = begin(flip_descriptor);
	long tries = 0, wins = 0;
	for (time_t last = time(0) + seconds; time(0) < last; tries++) {
		int accepts = 0;
		socklen_t l = sizeof accepts;
		connect(flipping, (void *)&nowhere, sizeof nowhere);
		listen(flipping, 1);
		getsockopt(pair[0], SOL_SOCKET, SO_ACCEPTCONN, &accepts, &l);
		if (accepts || peer_port(pair[0]) > 0) wins++;
	}
	end(t);
	check("race: descriptor", wins == 0 && tries > 0, "tries=%ld wins=%ld", tries, wins);
}

static void on_alarm(int unused) {}

static int descriptors(void) {
	int n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (readdir(d)) n++;
	closedir(d);
	return n;
}

static int connects(void) {
	struct sockaddr_in a = v4("127.0.0.1", target.good);
	int s = socket(AF_INET, SOCK_STREAM, 0), r = connect(s, (void *)&a, sizeof a), e = errno;
	r = r == 0 && peer_port(s) == target.good;
	close(s);
	errno = e;
	return r;
}

// usual is how long a connect takes here, in microseconds.
static long usual(void) {
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 50; i++) connects();
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((end.tv_sec - begin.tv_sec) * 1000000L + (end.tv_nsec - begin.tv_nsec) / 1000) / 50;
}

// A signal in the midst of most connects. Linux before 5.14 can lose the
// descriptor of a socket whose making a signal ended; later ones lose none.
void race_signals(int seconds) {
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct utsname u;
	int major = 0, minor = 0, error = 0, before = descriptors();
	long fine = 0, failed = 0, every = usual() * 2 / 3;
	if (every > 900000) every = 900000;
	struct itimerval often = {{0, every}, {0, every}}, never = {{0, 0}, {0, 0}};
	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	sigaction(SIGALRM, &action, 0);
	setitimer(ITIMER_REAL, &often, 0);
	for (time_t last = time(0) + seconds; time(0) < last;) connects() ? fine++ : (failed++, error = errno);
	setitimer(ITIMER_REAL, &never, 0);
	int lost = descriptors() - before;
	errno = error;
	check("race: signals", failed == 0 && fine > 0 && lost <= (major * 1000 + minor < 5014 ? fine / 20 : 0),
		"every %ld us: connected=%ld failed=%ld descriptors lost=%d", every, fine, failed, lost);
}

void race_unix_path(int seconds) {
	struct sockaddr_un a = {.sun_family = AF_UNIX}, own = {.sun_family = AF_UNIX};
	snprintf(path_good, sizeof path_good, "%s/c-good", target.dir);
	snprintf(path_flip, sizeof path_flip, "%s/c-flip", target.dir);
	snprintf(path_link, sizeof path_link, "%s/../outside-%d", target.dir, target.evil); // a server of the test's
	strcpy(own.sun_path, path_good);
	strcpy(a.sun_path, path_flip);
	int server = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(server, (void *)&own, sizeof own) || listen(server, 1024)) perror("own server");
	pthread_t t = begin(flip_path);
	long tries = 0, reached = 0, wins = 0;
	for (time_t last = time(0) + seconds; time(0) < last; tries++) {
		int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(s, (void *)&a, sizeof a) == 0) {
			struct sockaddr_un peer;
			socklen_t l = sizeof peer;
			getpeername(s, (void *)&peer, &l);
			strcmp(peer.sun_path, path_good) ? wins++ : reached++;
			close(accept(server, 0, 0));
		}
		close(s);
	}
	end(t);
	check("race: unix path", wins == 0 && tries > 0, "tries=%ld reached=%ld wins=%ld", tries, reached, wins);
}
