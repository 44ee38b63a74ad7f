package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A free object holds any numbers but those that the database cannot keep or writes out at a thousand times their length.
func TestNumbersOfAFreeObject(t *testing.T) {
	t.Parallel()
	for number, ok := range map[string]bool{
		"0": true, "-1.5e-300": true, "1e308": true, "1E+308": true, strings.Repeat("9", 4300): true,
		"1e400000": false, "1e-400000": false, "1e99999999999999999999": false, "1e-9223372036854775808": false,
		strings.Repeat("9", 140000): false, "0." + strings.Repeat("0", 70000) + "1": false,
		strings.Repeat("1e300, ", 1000) + "1": false, // small ones too, where they are many
	} {
		for _, body := range []string{`{"name": "n", "metadata": {"a": [` + number + `]}}`, `{"name": "n", "metadata": {"a": {"b": [` + number + `]}}}`} {
			_, errs := ProductCreateBody.Decode([]byte(body))
			require.Equal(t, ok, len(errs) == 0, "%.40s: %v", number, errs)
			if !ok {
				require.Equal(t, []any{"body", "metadata"}, errs[0].Loc)
			}
		}
		_, errs := TaskCreateBody.Decode([]byte(`{"product_id": "p", "project_id": "j", "title": "t", "evidence": [{}, {"a": [` + number + `]}]}`))
		require.Equal(t, ok, len(errs) == 0, "%.40s: %v", number, errs)
	}
}

func TestABatchNumberThatNobodyCountsTo(t *testing.T) {
	t.Parallel()
	for n, ok := range map[string]bool{"1": true, "2147483647": true, "2147483648": false, "4294967297": false} {
		_, errs := EventsBody.Decode([]byte(`{"n": ` + n + `, "events": []}`))
		require.Equal(t, ok, len(errs) == 0, n)
	}
}
