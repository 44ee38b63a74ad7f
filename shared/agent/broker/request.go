package broker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of a request. Anthropic takes 32 MB.
const (
	requestMost  = 40 << 20
	requestInRAM = 1 << 20
)

// spooled is a request's body that can be read twice.
type spooled struct {
	io.ReadSeeker
	head []byte   // all of it, in memory
	file *os.File // nil: in memory
}

// Close gives the space back. The transport closes a body too, so it may come twice.
func (s *spooled) Close() error {
	if s.file != nil {
		_ = s.file.Close() // its name is gone already
	}
	return nil
}

// spool reads a body whole: what is sent on is what was looked at.
func (b *Broker) spool(from io.Reader, announced int64) (*spooled, int64, error) {
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(announced, 0), requestInRAM)+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(from, requestInRAM+1)); err != nil {
		return nil, 0, errors.New("the request broke off")
	}
	head := buffer.Bytes()
	if len(head) <= requestInRAM {
		return &spooled{ReadSeeker: bytes.NewReader(head), head: head}, int64(len(head)), nil
	}
	file, err := os.CreateTemp(b.Spool, "request-")
	if err != nil {
		return nil, 0, errors.New("no room for the request")
	}
	s := &spooled{ReadSeeker: file, file: file}
	_ = os.Remove(file.Name())
	size, err := io.Copy(file, io.MultiReader(bytes.NewReader(head), io.LimitReader(from, requestMost)))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	switch {
	case err != nil:
		_ = s.Close()
		return nil, 0, errors.New("the request broke off, or there is no room for it")
	case size > requestMost:
		_ = s.Close()
		return nil, 0, fmt.Errorf("the request is larger than %d bytes", requestMost)
	}
	return s, size, nil
}

// asked is what a request wants.
type asked struct {
	model string
}

// inspect reads a request and refuses what would make the provider act beyond answering: run tools of its own, fetch an
// address, talk to servers, or sell at another price. Otherwise text could leave through the provider, or cost more than
// is counted. Afterwards the body is at its beginning again.
func inspect(api API, body io.ReadSeeker) (asked, error) {
	from := io.Reader(body)
	if s, ok := body.(*spooled); ok && s.file == nil {
		from = bytes.NewBuffer(s.head) // read in place
	}
	w := walker{api: api, dec: jsontext.NewDecoder(from)} // it refuses a name that comes twice
	err := w.document()
	if _, seekErr := body.Seek(0, io.SeekStart); seekErr != nil {
		return asked{}, errors.New("the request cannot be read again")
	}
	if err == nil && w.asked.model == "" {
		err = errors.New("the request names no model")
	}
	return w.asked, err
}

type walker struct {
	api   API
	dec   *jsontext.Decoder
	asked asked
}

var errRequest = errors.New("the request is not the JSON of the model's API")

// document reads the top object.
func (w *walker) document() error {
	if t, err := w.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return errRequest
	}
	for w.dec.PeekKind() != '}' {
		name, err := w.dec.ReadToken()
		if err != nil {
			return errRequest
		}
		if err := w.member(name.String()); err != nil {
			return err
		}
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return errRequest
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errRequest
	}
	return nil
}

func (w *walker) member(name string) error {
	switch name {
	case "model":
		t, err := w.dec.ReadToken()
		if err != nil || t.Kind() != '"' {
			return errRequest
		}
		w.asked.model = t.String()
		return nil
	case "service_tier":
		t, err := w.dec.ReadToken()
		if err != nil {
			return errRequest
		}
		if tier := t.String(); t.Kind() == '"' && tier != "auto" && tier != "default" && tier != "standard_only" {
			return fmt.Errorf("service tier %q has another price", tier)
		}
		return nil
	case "mcp_servers", "container", "background", "conversation", "previous_response_id", "prompt":
		return w.absent(name)
	case "tools":
		return w.tools()
	default:
		return w.value()
	}
}

// absent takes only null, false and what is empty.
func (w *walker) absent(name string) error {
	v, err := w.dec.ReadValue()
	if err != nil {
		return errRequest
	}
	switch string(v) {
	case "null", "false", "[]", "{}", `""`:
		return nil
	}
	return fmt.Errorf("%q is not let through", name)
}

// tools takes tools that the harness runs itself.
func (w *walker) tools() error {
	if w.dec.PeekKind() != '[' {
		return w.value()
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return errRequest
	}
	for w.dec.PeekKind() != ']' {
		if w.dec.PeekKind() != '{' {
			return errRequest
		}
		kind, err := w.object()
		if err != nil {
			return err
		}
		if !ownTool(kind) {
			return fmt.Errorf("a tool of the provider's own, %q, is not let through", kind)
		}
	}
	_, err := w.dec.ReadToken()
	return broken(err)
}

// ownTool is a kind of tool that only asks the harness to do something.
func ownTool(kind string) bool {
	switch kind {
	case "", "custom", "function", "local_shell", "namespace", "apply_patch", "shell", "tool_search":
		return true
	}
	return strings.HasPrefix(kind, "bash_") || strings.HasPrefix(kind, "text_editor_")
}

// value reads any value and looks at the objects in it.
func (w *walker) value() error {
	switch w.dec.PeekKind() {
	case '{':
		_, err := w.object()
		return err
	case '[':
		if _, err := w.dec.ReadToken(); err != nil {
			return errRequest
		}
		for w.dec.PeekKind() != ']' {
			if w.dec.PeekKind() == 0 {
				return errRequest
			}
			if err := w.value(); err != nil {
				return err
			}
		}
		_, err := w.dec.ReadToken()
		return broken(err)
	default:
		return broken(w.dec.SkipValue())
	}
}

// object reads an object and returns its "type". An address that the provider would fetch is refused; what a tool was
// called with, and what it takes, is data.
func (w *walker) object() (kind string, err error) {
	if _, err := w.dec.ReadToken(); err != nil {
		return "", errRequest
	}
	remote := ""
	for w.dec.PeekKind() != '}' {
		t, err := w.dec.ReadToken()
		if err != nil {
			return "", errRequest
		}
		switch name := t.String(); {
		case name == "input" || name == "input_schema" || name == "parameters" || name == "schema":
			if err := broken(w.dec.SkipValue()); err != nil {
				return "", err
			}
		case (name == "type" || name == "url" || name == "image_url" || name == "file_url") && w.dec.PeekKind() == '"':
			v, err := w.dec.ReadToken()
			if err != nil {
				return "", errRequest
			}
			if text := v.String(); name == "type" {
				kind = text
			} else if !strings.HasPrefix(text, "data:") {
				remote = text
			}
		default:
			if err := w.value(); err != nil {
				return "", err
			}
		}
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return "", errRequest
	}
	fetched := kind == "url" || kind == "image" || kind == "document" || kind == "input_image" || kind == "input_file" || kind == "image_url"
	if remote != "" && fetched {
		return "", errors.New("an address for the provider to fetch is not let through")
	}
	return kind, nil
}

func broken(err error) error {
	if err != nil {
		return errRequest
	}
	return nil
}
