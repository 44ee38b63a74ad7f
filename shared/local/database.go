package local

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"companyos/shared/store/embedded"
)

// startAgain is how long PostgreSQL is left alone after it could not be started.
const startAgain = 5 * time.Second

func (c *Company) postgres(port int) embedded.Config {
	return embedded.Config{
		Dir: filepath.Join(c.cfg.Data, "postgres"), Durable: !c.cfg.Throwaway, Port: port,
		Settings: map[string]string{"shared_buffers": "64MB", "max_connections": "50", "io_method": "sync"},
	}
}

// keepDatabase starts PostgreSQL again whenever it ended by itself: killed for memory, by a full disk, by hand. It comes back
// at its port, where the connections are made again. Until then requests are answered 503.
func (c *Company) keepDatabase(ctx context.Context) error {
	for c.database.Ended(ctx) == nil {
		c.cfg.Log.ErrorContext(ctx, "PostgreSQL has ended; it is started again", "log", filepath.Join(c.cfg.Data, "postgres", "server.log.1"))
		again, err := embedded.Start(ctx, c.postgres(c.database.Port))
		if err != nil {
			c.cfg.Log.ErrorContext(ctx, "PostgreSQL does not start; the next try is in a moment", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(startAgain):
			}
			continue
		}
		port := c.database.Port
		c.database = again
		if again.Port != port {
			return fmt.Errorf("another program has taken PostgreSQL's port %d; start again", port)
		}
	}
	return nil
}
