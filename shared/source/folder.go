package source

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"companyos/shared/company"
)

// maxWalk bounds how many names of a folder are looked at.
const maxWalk = 20_000

var errWalkEnds = errors.New("enough files were looked at")

// local is the path of a reference below the operator's folder, with slashes.
func (r *Reader) local(reference string) (string, error) {
	if r.Root == "" {
		return "", unreadable("Sources of this machine cannot be read: no folder for them is configured")
	}
	name := reference
	if filepath.IsAbs(name) {
		relative, err := filepath.Rel(r.Root, name)
		if err != nil {
			return "", errOutside()
		}
		name = relative
	}
	if name = filepath.Clean(name); !filepath.IsLocal(name) {
		return "", errOutside()
	}
	return filepath.ToSlash(name), nil
}

func errOutside() error { return unreadable("The Source is outside the folder of local Sources") }

// markdown reads the Markdown files of a folder, or one file. Nothing outside the operator's folder is reached, whatever
// the links in it point to.
func (r *Reader) markdown(s company.Source, config config, c *collection) error {
	name, err := r.local(s.Reference)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return notNow("The folder of local Sources cannot be opened", err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(name)
	if err != nil {
		return missing(err)
	}
	if !info.IsDir() {
		r.readFile(root, name, path.Base(name), c)
		return nil
	}
	looked := 0
	err = fs.WalkDir(root.FS(), name, func(at string, entry fs.DirEntry, err error) error {
		inside := strings.TrimPrefix(strings.TrimPrefix(at, name), "/")
		if name == "." {
			inside = at
		}
		if looked++; looked > maxWalk {
			return errWalkEnds
		}
		switch {
		case err != nil:
			c.skip(inside)
			return nil //nolint:nilerr // what cannot be read is left out, and named
		case entry.IsDir():
			if strings.HasPrefix(entry.Name(), ".") && at != name {
				return fs.SkipDir
			}
		case slices.Contains([]string{".md", ".markdown"}, strings.ToLower(path.Ext(at))) && config.wants(inside):
			r.readFile(root, at, inside, c)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errWalkEnds) {
		return notNow("The Source could not be read", err)
	}
	return nil
}

func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return unreadable("The Source does not exist")
	}
	return unreadable("The Source cannot be opened; it may point outside the folder of local Sources")
}

// readFile takes a regular file. It is opened without waiting, since it could be a pipe by now.
func (r *Reader) readFile(root *os.Root, name, inside string, c *collection) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.skip(inside)
		return
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		c.skip(inside)
		return
	}
	if !c.fits(inside, info.Size()) {
		return
	}
	content, err := io.ReadAll(io.LimitReader(f, c.limits.Item+1)) // it may grow meanwhile
	if err != nil {
		c.skip(inside)
		return
	}
	link := url.URL{Scheme: "file", Path: path.Join(filepath.ToSlash(r.Root), name)}
	c.add(inside, link.String(), content)
}
