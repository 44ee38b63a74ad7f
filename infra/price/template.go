package price

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// Template is the part of a CloudFormation template that costs money.
type Template struct {
	Resources map[string]Resource
}

// Resource is one of them.
type Resource struct {
	Type       string
	Properties map[string]any
}

// Load reads and joins templates: the stacks of one deployment.
func Load(paths ...string) (Template, error) {
	all := Template{Resources: map[string]Resource{}}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return all, err
		}
		var t Template
		if err := json.Unmarshal(text, &t); err != nil {
			return all, fmt.Errorf("%s: %w", path, err)
		}
		for id, r := range t.Resources {
			all.Resources[path+"/"+id] = r
		}
	}
	return all, nil
}

// of are the resources of a type.
func (t Template) of(kind string) []Resource {
	var all []Resource
	for _, r := range t.Resources {
		if r.Type == kind {
			all = append(all, r)
		}
	}
	return all
}

// number reads a property that CloudFormation takes as number or text.
func (r Resource) number(name string) float64 {
	switch v := r.Properties[name].(type) {
	case float64:
		return v
	case string:
		n, err := strconv.ParseFloat(v, 64)
		if err == nil {
			return n
		}
	}
	return 0
}
