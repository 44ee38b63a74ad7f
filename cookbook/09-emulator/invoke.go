package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The emulator takes unsigned requests; these are the few calls for which the example links no SDK.

// call sends one and returns the answer's body.
func (p *place) call(ctx context.Context, method, path, target string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.emulator.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if target != "" {
		req.Header.Set("X-Amz-Target", target)
		req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	if strings.HasPrefix(path, "/schedules/") { // the one path that does not tell its service
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=company-emulator/20261201/"+region+"/scheduler/aws4_request, SignedHeaders=host, Signature=0")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices || res.Header.Get("X-Amz-Function-Error") != "" {
		return nil, fmt.Errorf("%s %s: %s %s", method, path, res.Status, text)
	}
	return text, nil
}

// makeRepository makes the registry's repository.
func (p *place) makeRepository(ctx context.Context) error {
	_, err := p.call(ctx, http.MethodPost, "/", "AmazonEC2ContainerRegistry_V20150921.CreateRepository", []byte(`{"repositoryName":"`+repository+`"}`))
	return err
}

// invoke calls a function as its trigger does.
func (p *place) invoke(ctx context.Context, function, event string) error {
	f, err := p.function(ctx, function)
	if err != nil {
		return err
	}
	_, err = p.call(ctx, http.MethodPost, "/2015-03-31/functions/"+f.FunctionName+"/invocations", "", []byte(event))
	return err
}

// deployed is what Lambda says of a function.
type deployed struct {
	FunctionName string
	FunctionArn  string
	Environment  struct{ Variables map[string]string }
}

// function finds a function of the stack by the beginning of the name that CloudFormation gave it.
func (p *place) function(ctx context.Context, name string) (deployed, error) {
	text, err := p.call(ctx, http.MethodGet, "/2015-03-31/functions", "", nil)
	if err != nil {
		return deployed{}, err
	}
	var list struct{ Functions []deployed }
	if err := json.Unmarshal(text, &list); err != nil {
		return deployed{}, err
	}
	for _, f := range list.Functions {
		if strings.HasPrefix(f.FunctionName, stack+"-"+name+"-") {
			return f, nil
		}
	}
	return deployed{}, fmt.Errorf("no function %s among %d", name, len(list.Functions))
}
