package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"companyos/shared/api"
	"companyos/shared/executor"
)

// developmentSecret signs the tokens of development users. It is made once and kept, so that a token outlives a restart.
func (c *Company) developmentSecret() (string, error) {
	path := filepath.Join(c.cfg.Data, "token-secret")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		raw = []byte(rand.Text() + rand.Text())
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("the data folder cannot be used; choose another one with -data or COMPANY_DATA: %w", err)
	}
	return string(raw), nil
}

// MemberScopes are what a development user may do: everything but administration.
func MemberScopes() []string {
	var scopes []string
	for _, resource := range []string{"products", "sources", "projects", "tasks", "wiki", "decisions", "routines", "schedules"} {
		scopes = append(scopes, resource+":read", resource+":write", resource+":delete")
	}
	return append(scopes, "agents:run", "teams:run", "workflows:run")
}

// Token returns a development user's token, good for a day.
func (c *Company) Token(user string) (string, error) {
	return api.DevelopmentToken(c.secret, c.cfg.Auth.Audience, user, MemberScopes(), time.Now(), 24*time.Hour)
}

// secrets reads the values that an executor lists: COMPANY_SECRET_NAME, else the file secrets/NAME of the data folder.
func (c *Company) secrets(_ context.Context, names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		path := filepath.Join(c.cfg.Data, "secrets", name)
		missing := executor.MissingSecret(name, fmt.Sprintf("Start the server with COMPANY_SECRET_%s, or write %s with mode 0600.", name, path))
		if v, ok := os.LookupEnv("COMPANY_SECRET_" + name); ok {
			if values[name] = strings.TrimSpace(v); values[name] == "" {
				return nil, missing
			}
			continue
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, missing
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().Perm()&0o077 != 0 {
			return nil, fmt.Errorf("others can read %s: give it mode 0600", path)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if values[name] = strings.TrimSpace(string(raw)); values[name] == "" {
			return nil, missing
		}
	}
	return values, nil
}

// advance and execute are the queues' handlers.
func (c *Company) advance(ctx context.Context, id uuid.UUID) error {
	return c.App.Advance(ctx, id.String())
}

func (c *Company) execute(ctx context.Context, id uuid.UUID) error {
	return c.App.Execute(ctx, id.String(), c.cfg.Runner)
}
