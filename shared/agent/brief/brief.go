// Package brief puts the input of an attempt into words, for whatever agent works on it.
package brief

import (
	"encoding/json"
	"fmt"
	"strings"
)

// input is the frozen input of an attempt, as far as an agent is told of it.
type input struct {
	Brief *string `json:"brief"`
	Wiki  []struct {
		Namespace string `json:"namespace"`
		Path      string `json:"path"`
		Content   string `json:"content"`
	} `json:"wiki"`
	Evidence []json.RawMessage `json:"evidence"`
	Context  struct {
		Stage          string   `json:"stage"`
		Instructions   string   `json:"instructions"`
		Attempt        int      `json:"attempt"`
		Reasons        []string `json:"revision_reasons"`
		PreviousResult *struct {
			Status  string `json:"status"`
			Content string `json:"content"`
		} `json:"previous_result"`
	} `json:"execution_context"`
}

// Section is a part of a prompt with its title, empty without a text.
func Section(title, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return fmt.Sprintf("# %s\n\n%s\n\n", title, text)
}

// Text is what an attempt is about. history is what was said in a conversation that cannot be continued. An input that is
// not readable is an error.
func Text(raw []byte, history string) (string, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return "", err
	}
	var b strings.Builder
	section := func(title, text string) { b.WriteString(Section(title, text)) }
	stage := in.Context.Instructions
	if in.Context.Stage != "" {
		stage = fmt.Sprintf("Stage: %s, attempt %d.\n%s", in.Context.Stage, max(in.Context.Attempt, 1), stage)
	}
	section("What is asked of you", stage)
	if in.Brief != nil {
		section("Brief", *in.Brief)
	}
	for _, page := range in.Wiki {
		section(fmt.Sprintf("Playbook of the %s: %s", page.Namespace, page.Path), page.Content)
	}
	if len(in.Evidence) > 0 {
		evidence, err := json.MarshalIndent(in.Evidence, "", "  ")
		if err != nil {
			return "", err
		}
		section("Evidence", string(evidence))
	}
	section("Earlier conversation, which could not be continued", history)
	if r := in.Context.PreviousResult; r != nil {
		section("The previous result, which was reviewed ("+r.Status+")", r.Content)
	}
	section("The reviewer's reason for this revision", strings.Join(in.Context.Reasons, "\n\n"))
	return b.String(), nil
}
