package wire

import (
	"strings"

	"github.com/go-json-experiment/json"
)

// Body is a request body: its table, and the struct that it is decoded into. A test compares the two.
type Body[T any] struct {
	Model    Model
	Optional bool // no body, or null, means the zero value
	KeepNUL  bool // text may hold the character NUL: whoever stores it takes it out
}

// Decode validates and decodes a body. Errors are the entries of a 422's list, in the order of the table.
func (b *Body[T]) Decode(data []byte) (T, []FieldError) {
	var out T
	if len(data) == 0 {
		if b.Optional {
			return out, nil
		}
		return out, []FieldError{{Type: typeMissing, Loc: []any{"body"}, Msg: messageFieldRequired, Input: []byte("null")}}
	}
	v, refused := parse(data, b.KeepNUL)
	if refused != nil {
		return out, []FieldError{*refused}
	}
	if v.kind == 'n' {
		return b.Decode(nil)
	}
	var c checker
	c.model(&b.Model, []any{"body"}, v)
	if len(c.errs) > 0 {
		return out, c.errs
	}
	if err := json.Unmarshal(data, &out); err != nil {
		// The table let through what the struct cannot hold: a defect of this package, told as a refusal of the body.
		return out, []FieldError{BodyError("the body could not be decoded")}
	}
	return out, nil
}

// Table is the body's model.
func (b *Body[T]) Table() *Model { return &b.Model }

// Required says that a request without this body is refused.
func (b *Body[T]) Required() bool { return !b.Optional }

func (b *Body[T]) record() any { var zero T; return zero }

// Refusals validates a body without keeping it.
func (b *Body[T]) Refusals(data []byte) []FieldError {
	_, errs := b.Decode(data)
	return errs
}

// bodyTable is a Body of any struct.
type bodyTable interface {
	Table() *Model
	Required() bool
	record() any
	Refusals(data []byte) []FieldError
}

// BodyError is an entry about the body as a whole: a rule that is checked behind the tables and told like one of theirs.
func BodyError(text string) FieldError {
	return FieldError{Type: typeValueError, Loc: []any{"body"}, Msg: "Value error, " + text, Ctx: map[string]any{"error": struct{}{}}}
}

// BodyErrorAt is BodyError about a part of the body.
func BodyErrorAt(text string, loc ...any) FieldError {
	e := BodyError(text)
	e.Loc = append(e.Loc, loc...)
	return e
}

// notBlank refuses text of white space only, and null where the field looks at it.
func notBlank(text string) func(*value) string {
	return func(v *value) string {
		if strings.TrimSpace(v.text()) == "" {
			return text
		}
		return ""
	}
}

// sha256Hex refuses text that is not 64 hexadecimal digits.
func sha256Hex(v *value) string {
	if v.null() || (len(v.str) == 64 && strings.Trim(v.str, "0123456789abcdefABCDEF") == "") {
		return ""
	}
	return "must be 64 hexadecimal digits"
}

func str(name string) Field               { return Field{Name: name, Type: FieldString} }
func integer(name string, ge int64) Field { return Field{Name: name, Type: FieldInt, Ge: &ge} }
func literal(name string, values []string) Field {
	return Field{Name: name, Type: FieldLiteral, Enum: values}
}
func object(name string) Field { return Field{Name: name, Type: FieldObject} }
func list(name string, items Field) Field {
	return Field{Name: name, Type: FieldList, Items: &items}
}

func (f Field) required() Field                  { f.Required = true; return f }
func (f Field) nullable() Field                  { f.Nullable = true; return f }
func (f Field) notEmpty() Field                  { f.MinLen = 1; return f }
func (f Field) max(n int) Field                  { f.MaxLen = n; return f }
func (f Field) def(v any) Field                  { f.Default = v; return f }
func (f Field) rule(c func(*value) string) Field { f.check = c; return f }

// ruleWithNull is a rule for a field that may be null, and says something about it.
func (f Field) ruleWithNull(c func(*value) string) Field {
	f.Nullable, f.check, f.checkNull = true, c, true
	return f
}

// Marshal writes a request or an answer. Text is not escaped for HTML, as it is none; a nil list or object is null.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), json.FormatNilSliceAsNull(true), json.FormatNilMapAsNull(true))
}
