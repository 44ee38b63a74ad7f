package agent

import (
	"context"
	"io"

	"companyos/shared/gitcmd"
)

// git runs git for the supervisor, in the environment and with the configuration of gitcmd alone.
type git struct {
	path string // of the program
	home string // an empty directory
	user *User  // whom it runs as
	cell *cell  // once there was an agent; it has the same user
	own  *children
	pass []string // "NAME=value" of the operator's proxy and certificate settings, for the network alone
}

// gitCall is one command.
type gitCall struct {
	args   []string
	dir    string
	env    []string    // beside the fixed environment
	config [][2]string // beside the fixed configuration; never in an argument, which everybody may read
	stdin  io.Reader
	stdout io.Writer
}

func (g git) run(ctx context.Context, c gitCall) ([]byte, error) {
	return child{
		args: append([]string{g.path}, c.args...), dir: c.dir, user: g.user, cell: g.cell, own: g.own, stdin: c.stdin, stdout: c.stdout,
		env: append(gitcmd.Environment(g.home, c.config), c.env...),
	}.run(ctx)
}
