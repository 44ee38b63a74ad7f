package wire

import (
	"math/big"
	"strconv"
	"strings"
)

// laxInt reads an integer from a number without a fraction, a boolean, or a text of digits. It returns the type of the
// error, "" for none.
func laxInt(v *value) (n int64, kind string) {
	switch v.kind {
	case 't':
		return 1, ""
	case 'f':
		return 0, ""
	case '"':
		return laxIntText(v.str)
	case '0':
		return intFromNumber(string(v.raw))
	default:
		return 0, typeIntType
	}
}

// intFromNumber reads a JSON number. Its exponent is bounded before it is expanded: 1e999999999 must cost nothing.
func intFromNumber(literal string) (int64, string) {
	if !strings.ContainsAny(literal, ".eE") {
		return bigInt(literal)
	}
	f, _, err := big.ParseFloat(literal, 10, 512, big.ToZero)
	if err != nil || f.IsInf() {
		return 0, typeIntParsingSize
	}
	if !f.IsInt() {
		return 0, typeIntFromFloat
	}
	if n, accuracy := f.Int64(); accuracy == big.Exact {
		return n, ""
	}
	return 0, typeIntParsingSize
}

// laxIntText reads digits with an optional sign, single underscores between digits, surrounding white space and a
// fraction of zeros, as the contract's integers in query strings are.
func laxIntText(s string) (int64, string) {
	s = strings.TrimSpace(s)
	if whole, fraction, ok := strings.Cut(s, "."); ok && fraction != "" && strings.Trim(fraction, "0") == "" {
		s = whole
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	if digits == "" || len(s)-len(digits) > 1 || digits[0] == '_' || digits[len(digits)-1] == '_' || strings.Contains(digits, "__") {
		return 0, typeIntParsing
	}
	if strings.Trim(digits, "0123456789_") != "" {
		return 0, typeIntParsing
	}
	return bigInt(strings.ReplaceAll(strings.TrimPrefix(s, "+"), "_", ""))
}

func bigInt(s string) (int64, string) {
	if len(s) > 4300 { // the length at which the contract's reader gives up
		return 0, typeIntParsingSize
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return 0, typeIntParsing
	}
	if !n.IsInt64() {
		return 0, typeIntParsingSize
	}
	return n.Int64(), ""
}

// maxDigits bounds the digits of all numbers in one free object, written out. The database writes them out when it is asked
// for the object, and takes none with more than 131072: 1e131000 is short only on its way in.
const maxDigits = 64 << 10

// numbers refuses an object whose numbers the database could not keep, or would answer with many times what was sent.
func (c *checker) numbers(loc []any, v *value) {
	left := maxDigits
	if !v.countDigits(&left) {
		c.addValueError(loc, nil, "its numbers have more than "+strconv.Itoa(maxDigits)+" digits, written out")
	}
}

func (v *value) countDigits(left *int) bool {
	if v.kind == '0' {
		*left -= digits(string(v.raw), *left)
	}
	for _, m := range v.members {
		if *left < 0 || !m.countDigits(left) {
			return false
		}
	}
	for _, item := range v.items {
		if *left < 0 || !item.countDigits(left) {
			return false
		}
	}
	return *left >= 0
}

// digits is about how long a number is without its exponent; where the exponent is absurd, it is one more than most.
func digits(literal string, most int) int {
	mantissa, exponent, ok := strings.Cut(strings.ToLower(literal), "e")
	if !ok {
		return len(mantissa)
	}
	n, err := strconv.Atoi(exponent)
	if n < 0 {
		n = -n
	}
	if err != nil || n > most {
		return most + 1
	}
	return len(mantissa) + n
}
