package wire

import (
	"encoding/json"
	"fmt"
)

// Opt is a field of a change: left out, null, or a value.
type Opt[T any] struct {
	Set  bool // the field was given
	Null bool // it was given as null
	V    T
}

// Some is a field with a value.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, V: v} }

// Null is a field that is given as null.
func Null[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// IsZero leaves an absent field out of a request.
func (o Opt[T]) IsZero() bool { return !o.Set }

// Ptr is the value, nil when it is null or absent.
func (o Opt[T]) Ptr() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.V
}

// UnmarshalJSON is called for fields that are there.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	o.Set = true
	if string(data) == "null" {
		o.Null = true
		return nil
	}
	return json.Unmarshal(data, &o.V)
}

// MarshalJSON writes null or the value.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.Set || o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// LaxInt is an integer that may be written as a whole number with a fraction, as text, or as a boolean.
type LaxInt int64

// UnmarshalJSON reads what the lax integer of a table accepts.
func (i *LaxInt) UnmarshalJSON(data []byte) error {
	v, refused := parseJSON(data)
	if refused != nil {
		return fmt.Errorf("integer: %s", refused.Msg)
	}
	n, kind := laxInt(v)
	if kind != "" {
		return fmt.Errorf("integer: %s", kind)
	}
	*i = LaxInt(n)
	return nil
}
