package main

import (
	"context"
	"os"

	"companyos/infra/doctor"
	"companyos/infra/setting"
)

// examine is the preflight of a deployment with these settings.
func examine(ctx context.Context, root string, values map[string]string) error {
	s, err := setting.Read(values, root)
	if err != nil {
		return err
	}
	return doctor.Run(ctx, s, os.Stdout)
}
