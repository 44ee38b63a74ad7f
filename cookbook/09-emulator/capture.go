package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// record puts the recorder in the place of the functions and starts each by its trigger, so that what arrives is what a
// trigger sends. The events are written to folder.
func (p *place) record(ctx context.Context, recorder, folder string) error {
	zip, err := os.ReadFile(recorder)
	if err != nil {
		return err
	}
	code, err := json.Marshal(map[string]any{"ZipFile": zip})
	if err != nil {
		return err
	}
	for _, name := range functions {
		f, err := p.function(ctx, name)
		if err != nil {
			return err
		}
		if _, err := p.call(ctx, http.MethodPut, "/2015-03-31/functions/"+f.FunctionName+"/code", "", code); err != nil {
			return err
		}
	}
	for _, t := range p.triggers() {
		p.say("recording %s", t.file)
		if err := t.fire(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.file, err)
		}
		event, err := p.recorded(ctx, t.function)
		if err != nil {
			return fmt.Errorf("%s: %w", t.file, err)
		}
		if err := os.WriteFile(filepath.Join(folder, t.file), event, 0o644); err != nil { //nolint:gosec // for everybody
			return err
		}
	}
	return nil
}

// trigger is one way in which a function is started, and where its event is kept.
type trigger struct {
	file     string
	function string
	fire     func(ctx context.Context) error
}

func (p *place) triggers() []trigger {
	const run = "3c5a9c1e-6f0b-5d0e-8f5e-0c1f2d3e4a5b"
	return []trigger{
		{"http/products-list.json", "api", p.request(http.MethodGet, "/company/products?limit=2&page=1", "Bearer TOKEN", "")},
		{"http/products-create.json", "api", p.request(http.MethodPost, "/company/products", "Bearer TOKEN", `{"name":"Grüße"}`)},
		{"http/wiki-path.json", "api", p.request(http.MethodGet, "/company/wiki/a%20page/%C3%BC.md", "Bearer TOKEN", "")},
		{"http/no-token.json", "api", p.request(http.MethodGet, "/company/products", "", "")},
		{"http/sandbox-claim.json", "api", p.request(http.MethodPost, "/sandbox/claim", "Bearer cl1."+run+".1."+strings.Repeat("0", 43), `{"instance":"7c1f8a52-9b1c-4c5e-9a55-2b6f5a0f3c11"}`)},
		{"http/openapi.json", "api", p.request(http.MethodGet, "/openapi.json", "", "")},
		{"sqs/attempt.json", "dispatch", p.message("COMPANY_ATTEMPTS_QUEUE_URL", `{"v":1,"run":"`+run+`"}`)},
		{"sqs/stopped.json", "dispatch", p.message("COMPANY_ATTEMPTS_QUEUE_URL", `{"run":"`+run+`/1","v":1}`)},
		{"sqs/malformed.json", "dispatch", p.message("COMPANY_ATTEMPTS_QUEUE_URL", `{"v":9}`)},
		{"sqs/work.json", "execute", p.message("COMPANY_WORK_QUEUE_URL", `{"v":1,"run":"`+run+`"}`)},
		{"schedule/tick.json", "sweep", p.tick},
	}
}

func (p *place) request(method, path, authorization, body string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, method, p.apiURL()+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}
}

func (p *place) message(queue, body string) func(context.Context) error {
	return func(ctx context.Context) error {
		f, err := p.function(ctx, "api")
		if err != nil {
			return err
		}
		text, err := json.Marshal(map[string]string{"QueueUrl": f.Environment.Variables[queue], "MessageBody": body})
		if err != nil {
			return err
		}
		_, err = p.call(ctx, http.MethodPost, "/", "AmazonSQS.SendMessage", text)
		return err
	}
}

// tick makes a schedule like the stack's that fires within the minute.
func (p *place) tick(ctx context.Context) error {
	f, err := p.function(ctx, "sweep")
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{
		"ScheduleExpression": "rate(1 minute)", "FlexibleTimeWindow": map[string]any{"Mode": "OFF"},
		"Target": map[string]any{"Arn": f.FunctionArn, "RoleArn": "arn:aws:iam::000000000000:role/tick", "Input": `{"v":1,"at":"<aws.scheduler.scheduled-time>"}`},
	})
	if err != nil {
		return err
	}
	_, err = p.call(ctx, http.MethodPost, "/schedules/recorded", "", text)
	return err
}

// receipts are long, random and of no use to anybody.
var receipts = regexp.MustCompile(`"receiptHandle": "[^"]*"`)

// recorded waits for a function's event, takes it out of the bucket and returns it indented.
func (p *place) recorded(ctx context.Context, function string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	f, err := p.function(ctx, function)
	if err != nil {
		return nil, err
	}
	for {
		text, err := p.call(ctx, http.MethodGet, "/"+p.out.Artifacts+"?list-type=2&prefix=events/"+f.FunctionName+"/", "", nil)
		if err != nil {
			return nil, err
		}
		var list struct{ Contents []struct{ Key string } }
		if err := xml.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		if len(list.Contents) > 0 {
			key := "/" + p.out.Artifacts + "/" + list.Contents[0].Key
			event, err := p.call(ctx, http.MethodGet, key, "", nil)
			if err != nil {
				return nil, err
			}
			if _, err := p.call(ctx, http.MethodDelete, key, "", nil); err != nil {
				return nil, err
			}
			var out bytes.Buffer
			if err := json.Indent(&out, event, "", "  "); err != nil {
				return nil, err
			}
			return append(receipts.ReplaceAll(out.Bytes(), []byte(`"receiptHandle": "handle"`)), '\n'), nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no event for %s arrived", function)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
