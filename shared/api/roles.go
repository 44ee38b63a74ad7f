package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"companyos/shared/app"
	"companyos/shared/task"
)

// Roles is the operator's file of rights: what each group of the identity provider may do.
//
//	admin_group: company-admins        # may do everything
//	groups:
//	  engineers: [products:read, tasks:read, tasks:write, wiki:read, "agents:*:run"]
//	disabled: [mallory]                # subjects whose tokens have no rights any more
type Roles struct {
	AdminGroup string              `yaml:"admin_group"`
	Groups     map[string][]string `yaml:"groups"`
	Off        []string            `yaml:"disabled"`
}

// ParseRoles reads the file. Unknown keys and scopes without the form resource:action are errors.
func ParseRoles(data []byte) (*Roles, error) {
	var r Roles
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&r); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("COMPANY_ROLES is YAML with admin_group, groups (group: [scopes]) and disabled, and this is not: %s", strings.ReplaceAll(err.Error(), "\n", ""))
	}
	for group, scopes := range r.Groups {
		for _, s := range scopes {
			if resource, action, ok := strings.Cut(s, ":"); !ok || resource == "" || action == "" || strings.ContainsAny(s, " \t\n") {
				return nil, fmt.Errorf("COMPANY_ROLES: group %s: %q is not a scope such as tasks:read", group, s)
			}
		}
	}
	return &r, nil
}

// Scopes is what the groups give together. A nil Roles gives nothing.
func (r *Roles) Scopes(groups []string) []string {
	if r == nil {
		return nil
	}
	var out []string
	for _, g := range groups {
		if g != "" && g == r.AdminGroup {
			out = append(out, task.AdminScope)
		}
		out = append(out, r.Groups[g]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Disabled says that the operator took a subject's rights away.
func (r *Roles) Disabled(subject string) bool { return r != nil && slices.Contains(r.Off, subject) }

// Rights are what the file gives somebody now who granted something earlier. It knows those whose rights came from groups;
// what a token names itself is between its holder and the identity provider.
func (r *Roles) Rights(_ context.Context, granted task.Authorization) (app.Rights, error) {
	switch {
	case r.Disabled(granted.PrincipalID):
		return app.Rights{Known: true, Disabled: true}, nil
	case r != nil && len(granted.Groups) > 0:
		return app.Rights{Known: true, Scopes: r.Scopes(granted.Groups)}, nil
	}
	return app.Rights{}, nil
}
