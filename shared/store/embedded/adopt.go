package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var errStarting = errors.New("it is not ready")

// adopt waits until the server of the folder, if there is one, answers or ends: it may be starting, recovering or
// shutting down.
func (s *Server) adopt(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		alive, err := s.alive()
		if !alive || err != nil {
			return false, err
		}
		err = errStarting
		if p, found := readPidFile(s.data()); found && p.ready {
			s.Pid, s.Port = p.pid, p.port
			err = s.login(ctx)
		}
		if err == nil {
			return true, nil
		}
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == "28P01" { // invalid_password: no waiting mends that
			return false, fmt.Errorf("the file password is not the server's, put the right one back or begin with another folder: %w", err)
		}
		if sleep(ctx) != nil {
			return false, fmt.Errorf("a server holds the folder but does not answer, look at %s or end process %d: %w", s.log(), s.Pid, err)
		}
	}
}

// login proves that the server at the port is the one of this folder and takes connections.
func (s *Server) login(ctx context.Context) error {
	c, err := pgx.Connect(ctx, s.URL(superuser, "postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	var data string
	if err := c.QueryRow(ctx, "show data_directory").Scan(&data); err != nil {
		return err
	}
	if data != s.data() {
		return fmt.Errorf("port %d belongs to the server of %s", s.Port, data)
	}
	return nil
}
