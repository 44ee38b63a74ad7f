package api

import (
	"net/http"

	"companyos/shared/task"
)

// sandboxToken reads a sandbox's token by its form alone: a launch token opens claim, a session token the other routes.
// A person's token has another form and opens none.
func sandboxToken(r *http.Request, route string) (task.Token, error) {
	raw, err := bearer(r)
	if err != nil {
		return task.Token{}, err
	}
	wanted := task.TokenSession
	if route == "sandbox.claim" {
		wanted = task.TokenLaunch
	}
	token, ok := task.ParseToken(raw)
	if !ok || token.Kind != wanted {
		return task.Token{}, unauthorized("token_invalid", "Invalid token")
	}
	return token, nil
}
