package wire

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"companyos/shared/company"
	"companyos/shared/task"
)

// schemaNames are the contract's names of records; others go by the name of their type. These are functions since a program
// that only serves should not make what only the generator needs.
func schemaNames() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[Product]():       "ProductResponse",
		reflect.TypeFor[Project]():       "ProjectResponse",
		reflect.TypeFor[SourceRecord]():  "SourceResponse",
		reflect.TypeFor[Task]():          "TaskResponse",
		reflect.TypeFor[RoutineRecord](): "RoutineResponse",
		reflect.TypeFor[ScheduleRun]():   "ScheduleRunResponse",
		reflect.TypeFor[WikiPage]():      "WikiPageResponse",
		reflect.TypeFor[WikiRead]():      "WikiReadResponse",
		reflect.TypeFor[Decision]():      "DecisionResponse",
		reflect.TypeFor[Run]():           "RunResponse",
		reflect.TypeFor[Attention]():     "AttentionResponse",
		reflect.TypeFor[Started]():       "TaskRunResponse",
		reflect.TypeFor[Meta]():          "PaginationInfo",
	}
}

// literals are the closed lists of typed strings.
func literals() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[task.Status]():           names(task.Statuses()),
		reflect.TypeFor[company.ProjectStatus](): names(company.ProjectStatuses()),
		reflect.TypeFor[task.EndKind]():          names(task.EndKinds()),
		reflect.TypeFor[task.ResultStatus]():     names([]task.ResultStatus{task.ResultCompleted, task.ResultError, task.ResultCancelled}),
		reflect.TypeFor[task.ExecutorKind]():     executorKinds(),
	}
}

// record adds the schema of a record and returns a reference to it, or the schema of a simple type.
func (g *generator) record(t reflect.Type) node {
	if values, ok := literals()[t]; ok {
		return node{"type": "string", "enum": values}
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return node{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(g.record(t.Elem()))
	case reflect.String:
		return node{"type": "string"}
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.Float64:
		return node{"type": "number"}
	case reflect.Slice:
		return node{"type": "array", "items": g.record(t.Elem())}
	case reflect.Map:
		return node{"type": "object", "additionalProperties": true}
	case reflect.Struct:
		return g.structure(t)
	default:
		return node{"type": "integer"}
	}
}

func (g *generator) structure(t reflect.Type) node {
	if value, ok := t.FieldByName("V"); ok && strings.HasPrefix(t.Name(), "Opt[") {
		return nullable(g.record(value.Type))
	}
	if t.NumField() == 0 {
		return node{"type": "object"}
	}
	name := schemaName(t)
	if _, ok := g.schemas[name]; ok {
		return ref(name)
	}
	properties, required := node{}, []string{}
	g.schemas[name] = node{"type": "object", "title": name, "properties": properties}
	g.properties(t, properties, &required)
	if len(required) > 0 {
		slices.Sort(required)
		g.schemas[name].(node)["required"] = required
	}
	return ref(name)
}

func (g *generator) properties(t reflect.Type, properties node, required *[]string) {
	for f := range t.Fields() {
		if f.Anonymous {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer { // there or not as a whole
				g.properties(embedded.Elem(), properties, &[]string{})
				continue
			}
			g.properties(embedded, properties, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties[name] = g.record(f.Type)
		if f.Tag.Get("nullable") == "true" {
			properties[name] = nullable(g.record(f.Type))
		}
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

func schemaName(t reflect.Type) string {
	if name, ok := schemaNames()[t]; ok {
		return name
	}
	if data, ok := t.FieldByName("Data"); ok && strings.HasPrefix(t.Name(), "Page[") {
		return "PaginatedResponse_" + schemaName(data.Type.Elem()) + "_"
	}
	return t.Name()
}
