package routine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/google/uuid"
)

// DedupeKey is the contract's key of a proposal: the same Source and proposal key make the same Task.
func DedupeKey(sourceID, proposalKey string) string {
	sum := sha256.Sum256([]byte("[" + asciiJSON(sourceID) + ", " + asciiJSON(proposalKey) + "]"))
	return hex.EncodeToString(sum[:])
}

// ProposedProjectID is the contract's id of a Project that a Routine proposes: the same name is the same Project.
func ProposedProjectID(productID, routineID, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("company-project/"+productID+"/"+routineID+"/"+name)).String()
}

// asciiJSON writes compact JSON in which everything but printable ASCII is escaped, as the contract's hashes have it.
func asciiJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // texts and records only
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r <= '~':
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
