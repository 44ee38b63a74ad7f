package queue_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"companyos/shared/queue"
)

func TestEncodeIsTheWireForm(t *testing.T) {
	t.Parallel()
	body, err := queue.Encode(uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`; body != want {
		t.Errorf("body %s, want %s", body, want)
	}
	if _, err := queue.Encode(uuid.Nil); !errors.Is(err, queue.ErrMalformed) {
		t.Errorf("nil id: %v, want ErrMalformed", err)
	}
}

func TestDecodeTakesWhatIsSent(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	for name, body := range map[string]string{
		"plain":          `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"started by":     `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8/3"}`,
		"odd launch":     `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8/a/b"}`,
		"upper case":     `{"v":1,"run":"6BA7B810-9DAD-11D1-80B4-00C04FD430C8"}`,
		"spaces":         " {\"run\": \"6ba7b810-9dad-11d1-80b4-00c04fd430c8\",\n \"v\": 1} ",
		"a later member": `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","trace":{"x":1}}`,
	} {
		if got, err := queue.Decode(body); err != nil || got != id {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestDecodeRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty":           ``,
		"not JSON":        `6ba7b810-9dad-11d1-80b4-00c04fd430c8`,
		"null":            `null`,
		"array":           `[{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}]`,
		"cut off":         `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`,
		"two values":      `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}{}`,
		"twice the run":   `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","run":"6ba7b811-9dad-11d1-80b4-00c04fd430c8"}`,
		"other case":      `{"V":1,"Run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"no version":      `{"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"version 0":       `{"v":0,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"version 2":       `{"v":2,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"version string":  `{"v":"1","run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"version 1.5":     `{"v":1.5,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"no run":          `{"v":1}`,
		"empty run":       `{"v":1,"run":""}`,
		"run number":      `{"v":1,"run":7}`,
		"run null":        `{"v":1,"run":null}`,
		"only a launch":   `{"v":1,"run":"/3"}`,
		"not a uuid":      `{"v":1,"run":"ecs-svc/123"}`,
		"undashed":        `{"v":1,"run":"6ba7b8109dad11d180b400c04fd430c8"}`,
		"urn":             `{"v":1,"run":"urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
		"nil uuid":        `{"v":1,"run":"00000000-0000-0000-0000-000000000000"}`,
		"bad UTF-8":       "{\"v\":1,\"run\":\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\",\"x\":\"\xff\"}",
		"trailing spaces": `{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8 "}`,
	} {
		if got, err := queue.Decode(body); !errors.Is(err, queue.ErrMalformed) || got != uuid.Nil {
			t.Errorf("%s: %v, %v, want ErrMalformed", name, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"v":1,"run":"6ba7b810-9dad-11d1-80b4-00c04fd430c8/1"}`)
	f.Add(`{"v":2}`)
	f.Fuzz(func(t *testing.T, body string) {
		id, err := queue.Decode(body)
		if err != nil {
			if !errors.Is(err, queue.ErrMalformed) {
				t.Fatalf("%v is not ErrMalformed", err)
			}
			return
		}
		encoded, err := queue.Encode(id)
		if err != nil {
			t.Fatalf("%q decoded to %v: %v", body, id, err)
		}
		if again, err := queue.Decode(encoded); err != nil || again != id {
			t.Fatalf("%q decoded to %v, %q to %v, %v", body, id, encoded, again, err)
		}
	})
}
