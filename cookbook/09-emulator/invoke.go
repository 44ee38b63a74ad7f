package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// invoke calls a function as its trigger does.
func (p *place) invoke(ctx context.Context, function, event string) error {
	name, err := p.functionName(ctx, function)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.emulator.url+"/2015-03-31/functions/"+name+"/invocations", strings.NewReader(event))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Amz-Function-Error") != "" {
		return fmt.Errorf("%s: %s %s", function, res.Status, text)
	}
	return nil
}

// makeRepository makes the registry's repository.
func (p *place) makeRepository(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.emulator.url, strings.NewReader(`{"repositoryName":"`+repository+`"}`))
	if err != nil {
		return err
	}
	req.Header.Set("X-Amz-Target", "AmazonEC2ContainerRegistry_V20150921.CreateRepository")
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
		return fmt.Errorf("make the repository: %s %s", res.Status, text)
	}
	return nil
}

// functionName is the name that CloudFormation gave to a function of the stack.
func (p *place) functionName(ctx context.Context, function string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.emulator.url+"/2015-03-31/functions", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var list struct {
		Functions []struct{ FunctionName string }
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		return "", err
	}
	for _, f := range list.Functions {
		if strings.HasPrefix(f.FunctionName, stack+"-"+function+"-") {
			return f.FunctionName, nil
		}
	}
	return "", fmt.Errorf("no function %s among %v", function, list.Functions)
}
