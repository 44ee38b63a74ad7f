package main

import (
	"context"
	"os"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"companyos/infra/doctor"
	"companyos/infra/setting"
)

// examine is the preflight of a deployment with these settings.
func examine(ctx context.Context, root string, values map[string]string) error {
	s, err := setting.Read(values, root)
	if err != nil {
		return err
	}
	config, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	if s.Region != "" {
		config.Region = s.Region
	}
	return doctor.Doctor{Settings: s, AWS: config}.Examine(ctx, os.Stdout)
}
