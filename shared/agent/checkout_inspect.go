package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"companyos/shared/gitcmd"
)

// lfsPointer begins every pointer file of Git LFS (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md), which is
// shorter than 1024 bytes; the shortest one with a hash is over 100.
const (
	lfsPointer  = "version https://git-lfs.github.com/spec/v1"
	lfsShortest = 100
	lfsLongest  = 1024
	warnedPaths = 200
)

// inspect looks at the commit's tree before anything of it is written: its size, and what a checkout leaves out.
func (c *checkout) inspect(ctx context.Context, commit string) ([]warning, error) {
	var pointers paths
	look := func(small []treeEntry) error { return c.pointers(ctx, small, &pointers) }
	tree := treeReader{many: look}
	call := gitCall{args: gitcmd.TreeArgs(c.base, commit), dir: c.git.home, stdout: &tree}
	if _, err := c.git.run(ctx, call); err != nil {
		return nil, err
	}
	if tree.bytes > c.maxBytes {
		return nil, c.tooLarge()
	}
	if tree.attributes {
		if err := look(tree.small); err != nil {
			return nil, err
		}
	}
	var warnings []warning
	if tree.submodules.count > 0 {
		warnings = append(warnings, tree.submodules.warn("Submodules are not fetched, their folders are empty"))
	}
	if pointers.count > 0 && tree.attributes { // without them a pointer is an ordinary file, to git as well
		warnings = append(warnings, pointers.warn("Git LFS files are not fetched, these are pointers"))
	}
	return warnings, nil
}

// paths counts paths and keeps the first.
type paths struct {
	first []string
	count int
}

func (p *paths) add(path string) {
	if p.count++; len(p.first) < warnedPaths {
		p.first = append(p.first, path)
	}
}

func (p *paths) warn(what string) warning {
	const most = 20
	text := strings.Join(p.first[:min(most, p.count)], ", ")
	if p.count > most {
		text += fmt.Sprintf(" and %d more", p.count-most)
	}
	return warning{text: what + ": " + text + ".", paths: p.first}
}

// treeEntry is one file of a tree.
type treeEntry struct {
	object string
	path   string
}

// smallMost bounds the files that are kept in memory until they are looked at.
const smallMost = 4096

// treeReader takes the output of ls-tree as it comes.
type treeReader struct {
	bytes      int64
	submodules paths
	attributes bool                          // there is a .gitattributes
	small      []treeEntry                   // what may be a pointer of Git LFS, and was not looked at yet
	many       func(small []treeEntry) error // looks, when there are many
	rest       []byte
}

func (t *treeReader) Write(p []byte) (int, error) {
	t.rest = append(t.rest, p...)
	for {
		entry, rest, ok := bytes.Cut(t.rest, []byte{0})
		if !ok {
			return len(p), nil
		}
		if err := t.entry(string(entry)); err != nil {
			return 0, err
		}
		t.rest = rest
	}
}

// entry reads "MODE TYPE OBJECT SIZE\tPATH".
func (t *treeReader) entry(line string) error {
	head, path, ok := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 {
		return fmt.Errorf("ls-tree printed %q", line)
	}
	path = strings.ToValidUTF8(path, "\uFFFD")
	if fields[1] == "commit" {
		t.submodules.add(path)
		return nil
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return fmt.Errorf("ls-tree printed %q", line)
	}
	t.bytes += size
	t.attributes = t.attributes || path == ".gitattributes" || strings.HasSuffix(path, "/.gitattributes")
	if fields[0] != "120000" && size >= lfsShortest && size < lfsLongest {
		t.small = append(t.small, treeEntry{object: fields[2], path: path})
	}
	if len(t.small) < smallMost {
		return nil
	}
	err = t.many(t.small)
	t.small = t.small[:0]
	return err
}

// pointers reads small files from the object store, which unlike the workspace holds no symlinks to follow.
func (c *checkout) pointers(ctx context.Context, small []treeEntry, found *paths) error {
	if len(small) == 0 {
		return nil
	}
	var ask strings.Builder
	for _, entry := range small {
		ask.WriteString(entry.object + "\n")
	}
	out, in := io.Pipe()
	read := make(chan struct{})
	go func() {
		defer close(read)
		out.CloseWithError(readPointers(bufio.NewReader(out), small, found)) // nil reads as io.ErrClosedPipe for whoever still writes
	}()
	call := gitCall{args: []string{"--git-dir=" + c.base, "cat-file", "--batch", "--buffer"}, dir: c.git.home, stdin: strings.NewReader(ask.String()), stdout: in}
	_, err := c.git.run(ctx, call)
	in.CloseWithError(io.EOF)
	<-read
	return err
}

// readPointers reads "OBJECT blob SIZE\nCONTENT\n" for each entry, in order.
func readPointers(r *bufio.Reader, small []treeEntry, found *paths) error {
	var content [lfsLongest]byte
	for _, entry := range small {
		head, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[0] != entry.object {
			return fmt.Errorf("cat-file printed %q", head)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size >= lfsLongest {
			return errors.Join(err, fmt.Errorf("cat-file printed %q", head))
		}
		if _, err := io.ReadFull(r, content[:size+1]); err != nil {
			return err
		}
		if bytes.HasPrefix(content[:size], []byte(lfsPointer)) {
			found.add(entry.path)
		}
	}
	return nil
}
