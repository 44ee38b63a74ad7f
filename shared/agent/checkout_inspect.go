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
	var tree treeReader
	call := gitCall{args: gitcmd.TreeArgs(c.base, commit), dir: c.git.home, stdout: &tree}
	if _, err := c.git.run(ctx, call); err != nil {
		return nil, err
	}
	if tree.bytes > c.maxBytes {
		return nil, c.tooLarge()
	}
	var pointers []string
	if tree.attributes { // without them a pointer is an ordinary file, to git as well
		var err error
		if pointers, err = c.pointers(ctx, tree.small); err != nil {
			return nil, err
		}
	}
	var warnings []warning
	if len(tree.submodules) > 0 {
		warnings = append(warnings, warn("Submodules are not fetched, their folders are empty", tree.submodules))
	}
	if len(pointers) > 0 {
		warnings = append(warnings, warn("Git LFS files are not fetched, these are pointers", pointers))
	}
	return warnings, nil
}

func warn(what string, paths []string) warning {
	text := what + ": " + listPaths(paths) + "."
	if len(paths) > warnedPaths {
		paths = paths[:warnedPaths]
	}
	return warning{text: text, paths: paths}
}

// treeEntry is one file of a tree.
type treeEntry struct {
	object string
	path   string
}

// treeReader takes the output of ls-tree as it comes.
type treeReader struct {
	bytes      int64
	submodules []string
	attributes bool        // there is a .gitattributes
	small      []treeEntry // what may be a pointer of Git LFS
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
		t.submodules = append(t.submodules, path)
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
	return nil
}

// pointers reads the small files from the object store, which unlike the workspace holds no symlinks to follow.
func (c *checkout) pointers(ctx context.Context, small []treeEntry) ([]string, error) {
	if len(small) == 0 {
		return nil, nil
	}
	var ask strings.Builder
	for _, entry := range small {
		ask.WriteString(entry.object + "\n")
	}
	out, in := io.Pipe()
	found := make(chan []string, 1)
	go func() {
		paths, err := readPointers(bufio.NewReader(out), small)
		out.CloseWithError(err) // nil reads as io.ErrClosedPipe for whoever still writes
		found <- paths
	}()
	call := gitCall{args: []string{"--git-dir=" + c.base, "cat-file", "--batch", "--buffer"}, dir: c.git.home, stdin: strings.NewReader(ask.String()), stdout: in}
	_, err := c.git.run(ctx, call)
	in.CloseWithError(io.EOF)
	paths := <-found
	return paths, err
}

// readPointers reads "OBJECT blob SIZE\nCONTENT\n" for each entry, in order.
func readPointers(r *bufio.Reader, small []treeEntry) ([]string, error) {
	var paths []string
	for _, entry := range small {
		head, err := r.ReadString('\n')
		if err != nil {
			return paths, err
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[0] != entry.object {
			return paths, fmt.Errorf("cat-file printed %q", head)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size >= lfsLongest {
			return paths, errors.Join(err, fmt.Errorf("cat-file printed %q", head))
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			return paths, err
		}
		if bytes.HasPrefix(content, []byte(lfsPointer)) {
			paths = append(paths, entry.path)
		}
	}
	return paths, nil
}
