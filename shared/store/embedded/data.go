package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// hasData tells whether there is a data directory that this program can use. None is ever removed for being unusable:
// what cannot be read may be precious.
func (s *Server) hasData() (bool, error) {
	made, err := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		if files, err := os.ReadDir(s.data()); len(files) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("%s is no data directory of PostgreSQL, move it away or choose another folder", s.data())
		}
		return false, nil
	}
	if err != nil {
		return false, unwritable(s.data(), err)
	}
	major, _, _ := strings.Cut(Version, ".")
	if v := strings.TrimSpace(string(made)); v != major {
		return false, fmt.Errorf("the data is of PostgreSQL %s and this program brings %s: carry it over with pg_dump, or choose another folder", v, major)
	}
	return true, nil
}

// initdb initialises beside and renames, so that one that was killed never leaves half a data directory.
func (s *Server) initdb(ctx context.Context, durable bool) error {
	unfinished, err := filepath.Glob(filepath.Join(s.dir, "init-*"))
	if err != nil {
		return err
	}
	for _, u := range unfinished {
		if err := os.RemoveAll(u); err != nil {
			return unwritable(s.dir, err)
		}
	}
	tmp, err := os.MkdirTemp(s.dir, "init-")
	if err != nil {
		return unwritable(s.dir, err)
	}
	defer os.RemoveAll(tmp)
	data, password := filepath.Join(tmp, "data"), filepath.Join(tmp, "password")
	if err := errors.Join(os.Mkdir(data, 0o700), os.WriteFile(password, []byte(s.password), 0o600)); err != nil {
		return unwritable(s.dir, err)
	}
	if err := s.as.own(tmp, data, password); err != nil {
		return err
	}
	args := []string{
		"-D", data, "-U", superuser, "-A", "scram-sha-256", "--pwfile", password, "--no-instructions",
		"-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
		"-c", "timezone=UTC", "-c", "log_timezone=UTC",
	}
	if !durable { // such a server hears of many short connections
		args = append(args, "--no-sync", "-c", "scram_iterations=1")
	}
	if err := s.run(ctx, "initdb", args...); err != nil {
		return err
	}
	if err := os.Rename(data, s.data()); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	return syncDir(s.dir)
}

func ensurePassword(dir string) (string, error) {
	path := filepath.Join(dir, "password")
	b, err := os.ReadFile(path)
	if err == nil {
		return string(b), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", unwritable(dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "PG_VERSION")); err == nil {
		return "", fmt.Errorf("the file %s is missing, put it back or begin with another folder", path)
	}
	password := rand.Text()
	if err := writeFile(path, password); err != nil {
		return "", unwritable(dir, err)
	}
	return password, nil
}

// writeFile writes a whole file or none, also when the machine stops.
func writeFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // finds nothing after the rename
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkDurability keeps the two kinds of data apart, by the mark boot-id of the one that is not durable. Such data goes
// once the machine was restarted: nobody ever asked the disk to keep it, and what is left may be torn. A boot that
// cannot be told from another counts as another.
func (s *Server) checkDurability(durable bool) error {
	path := filepath.Join(s.dir, "boot-id")
	then, err := os.ReadFile(path)
	marked := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(s.dir, err)
	}
	_, err = os.Stat(filepath.Join(s.data(), "PG_VERSION"))
	fresh := errors.Is(err, fs.ErrNotExist)
	now := bootID()
	switch {
	case durable && marked:
		return fmt.Errorf("%s holds throw-away data, choose another folder for data that must last", s.dir)
	case durable:
		return nil
	case !marked && !fresh:
		return fmt.Errorf("%s holds data that must last, choose another folder for throw-away data", s.dir)
	case marked && string(then) == now && now != "":
		return nil
	}
	// First the data, then the mark: interrupted, it is done again.
	if err := os.RemoveAll(s.data()); err != nil {
		return unwritable(s.data(), err)
	}
	return writeFile(path, now)
}
