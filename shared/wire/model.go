package wire

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Model is the table of one JSON object: what a request may hold. It feeds validation, and with the struct of the same
// fields decoding, and openapi.json.
type Model struct {
	Name   string // of the schema
	Fields []Field
	Extra  bool // unknown names are ignored instead of refused

	// check looks at the whole object once its fields are right; it returns a text or "".
	check func(v *value) string
}

// Field is one line of a Model.
type Field struct {
	Name     string
	Type     FieldType
	Required bool
	Nullable bool
	MinLen   int      // of a string in characters, of a list in items
	MaxLen   int      // of a string in characters; 0 means no bound
	Ge       *int64   // of an integer
	Enum     []string // of a literal
	Model    *Model   // of an object with a table
	Items    *Field   // of a list
	Default  any      // shown in openapi.json; the zero value of the struct means the same

	// check looks at a value of the right type; checkNull says that it looks at null too.
	check     func(v *value) string
	checkNull bool
}

// FieldType is what a field may hold.
type FieldType string

// The types of fields.
const (
	FieldString    FieldType = "string"
	FieldInt       FieldType = "int"     // digits only
	FieldLaxInt    FieldType = "lax_int" // also "12", 12.0, true
	FieldNumber    FieldType = "number"
	FieldBool      FieldType = "bool"
	FieldLiteral   FieldType = "literal"
	FieldObject    FieldType = "object" // any names
	FieldList      FieldType = "list"
	FieldModel     FieldType = "model"
	FieldNull      FieldType = "null"           // only null
	FieldFalseOr   FieldType = "false_or_model" // false, or an object with a table
	maxEchoedInput           = 2048
)

// The types of errors that clients know.
const (
	typeMissing           = "missing"
	typeExtraForbidden    = "extra_forbidden"
	typeStringType        = "string_type"
	typeStringTooShort    = "string_too_short"
	typeStringTooLong     = "string_too_long"
	typeStringUnicode     = "string_unicode"
	typeLiteralError      = "literal_error"
	typeValueError        = "value_error"
	typeIntType           = "int_type"
	typeIntParsing        = "int_parsing"
	typeIntParsingSize    = "int_parsing_size"
	typeIntFromFloat      = "int_from_float"
	typeFloatType         = "float_type"
	typeBoolType          = "bool_type"
	typeBoolParsing       = "bool_parsing"
	typeGreaterThanEqual  = "greater_than_equal"
	typeLessThanEqual     = "less_than_equal"
	typeListType          = "list_type"
	typeTooShort          = "too_short"
	typeDictType          = "dict_type"
	typeModelType         = "model_attributes_type"
	typeNoneRequired      = "none_required"
	typeJSONInvalid       = "json_invalid"
	messageFieldRequired  = "Field required"
	messageExtraForbidden = "Extra inputs are not permitted"
)

// messages are the texts of the errors that carry no figure.
var messages = map[string]string{
	typeStringType:     "Input should be a valid string",
	typeIntType:        "Input should be a valid integer",
	typeIntParsing:     "Input should be a valid integer, unable to parse string as an integer",
	typeIntParsingSize: "Unable to parse input string as an integer, exceeded maximum size",
	typeIntFromFloat:   "Input should be a valid integer, got a number with a fractional part",
	typeFloatType:      "Input should be a valid number",
	typeBoolType:       "Input should be a valid boolean",
	typeBoolParsing:    "Input should be a valid boolean, unable to interpret input",
	typeListType:       "Input should be a valid list",
	typeDictType:       "Input should be a valid dictionary",
	typeModelType:      "Input should be a valid dictionary or object to extract fields from",
	typeNoneRequired:   "Input should be None",
}

// checker collects errors. A path is copied when an error is added, so that it can be extended freely.
type checker struct{ errs []FieldError }

func (c *checker) add(kind string, loc []any, v *value, msg string, ctx map[string]any) {
	e := FieldError{Type: kind, Loc: slices.Clone(loc), Msg: msg, Ctx: ctx}
	if v != nil && len(v.raw) <= maxEchoedInput {
		e.Input = []byte(v.raw)
	}
	c.errs = append(c.errs, e)
}

func (c *checker) addKind(kind string, loc []any, v *value) { c.add(kind, loc, v, messages[kind], nil) }

func (c *checker) addValueError(loc []any, v *value, text string) {
	c.add(typeValueError, loc, v, "Value error, "+text, map[string]any{"error": struct{}{}})
}

