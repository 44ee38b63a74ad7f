package executor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFileSize bounds executors.yaml and prices.yaml.
const MaxFileSize = 1 << 20

// reader walks the nodes of a YAML file and collects what is wrong. The struct decoder is not enough: it stops at the
// first wrong type, lets a repeated key win and cannot say where a value stood.
type reader struct {
	file     string
	problems Problems
}

// fail notes a broken rule at a node.
func (r *reader) fail(n *yaml.Node, remedy, rule string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: max(n.Line, 1), Rule: fmt.Sprintf(rule, args...), Remedy: remedy})
}

var syntaxLine = regexp.MustCompile(`line (\d+): `)

// document returns the file's only document, nil when there is none to look into.
func (r *reader) document(data []byte) *yaml.Node {
	start := &yaml.Node{Line: 1}
	if len(data) > MaxFileSize {
		r.fail(start, "split it or shorten its texts", "the file is larger than 1 MiB")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if err = decoder.Decode(&more); errors.Is(err, io.EOF) {
			return resolve(doc.Content[0])
		}
		if err == nil {
			r.fail(&more, "put everything into the first document", "the file holds a second YAML document")
			return nil
		}
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		start.Line, _ = strconv.Atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	r.fail(start, "correct the syntax on or just above this line", "not YAML: %s", text)
	return nil
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// fields are the values of a mapping by key. at is where a missing key is reported.
type fields struct {
	at     *yaml.Node
	values map[string]*yaml.Node
}

// mapping reads a mapping whose keys are among known; none given allows all.
func (r *reader) mapping(n *yaml.Node, what string, known ...string) (fields, bool) {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		r.fail(n, "write \"key: value\" lines", "%s is not a mapping", what)
		return fields{}, false
	}
	f := fields{at: n, values: make(map[string]*yaml.Node, len(n.Content)/2)}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case key.Kind != yaml.ScalarNode:
			r.fail(key, "use a plain word as the key", "a key of %s is not a text", what)
		case key.ShortTag() == "!!merge":
			r.fail(key, "write the keys out, or use an alias for a whole value", "%s merges another mapping", what)
		case len(known) > 0 && !slices.Contains(known, key.Value):
			r.fail(key, "use one of "+strings.Join(known, ", "), "unknown key %q in %s", key.Value, what)
		case f.values[key.Value] != nil:
			r.fail(key, fmt.Sprintf("keep one of them; the first is in line %d", f.values[key.Value].Line), "key %q stands twice in %s", key.Value, what)
		default:
			f.values[key.Value] = value
		}
	}
	return f, true
}

// list reads a sequence; nothing after the key is an empty one.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "write \"- item\" lines or [a, b]", "%s is not a list", what)
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = resolve(item)
	}
	return items
}

// text reads a string that is not blank; a missing key is the empty string.
func (r *reader) text(n *yaml.Node, what string) string {
	switch {
	case n == nil:
		return ""
	case n.Kind != yaml.ScalarNode:
		r.fail(n, "write one text", "%s is not a text", what)
	case isNull(n):
		r.fail(n, "give it one or remove the key", "%s has no value", what)
	case n.ShortTag() != "!!str":
		r.fail(n, fmt.Sprintf("put it in quotes: %q", n.Value), "%s is not a text but %s", what, strings.TrimPrefix(n.ShortTag(), "!!"))
	case strings.TrimSpace(n.Value) == "":
		r.fail(n, "give it one or remove the key", "%s is blank", what)
	case strings.ContainsRune(n.Value, 0):
		r.fail(n, "remove it", "%s holds a NUL character", what)
	default:
		return n.Value
	}
	return ""
}

// integer reads a whole number; a missing key is 0 and fine.
func (r *reader) integer(n *yaml.Node, what string) (value int, ok bool) {
	if n == nil {
		return 0, true
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && n.Decode(&value) == nil {
		return value, true
	}
	r.fail(n, "write digits, without a unit or quotes", "%s is not a whole number", what)
	return 0, false
}

// amount reads a number of dollars, at least 0.
func (r *reader) amount(n *yaml.Node, what string) (value float64, ok bool) {
	tag := n.ShortTag()
	if n.Kind == yaml.ScalarNode && (tag == "!!int" || tag == "!!float") && n.Decode(&value) == nil &&
		value >= 0 && !math.IsInf(value, 0) {
		return value, true
	}
	r.fail(n, "write a number such as 5 or 0.25, without a currency or quotes", "%s is not an amount of US dollars", what)
	return 0, false
}
