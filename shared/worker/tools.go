package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"companyos/shared/app"
	"companyos/shared/company"
	"companyos/shared/model"
	"companyos/shared/routine"
	"companyos/shared/task"
)

// tool makes a tool of a function whose input is an object.
func tool[In any](name, description string, properties map[string]any, required []string, call func(ctx context.Context, in In) (string, error)) model.Tool {
	return model.Tool{
		Name: name, Description: description, Properties: properties, Required: required,
		Call: func(ctx context.Context, raw json.RawMessage) (string, error) {
			var in In
			if err := json.Unmarshal(raw, &in); err != nil {
				return "", fmt.Errorf("the input of %s does not have its form: %w", name, err)
			}
			return call(ctx, in)
		},
	}
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

// routineTools are what the run of a Routine may do beside its own work, as its template needs it; without a template all
// of it. Each holds to the rights of the run by itself.
func routineTools(r *app.RoutineTools) []model.Tool {
	if r == nil {
		return nil
	}
	t := &tools{r}
	switch r.Template() {
	case routine.TemplateRefresh:
		return append([]model.Tool{t.refresh()}, t.pages()...)
	case routine.TemplateIntake:
		return append(t.records(), t.intake()...)
	case routine.TemplateSummary:
		return append(t.records(), t.readPage(), t.summarize())
	}
	all := append(t.records(), t.intake()...)
	return append(append(all, t.pages()...), t.moveTask(), t.refresh(), t.summarize())
}

type tools struct{ *app.RoutineTools }

func answer(v any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(v)
	return string(raw), err
}

type nothing struct{}

func (t *tools) refresh() model.Tool {
	return tool("refresh", "Tidies up the Product and tells what was archived, deleted and proposed.", nil, nil,
		func(ctx context.Context, _ nothing) (string, error) { return answer(t.Refresh(ctx)) })
}

func (t *tools) summarize() model.Tool {
	return tool("summary", "Writes the Product's summary page with your text and the records, and sends it.",
		map[string]any{"narrative": text("Where the Product stands, in Markdown.")}, []string{"narrative"},
		func(ctx context.Context, in struct{ Narrative string }) (string, error) {
			return answer(t.Summarize(ctx, in.Narrative))
		})
}

type seenProject struct {
	ID      string                `json:"id"`
	Name    string                `json:"name"`
	Status  company.ProjectStatus `json:"status"`
	Outcome *string               `json:"outcome,omitempty"`
}

type seenTask struct {
	ID        string `json:"id"`
	ProjectID string `json:"project_id"`
	Title     string `json:"title"`
	Status    string `json:"status"`
	Failed    bool   `json:"failed,omitempty"`
}

// records list what there is.
func (t *tools) records() []model.Tool {
	return []model.Tool{
		tool("list_projects", "Lists the newest Projects of the Product.", nil, nil, func(ctx context.Context, _ nothing) (string, error) {
			found, err := t.Projects(ctx)
			seen := make([]seenProject, len(found))
			for i, p := range found {
				seen[i] = seenProject{p.ID, p.Name, p.Status, p.Outcome}
			}
			return answer(seen, err)
		}),
		tool("list_tasks", "Lists the newest Tasks of the Product.", nil, nil, func(ctx context.Context, _ nothing) (string, error) {
			found, err := t.Tasks(ctx)
			seen := make([]seenTask, len(found))
			for i := range found {
				k := &found[i]
				seen[i] = seenTask{k.ID, k.ProjectID, k.Title, string(k.Status), k.Failed()}
			}
			return answer(seen, err)
		}),
	}
}

func (t *tools) moveTask() model.Tool {
	return tool("move_task", "Moves a Task to backlog, in_review or cancelled. A person accepts and completes: ready and done are refused.",
		map[string]any{"task_id": text("The Task's id."), "target": text("The status to move it to."), "reason": text("Why, for the Task's history.")},
		[]string{"task_id", "target", "reason"},
		func(ctx context.Context, in struct {
			TaskID string `json:"task_id"`
			Target task.Status
			Reason string
		},
		) (string, error) {
			moved, err := t.MoveTask(ctx, in.TaskID, in.Target, in.Reason)
			return answer(seenTask{moved.ID, moved.ProjectID, moved.Title, string(moved.Status), moved.Failed()}, err)
		})
}

func (t *tools) readPage() model.Tool {
	return tool("read_page", "Reads a page of the Product's wiki, with its version.", map[string]any{"path": text("Such as status.md.")}, []string{"path"},
		func(ctx context.Context, in struct{ Path string }) (string, error) {
			page, err := t.Page(ctx, in.Path)
			return answer(map[string]any{"path": page.Path, "version": page.Version, "content": page.Content}, err)
		})
}

func (t *tools) pages() []model.Tool {
	return []model.Tool{t.readPage(), tool(
		"write_page", "Writes a page of the Product's wiki. It fails when somebody changed the page meanwhile: then read it again and write once more.",
		map[string]any{
			"path": text("Such as status.md."), "content": text("The whole page, in Markdown."),
			"expected_version": map[string]any{"type": "integer", "description": "The version that you read, 0 for a new page."},
		},
		[]string{"path", "content", "expected_version"},
		func(ctx context.Context, in struct {
			Path, Content   string
			ExpectedVersion int64 `json:"expected_version"`
		},
		) (string, error) {
			return "", t.WritePage(ctx, in.Path, in.Content, in.ExpectedVersion)
		})}
}
