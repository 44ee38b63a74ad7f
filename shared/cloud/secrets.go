package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"golang.org/x/sync/errgroup"

	"companyos/shared/executor"
)

// secretsAtOnce is how many secrets are read at the same time.
const secretsAtOnce = 8

// SecretReader reads the values of secrets by their names.
type SecretReader = func(ctx context.Context, names []string) (map[string]string, error)

// Secrets reads the values that an executor lists: each is the secret <prefix>/NAME.
func Secrets(a aws.Config, prefix string) SecretReader {
	client := secretsmanager.NewFromConfig(a)
	return func(ctx context.Context, names []string) (map[string]string, error) {
		values := make(map[string]string, len(names))
		var mu sync.Mutex
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(secretsAtOnce)
		for _, name := range names {
			group.Go(func() error {
				value, err := secret(ctx, client, prefix+"/"+name)
				if errors.Is(err, errNoSecret) {
					err = executor.MissingSecret(name, "Create "+prefix+"/"+name+" in Secrets Manager.")
				}
				mu.Lock()
				defer mu.Unlock()
				values[name] = value
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		return values, nil
	}
}

var errNoSecret = errors.New("a secret is missing")

// secret reads one secret, which has to be a text.
func secret(ctx context.Context, client *secretsmanager.Client, name string) (string, error) {
	out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &name})
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return "", fmt.Errorf("%w: %s does not exist; create it in Secrets Manager", errNoSecret, name)
	}
	if err != nil {
		return "", fmt.Errorf("read the secret %s: %w", name, err)
	}
	value := strings.TrimSpace(aws.ToString(out.SecretString))
	if value == "" {
		return "", fmt.Errorf("%w: %s holds no text", errNoSecret, name)
	}
	return value, nil
}
