package wire

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

//go:generate go run ./gen

// OpenAPI is the description of the API, generated from the tables and records of this package.
//
//go:embed openapi.json
var OpenAPI []byte

type node = map[string]any

// GenerateOpenAPI builds the description. People's routes alone are in it: the sandbox's API is ours on both ends.
func GenerateOpenAPI() ([]byte, error) {
	g := &generator{schemas: node{}}
	paths := node{}
	for _, r := range Routes {
		if r.Caller != CallerPerson {
			continue
		}
		path := strings.ReplaceAll(r.Pattern, "...}", "}")
		operations, ok := paths[path].(node)
		if !ok {
			operations = node{}
			paths[path] = operations
		}
		operations[strings.ToLower(r.Method)] = g.operation(r)
	}
	g.problems()
	out, err := json.MarshalIndent(node{
		"openapi": "3.1.0",
		"info":    node{"title": "company", "version": "1.0.0"},
		"paths":   paths,
		"components": node{
			"schemas":         g.schemas,
			"securitySchemes": node{"bearer": node{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
		},
	}, "", "  ")
	return append(out, '\n'), err
}

type generator struct{ schemas node }

func (g *generator) operation(r Route) node {
	op := node{
		"operationId": strings.ReplaceAll(r.Name, ".", "_"),
		"summary":     r.Does,
		"tags":        []string{"company"},
		"security":    []node{{"bearer": r.Scopes}},
		"responses":   g.responses(r),
	}
	var params []node
	for part := range strings.SplitSeq(r.Pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "}"), "...")
			params = append(params, node{"name": name, "in": "path", "required": true, "schema": node{"type": "string"}})
		}
	}
	for _, p := range r.Query {
		params = append(params, node{"name": p.Name, "in": "query", "required": false, "schema": paramSchema(p)})
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.Body != nil {
		schema := g.model(r.Body.Table())
		op["requestBody"] = node{"required": r.Body.Required(), "content": node{"application/json": node{"schema": schema}}}
	}
	return op
}

func (g *generator) responses(r Route) node {
	success := node{"description": http.StatusText(r.Status)}
	if r.Answer != nil {
		success["content"] = node{"application/json": node{"schema": g.record(reflect.TypeOf(r.Answer))}}
	}
	problem := func(text, schema string) node {
		return node{"description": text, "content": node{"application/json": node{"schema": ref(schema)}}}
	}
	return node{
		strconv.Itoa(r.Status): success,
		"401":                  problem("the token is missing or not accepted", "Problem"),
		"403":                  problem("a scope is missing", "Problem"),
		"422":                  problem("the request is not valid", "HTTPValidationError"),
		"default":              problem("a rule was broken, or try again", "Problem"),
	}
}

func ref(name string) node { return node{"$ref": "#/components/schemas/" + name} }

func nullable(schema node) node { return node{"anyOf": []node{schema, {"type": "null"}}} }

func paramSchema(p Param) node {
	var s node
	switch p.Type {
	case ParamInt:
		s = node{"type": "integer"}
		if p.Ge != nil {
			s["minimum"] = *p.Ge
		}
		if p.Le != nil && *p.Le != maxPage {
			s["maximum"] = *p.Le
		}
	case ParamBool:
		s = node{"type": "boolean"}
	case ParamLiteral:
		s = node{"type": "string", "enum": p.Enum}
	case ParamString:
		s = node{"type": "string"}
	}
	if p.Default == nil {
		return nullable(s)
	}
	s["default"] = p.Default
	return s
}

// model adds a table's schema and returns a reference to it.
func (g *generator) model(m *Model) node {
	if _, ok := g.schemas[m.Name]; ok {
		return ref(m.Name)
	}
	properties, required := node{}, []string{}
	schema := node{"type": "object", "title": m.Name, "properties": properties}
	g.schemas[m.Name] = schema
	for i := range m.Fields {
		f := &m.Fields[i]
		properties[f.Name] = g.field(f)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	if !m.Extra {
		schema["additionalProperties"] = false
	}
	return ref(m.Name)
}

func (g *generator) field(f *Field) node {
	s := g.fieldType(f)
	if f.MinLen > 0 && f.Type == FieldString {
		s["minLength"] = f.MinLen
	}
	if f.MinLen > 0 && f.Type == FieldList {
		s["minItems"] = f.MinLen
	}
	if f.MaxLen > 0 {
		s["maxLength"] = f.MaxLen
	}
	if f.Ge != nil {
		s["minimum"] = *f.Ge
	}
	if f.Nullable {
		s = nullable(s)
	}
	if f.Default != nil {
		s["default"] = f.Default
	}
	return s
}

func (g *generator) fieldType(f *Field) node {
	switch f.Type {
	case FieldInt, FieldLaxInt:
		return node{"type": "integer"}
	case FieldNumber:
		return node{"type": "number"}
	case FieldBool:
		return node{"type": "boolean"}
	case FieldLiteral:
		return node{"type": "string", "enum": f.Enum}
	case FieldObject:
		return node{"type": "object", "additionalProperties": true}
	case FieldList:
		return node{"type": "array", "items": g.field(f.Items)}
	case FieldModel:
		return g.model(f.Model)
	case FieldNull:
		return node{"type": "null"}
	case FieldFalseOr:
		return node{"anyOf": []node{{"type": "boolean", "const": false}, g.model(f.Model)}}
	default:
		return node{"type": "string"}
	}
}

// problems adds the schemas of errors.
func (g *generator) problems() {
	text := node{"type": "string"}
	shared := node{
		"code": text, "remedy": text, "request_id": text,
		"retryable": node{"type": "boolean"},
	}
	with := func(detail node) node {
		p := node{"detail": detail}
		for k, v := range shared {
			p[k] = v
		}
		return node{"type": "object", "properties": p, "required": slices.Sorted(func(yield func(string) bool) {
			for k := range p {
				if !yield(k) {
					return
				}
			}
		})}
	}
	openTasks := node{"type": "object", "required": []string{"message", "tasks"}, "properties": node{
		"message": text,
		"tasks":   node{"type": "array", "items": node{"type": "object", "properties": node{"id": text, "title": text}, "required": []string{"id", "title"}}},
	}}
	g.schemas["Problem"] = with(node{"anyOf": []node{text, openTasks}})
	g.schemas["HTTPValidationError"] = with(node{"anyOf": []node{{"type": "array", "items": ref("ValidationError")}, text}})
	g.schemas["ValidationError"] = node{"type": "object", "required": []string{"loc", "msg", "type"}, "properties": node{
		"loc":  node{"type": "array", "items": node{"anyOf": []node{text, {"type": "integer"}}}},
		"msg":  text,
		"type": text, "input": node{}, "ctx": node{"type": "object"},
	}}
}
