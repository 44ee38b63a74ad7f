package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// keptTemplates bounds what the changes of the migrations leave behind.
const keptTemplates = 4

// template is one key's template, made at most once by this process.
type template struct {
	once sync.Once
	name string
	err  error
}

func (h *host) template(ctx context.Context, migrate func(context.Context, string) error, key string) (string, error) {
	h.mu.Lock()
	if h.templates == nil {
		h.templates = map[string]*template{}
	}
	t := h.templates[key]
	if t == nil {
		sum := sha256.Sum256([]byte(key))
		t = &template{name: fmt.Sprintf("tmpl_%x", sum[:8])}
		h.templates[key] = t
	}
	h.mu.Unlock()
	t.once.Do(func() {
		// The first test makes it for all: it must not fail because that one ends.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		if t.err = h.ensureTemplate(ctx, t.name, migrate); t.err != nil {
			t.err = fmt.Errorf("make the template of %q: %w", key, t.err)
		}
	})
	return t.name, t.err
}

// ensureTemplate makes a template under another name, so that one that has the name is whole, whoever made it.
func (h *host) ensureTemplate(ctx context.Context, name string, migrate func(context.Context, string) error) error {
	c, err := h.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx) // and with it the lock
	if _, err := c.Exec(ctx, "select pg_advisory_lock(hashtext($1))", name); err != nil {
		return err
	}
	var found bool
	if err := c.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&found); found || err != nil {
		return err
	}
	building := name + "_building"
	if err := run(ctx, c,
		"drop database if exists "+building+" with (force)",
		"create database "+building+" owner "+Role+" template template0",
	); err != nil {
		return err
	}
	u, err := h.url(building)
	if err != nil {
		return err
	}
	if err := migrate(ctx, u); err != nil {
		return err
	}
	// The rename waits five seconds for connections that migrate left.
	return run(ctx, c,
		"alter database "+building+" with allow_connections false is_template true",
		"alter database "+building+" rename to "+name,
	)
}

// sweep removes what processes that were killed left, and old templates. The server was just started, so nobody uses
// any of it.
func sweep(ctx context.Context, admin string) error {
	c, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, `
		select datname from pg_database where datname ~ '^t_' or datname ~ '^tmpl_.*_building$'
		union all
		(select datname from pg_database where datname ~ '^tmpl_[0-9a-f]+$' order by oid desc offset $1)`, keptTemplates)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, n := range names {
		n = pgx.Identifier{n}.Sanitize()
		if err := run(ctx, c, "alter database "+n+" with is_template false", "drop database "+n+" with (force)"); err != nil {
			return err
		}
	}
	return nil
}
