package setting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Values collects a deployment's values: the context in the cdk.json of root, over it the CDK CLI's (its -c options),
// over it the `-c key=value` among args. It returns the arguments that are left.
func Values(root string, args []string) (values map[string]string, rest []string, err error) {
	values = map[string]string{}
	text, err := os.ReadFile(filepath.Join(root, "cdk.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err == nil {
		var file struct{ Context map[string]any }
		if err := json.Unmarshal(text, &file); err != nil {
			return nil, nil, fmt.Errorf("cdk.json: %w", err)
		}
		maps.Copy(values, texts(file.Context))
	}
	if text := os.Getenv("CDK_CONTEXT_JSON"); text != "" {
		var cli map[string]any
		if err := json.Unmarshal([]byte(text), &cli); err != nil {
			return nil, nil, fmt.Errorf("CDK_CONTEXT_JSON: %w", err)
		}
		maps.Copy(values, texts(cli))
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg != "-c" {
			rest = append(rest, arg)
			continue
		}
		if len(args) == 0 {
			return nil, nil, errors.New("-c needs key=value")
		}
		key, value, ok := strings.Cut(args[0], "=")
		if !ok {
			return nil, nil, fmt.Errorf("-c %q is not key=value", args[0])
		}
		values[key], args = value, args[1:]
	}
	return values, rest, nil
}

// texts leaves out what is no text, number or truth value: the CDK keeps its own lists and objects in the context.
func texts(context map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range context {
		switch v := value.(type) {
		case string:
			out[key] = v
		case bool, float64:
			out[key] = fmt.Sprint(v)
		}
	}
	return out
}
