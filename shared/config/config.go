// Package config reads a process's settings once, at its start. Every setting is a flag and an environment variable of
// the same name: -addr and COMPANY_ADDR. A flag wins.
package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/peterbourgon/ff/v4"
)

const prefix = "COMPANY"

// set collects the settings of one process.
type set struct {
	std      *flag.FlagSet
	required [][]string // of each entry one is needed
	secret   map[string]bool
}

func newSet(process string) *set {
	std := flag.NewFlagSet(process, flag.ContinueOnError)
	std.SetOutput(io.Discard)
	return &set{std: std, secret: map[string]bool{}}
}

// require names settings without which the process cannot work.
func (s *set) require(names ...string) {
	for _, n := range names {
		s.requireOne(n)
	}
}

// requireOne names settings of which the process needs at least one.
func (s *set) requireOne(names ...string) { s.required = append(s.required, names) }

// hide names settings whose values never reach a log.
func (s *set) hide(names ...string) {
	for _, n := range names {
		s.secret[n] = true
	}
}

// parse reads flags and environment. It returns flag.ErrHelp with the usage printed, or one error that names every
// missing setting.
func (s *set) parse(args []string) error {
	flags := ff.NewFlagSetFrom(s.std.Name(), s.std)
	if err := ff.Parse(flags, args, ff.WithEnvVarPrefix(prefix)); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			s.usage(os.Stderr)
			return err
		}
		// The flag package says "parse error" of a value that is no number or truth value.
		return fmt.Errorf("%s; -h lists every setting", strings.Replace(err.Error(), "parse error", "it is a whole number, or true or false", 1))
	}
	if rest := flags.GetArgs(); len(rest) > 0 {
		return fmt.Errorf("%q is no setting; -h lists every one", rest[0])
	}
	var missing []string
	for _, names := range s.required {
		variables := make([]string, len(names))
		given := false
		for i, name := range names {
			given = given || s.std.Lookup(name).Value.String() != ""
			variables[i] = variable(name)
		}
		if !given {
			missing = append(missing, strings.Join(variables, " or "))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("these settings are missing: %s", strings.Join(missing, ", "))
	}
	return nil
}

// issuer refuses an issuer whose keys could not be fetched safely.
func issuer(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())) {
		return nil
	}
	return fmt.Errorf("jwt-issuer: %q is no https URL (http for a loopback address)", raw)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func variable(name string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func (s *set) usage(w io.Writer) {
	fmt.Fprintf(w, "%s: settings, as flags or environment variables\n", s.std.Name())
	s.std.VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(w, "  -%-40s %s (%s", f.Name, f.Usage, variable(f.Name))
		if f.DefValue != "" {
			fmt.Fprintf(w, ", default %s", f.DefValue)
		}
		fmt.Fprintln(w, ")")
	})
}

// values are all settings for the first line of a log, secrets replaced.
func (s *set) values() []slog.Attr {
	var attrs []slog.Attr
	s.std.VisitAll(func(f *flag.Flag) {
		v := f.Value.String()
		switch {
		case v == "":
		case s.secret[f.Name]:
			v = "[redacted]"
		default:
			v = withoutPassword(v)
		}
		attrs = append(attrs, slog.String(f.Name, v))
	})
	return attrs
}

func withoutPassword(v string) string {
	if u, err := url.Parse(v); err == nil && u.User != nil {
		return u.Redacted()
	}
	return v
}
