package wire

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Cursor is a place in a list, behind one of its records. Clients see an opaque text.
type Cursor struct {
	SortBy    string
	SortOrder string
	At        time.Time // what the record is ordered by
	ID        string
}

const (
	cursorVersion = "1"
	maxCursor     = 500
)

// String is the text that a client sends back.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s.%s.%s.%d.%s", cursorVersion, c.SortBy, c.SortOrder, c.At.UnixMicro(), c.ID))
}

// ParseCursor reads a cursor; false for a text that String did not write.
func ParseCursor(text string) (c Cursor, ok bool) {
	if len(text) > maxCursor {
		return c, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	parts := strings.SplitN(string(raw), ".", 5)
	if err != nil || len(parts) != 5 || parts[0] != cursorVersion || !utf8.Valid(raw) || strings.ContainsRune(parts[4], 0) {
		return c, false
	}
	micros, err := strconv.ParseInt(parts[3], 10, 64)
	const most = 200_000_000_000_000_000 // in the year 8307: far, and within what a database has dates for
	if err != nil || micros < 0 || micros > most {
		return c, false
	}
	return Cursor{SortBy: parts[1], SortOrder: parts[2], At: time.UnixMicro(micros).UTC(), ID: parts[4]}, true
}

// Position reads the query's cursor, nil when it has none. A cursor belongs to the order that it was made with.
func (q Query) Position() (*Cursor, []FieldError) {
	if q.Cursor == nil {
		return nil, nil
	}
	c, ok := ParseCursor(*q.Cursor)
	if ok && c.SortBy == q.SortBy && c.SortOrder == q.SortOrder {
		return &c, nil
	}
	return nil, []FieldError{{
		Type: typeValueError, Loc: []any{"query", "cursor"}, Ctx: map[string]any{"error": struct{}{}},
		Msg: "Value error, the cursor must be a next_cursor of the same list in the same order",
	}}
}
