package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// functions of the stack.
var functions = []string{"api", "dispatch", "execute", "sweep", "migrate"}

// wait tells how to reach the deployment, in lines that a shell reads, and leaves it running.
func (p *place) wait(ctx context.Context) error {
	token, err := p.issuer.token("alice", adminGroup)
	if err != nil {
		return err
	}
	// Functions in containers reach no loopback address of this machine, so theirs is another issuer.
	outside, err := startIssuer(p.bridge)
	if err != nil {
		return err
	}
	defer outside.server.Close()
	local, err := outside.token("alice", adminGroup)
	if err != nil {
		return err
	}
	variables, err := p.variables(ctx, outside.url)
	if err != nil {
		return err
	}
	file := filepath.Join(p.folder, "variables.json")
	if err := os.WriteFile(file, variables, 0o600); err != nil {
		return err
	}
	fmt.Printf("AWS_ENDPOINT_URL=%s\nURL='%s'\nTOKEN=%s\nLOCAL_TOKEN=%s\nTEMPLATE=%s\nVARIABLES=%s\nLOG=%s\nREADY=1\n",
		p.emulator.url, p.apiURL(), token, local, filepath.Join(p.folder, "cdk.out", stack+".template.json"), file, p.emulator.log)
	<-ctx.Done()
	return nil
}

// variables are the deployed functions' environments in the form of the SAM CLI's --env-vars: a template holds only
// references to what has been deployed. TOKEN is for the deployed API, LOCAL_TOKEN for one in a container.
func (p *place) variables(ctx context.Context, issuer string) ([]byte, error) {
	all := map[string]map[string]string{}
	for _, name := range functions {
		f, err := p.function(ctx, name)
		if err != nil {
			return nil, err
		}
		all[name] = f.Environment.Variables
	}
	all["api"]["COMPANY_JWT_ISSUER"] = issuer
	return json.MarshalIndent(all, "", "  ")
}
