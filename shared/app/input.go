package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"companyos/shared/company"
	"companyos/shared/executor"
	"companyos/shared/store"
	"companyos/shared/task"
)

// maxInput bounds what one attempt is given to read.
const maxInput = 1 << 20

// Input is what an attempt is given. It is frozen when the attempt is reserved.
type Input struct {
	Brief            *string           `json:"brief"`
	Wiki             []InputPage       `json:"wiki"`
	Evidence         []json.RawMessage `json:"evidence"`
	ExecutionContext ExecutionContext  `json:"execution_context"`
	Script           json.RawMessage   `json:"script,omitempty"` // of a fixture
}

// InputPage is a page of the Company's or the Product's playbook.
type InputPage struct {
	Namespace string `json:"namespace"` // company, product
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// ExecutionContext says what is wanted.
type ExecutionContext struct {
	Stage          string       `json:"stage"`
	TaskID         string       `json:"task_id"`
	Instructions   string       `json:"instructions"`
	Attempt        int          `json:"attempt"`
	Reasons        []string     `json:"revision_reasons,omitempty"` // people's words since the last attempt
	PreviousResult *task.Result `json:"previous_result,omitempty"`
}

const (
	stageExecution   = "accepted_task_execution"
	taskInstructions = "A person accepted this Task for you. Do the work that the brief asks for and answer with the result, " +
		"together with what shows that it is right. Keep to the brief: being accepted gives you no right beyond it. " +
		"Where the brief cannot be followed, say what stood in the way and what is left to do."
	revisionInstructions = " This is a revision: revision_reasons holds what the reviewer asked for, previous_result what was reviewed."
)

// putInput stores the input of a run under its hash, so that two starts at once cannot mix theirs. KindConflict for an input that is too large.
func (c *Company) putInput(ctx context.Context, runID string, t task.Task, ex executor.Executor, facts store.StartFacts) (key, sum string, err error) {
	raw, err := encodeInput(t, ex, facts)
	if err != nil {
		return "", "", err
	}
	if len(raw) > maxInput {
		return "", "", task.Conflictf("input_too_large", "Shorten the brief, the evidence or the wiki pages.",
			"The input of a run is at most %d bytes; this one has %d", maxInput, len(raw))
	}
	hash := sha256.Sum256(raw)
	sum = hex.EncodeToString(hash[:])
	key = "runs/" + runID + "/input-" + sum
	if err := c.Blobs.Put(ctx, key, bytes.NewReader(raw), int64(len(raw))); err != nil {
		return "", "", task.Unavailable("artifacts_unavailable", "The input of the run could not be stored", err)
	}
	return key, sum, nil
}

func encodeInput(t task.Task, ex executor.Executor, facts store.StartFacts) ([]byte, error) {
	in := Input{
		Brief: t.Brief, Wiki: []InputPage{}, Evidence: t.Evidence,
		ExecutionContext: ExecutionContext{Stage: stageExecution, TaskID: t.ID, Instructions: taskInstructions, Attempt: t.Attempts()},
		Script:           ex.Fixture,
	}
	if in.Evidence == nil {
		in.Evidence = []json.RawMessage{}
	}
	for _, p := range facts.Pages {
		namespace := "product"
		if p.Namespace == company.CompanyNamespace {
			namespace = company.CompanyNamespace
		}
		in.Wiki = append(in.Wiki, InputPage{namespace, p.Path, p.Content})
	}
	if t.Attempts() > 1 {
		in.ExecutionContext.Instructions += revisionInstructions
		in.ExecutionContext.Reasons = t.ReasonsSinceLastAttempt()
		if r := facts.Previous; r != nil && r.Ended != nil {
			in.ExecutionContext.PreviousResult = &task.Result{RunID: r.ID, Status: task.ResultStatus(r.State), Content: r.Content}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(in)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// defaultPages adds the pages that every namespace has to those that were read, and stores the missing ones.
func (c *Company) defaultPages(ctx context.Context, facts store.StartFacts) ([]company.Page, error) {
	missing := func(p *company.Product) bool {
		return slices.ContainsFunc(company.DefaultPages(p, facts.Now), func(w company.Page) bool {
			return !slices.ContainsFunc(facts.Pages, func(p company.Page) bool { return p.Namespace == w.Namespace && p.Path == w.Path })
		})
	}
	size := 0
	for _, p := range facts.Pages {
		size += len(p.Content)
	}
	if size > maxInput || !missing(nil) && !missing(&facts.Product) { // too large an input is refused whatever the rest is
		return facts.Pages, nil
	}
	err := c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddDefaultPages(ctx, nil, facts.Now); err != nil {
			return err
		}
		return tx.AddDefaultPages(ctx, &facts.Product, facts.Now)
	})
	if err != nil {
		return nil, err
	}
	return c.DB.InputPages(ctx, facts.Product.ID, maxInput)
}