// model checks an object: its fields, names that have no field, and the whole when nothing was wrong.
func (c *checker) model(m *Model, loc []any, v *value) {
	if v.kind != '{' {
		c.addKind(typeModelType, loc, v)
		return
	}
	before := len(c.errs)
	for i := range m.Fields {
		f := &m.Fields[i]
		child := v.get(f.Name)
		switch at := append(loc, f.Name); {
		case child != nil:
			c.field(f, at, child)
		case f.Required:
			c.add(typeMissing, at, v, messageFieldRequired, nil)
		}
	}
	if !m.Extra {
		for _, given := range v.members {
			if !slices.ContainsFunc(m.Fields, func(f Field) bool { return f.Name == given.name }) {
				c.add(typeExtraForbidden, append(loc, given.name), given.value, messageExtraForbidden, nil)
			}
		}
	}
	if m.check != nil && len(c.errs) == before {
		if text := m.check(v); text != "" {
			c.addValueError(loc, v, text)
		}
	}
}

// field checks one value: its type and bounds, then the field's own rule.
func (c *checker) field(f *Field, loc []any, v *value) {
	before := len(c.errs)
	if v.kind == 'n' && f.Nullable {
		if !f.checkNull {
			return
		}
	} else {
		c.typed(f, loc, v)
	}
	if f.check != nil && len(c.errs) == before {
		if text := f.check(v); text != "" {
			c.addValueError(loc, v, text)
		}
	}
}

func (c *checker) typed(f *Field, loc []any, v *value) {
	switch f.Type {
	case FieldString:
		c.text(f, loc, v)
	case FieldLiteral:
		if v.kind != '"' || !slices.Contains(f.Enum, v.str) {
			c.literal(loc, v, f.Enum)
		}
	case FieldInt:
		if v.kind != '0' || strings.ContainsAny(string(v.raw), ".eE") {
			c.addKind(typeIntType, loc, v)
			return
		}
		c.integer(f, loc, v)
	case FieldLaxInt:
		c.integer(f, loc, v)
	case FieldNumber:
		if v.kind != '0' {
			c.addKind(typeFloatType, loc, v)
		}
	case FieldBool:
		if v.kind != 't' && v.kind != 'f' {
			c.addKind(typeBoolType, loc, v)
		}
	case FieldObject:
		if v.kind != '{' {
			c.addKind(typeDictType, loc, v)
		} else {
			c.numbers(loc, v)
		}
	case FieldNull:
		if v.kind != 'n' {
			c.addKind(typeNoneRequired, loc, v)
		}
	case FieldList:
		c.list(f, loc, v)
	case FieldModel:
		c.model(f.Model, loc, v)
	case FieldFalseOr:
		c.falseOr(f, loc, v)
	}
}

func (c *checker) text(f *Field, loc []any, v *value) {
	if v.kind != '"' {
		c.addKind(typeStringType, loc, v)
		return
	}
	n := utf8.RuneCountInString(v.str)
	if n < f.MinLen {
		c.add(typeStringTooShort, loc, v, fmt.Sprintf("String should have at least %s", plural(f.MinLen, "character")), map[string]any{"min_length": f.MinLen})
	} else if f.MaxLen > 0 && n > f.MaxLen {
		c.add(typeStringTooLong, loc, v, fmt.Sprintf("String should have at most %s", plural(f.MaxLen, "character")), map[string]any{"max_length": f.MaxLen})
	}
}

func (c *checker) literal(loc []any, v *value, values []string) {
	expected := quoteList(values)
	c.add(typeLiteralError, loc, v, "Input should be "+expected, map[string]any{"expected": expected})
}

func (c *checker) integer(f *Field, loc []any, v *value) {
	n, kind := laxInt(v)
	switch {
	case kind != "":
		c.addKind(kind, loc, v)
	case f.Ge != nil && n < *f.Ge:
		c.add(typeGreaterThanEqual, loc, v, fmt.Sprintf("Input should be greater than or equal to %d", *f.Ge), map[string]any{"ge": *f.Ge})
	}
}

func (c *checker) list(f *Field, loc []any, v *value) {
	if v.kind != '[' {
		c.addKind(typeListType, loc, v)
		return
	}
	if len(v.items) < f.MinLen {
		c.add(typeTooShort, loc, v, fmt.Sprintf("List should have at least %s after validation, not %d", plural(f.MinLen, "item"), len(v.items)),
			map[string]any{"field_type": "List", "min_length": f.MinLen, "actual_length": len(v.items)})
		return
	}
	for i, item := range v.items {
		c.field(f.Items, append(loc, i), item)
	}
}

// falseOr checks a union of false and an object; when neither fits, both alternatives say why.
func (c *checker) falseOr(f *Field, loc []any, v *value) {
	if v.kind == 'f' {
		return
	}
	var object checker
	object.model(f.Model, append(loc, f.Model.Name), v)
	if len(object.errs) == 0 {
		return
	}
	c.add(typeLiteralError, append(loc, "literal[False]"), v, "Input should be False", map[string]any{"expected": "False"})
	c.errs = append(c.errs, object.errs...)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// quoteList renders 'a', 'b' or 'c'.
func quoteList(values []string) string {
	var b strings.Builder
	for i, v := range values {
		switch {
		case i == 0:
		case i == len(values)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString("'" + v + "'")
	}
	return b.String()
}
