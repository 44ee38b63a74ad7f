package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a body. Postgres takes more; nobody needs it.
const maxDepth = 100

// value is a JSON value as it was written: number literals, the order of names and the bytes are kept.
type value struct {
	raw     jsontext.Value
	kind    jsontext.Kind // n f t " 0 { [
	str     string
	members []member
	items   []*value
}

type member struct {
	name string
	*value
}

func (v *value) get(name string) *value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (v *value) null() bool { return v == nil || v.kind == 'n' }

// text is a string's content, "" for any other value.
func (v *value) text() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.str
}

// parseJSON reads exactly one value. What cannot be read, and what no field can hold (a name given twice, bad UTF-8, NUL,
// absurd nesting), is one error that says where.
func parseJSON(data []byte) (*value, *FieldError) { return parse(data, false) }

func parse(data []byte, keepNUL bool) (*value, *FieldError) {
	p := &parser{data: data, dec: jsontext.NewDecoder(bytes.NewReader(data)), loc: []any{"body"}, keepNUL: keepNUL}
	v, err := p.value(0)
	if err == nil {
		if _, err = p.dec.ReadToken(); err == nil {
			err = errors.New("one value is expected")
		} else if errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return nil, &refused.FieldError
	}
	return nil, p.syntax(err)
}

// refusedError is well-formed JSON that no field can hold.
type refusedError struct{ FieldError }

func (r *refusedError) Error() string { return r.Msg }

type parser struct {
	data    []byte
	dec     *jsontext.Decoder
	loc     []any
	keepNUL bool
}

func (p *parser) value(depth int) (*value, error) {
	if depth > maxDepth {
		// The path to the value is as long as it is deep, so only the field is named.
		return nil, p.refuse(p.loc[:min(2, len(p.loc))], typeValueError, fmt.Sprintf("Value error, nested deeper than %d levels", maxDepth))
	}
	switch p.dec.PeekKind() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	default: // a scalar
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	v := &value{raw: raw.Clone(), kind: raw.Kind()}
	if v.kind == '"' {
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, err
		}
		v.str = string(text)
		if !p.keepNUL && strings.ContainsRune(v.str, 0) {
			return nil, p.refuse(p.loc, typeValueError, "Value error, text cannot hold the character NUL")
		}
	}
	return v, nil
}

func (p *parser) object(depth int) (*value, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	start, at := p.dec.InputOffset()-1, len(p.loc)
	v := &value{kind: '{'}
	for p.dec.PeekKind() != '}' {
		token, err := p.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		p.loc = append(p.loc[:at], name)
		if !p.keepNUL && strings.ContainsRune(name, 0) {
			return nil, p.refuse(p.loc[:at], typeValueError, "Value error, a name cannot hold the character NUL")
		}
		child, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.loc = p.loc[:at]
		v.members = append(v.members, member{name, child})
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	v.raw = p.data[start:p.dec.InputOffset()]
	return v, nil
}

func (p *parser) array(depth int) (*value, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	start, at := p.dec.InputOffset()-1, len(p.loc)
	v := &value{kind: '['}
	for p.dec.PeekKind() != ']' {
		p.loc = append(p.loc[:at], len(v.items))
		child, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.loc = p.loc[:at]
		v.items = append(v.items, child)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	v.raw = p.data[start:p.dec.InputOffset()]
	return v, nil
}

func (p *parser) refuse(loc []any, kind, msg string) error {
	e := FieldError{Type: kind, Loc: append([]any{}, loc...), Msg: msg}
	if kind == typeValueError {
		e.Ctx = map[string]any{"error": struct{}{}}
	}
	return &refusedError{e}
}

// syntax says where the JSON broke: by character for grammar, by field for a name given twice or bad UTF-8.
func (p *parser) syntax(err error) *FieldError {
	offset := len(p.data)
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = min(int(se.ByteOffset), offset)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			loc := append(append([]any{}, p.loc...), se.JSONPointer.LastToken())
			return &FieldError{
				Type: typeValueError, Loc: loc, Msg: "Value error, this name is given twice", Ctx: map[string]any{"error": struct{}{}},
			}
		case strings.Contains(err.Error(), "UTF-8"), strings.Contains(err.Error(), "surrogate"):
			return &FieldError{Type: typeStringUnicode, Loc: append([]any{}, p.loc...), Msg: "Input should be a valid string, unable to parse raw data as a unicode string"}
		}
	}
	return &FieldError{
		Type: typeJSONInvalid, Loc: []any{"body", utf8.RuneCount(p.data[:offset])}, Msg: "JSON decode error", Input: []byte("{}"),
		Ctx: map[string]any{"error": reason(err)},
	}
}

// reason is a grammar error without the decoder's position and package.
func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the text ends too early"
	}
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok && se.Err != nil {
		return se.Err.Error()
	}
	return err.Error()
}
