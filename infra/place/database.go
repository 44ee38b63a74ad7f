package place

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdsql"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Database is where the rows are: an Aurora DSQL cluster, or any PostgreSQL whose URL is a secret.
type Database struct {
	cluster awsdsql.CfnCluster        // nil for a URL
	secret  awssecretsmanager.ISecret // nil for DSQL
	name    string                    // of the secret
}

// NewDSQL makes a cluster of Aurora DSQL. It costs nothing while idle, and outlives its stack.
func NewDSQL(scope constructs.Construct, id string) *Database {
	cluster := awsdsql.NewCfnCluster(scope, jsii.String(id), &awsdsql.CfnClusterProps{DeletionProtectionEnabled: jsii.Bool(true)})
	cluster.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN, nil)
	return &Database{cluster: cluster}
}

// DatabaseByURL is a PostgreSQL that somebody else keeps. The secret exists before the stack.
func DatabaseByURL(scope constructs.Construct, id, secret string) *Database {
	return &Database{name: secret, secret: awssecretsmanager.Secret_FromSecretNameV2(scope, jsii.String(id), jsii.String(secret))}
}

// DatabaseUser is the role inside the database that a function signs in as.
func DatabaseUser(function string) string { return "company_" + function }

// Serves lets a function sign in. With DSQL its IAM role is its password: no secret exists.
func (d *Database) Serves(fn *Function, function string) {
	if d.cluster == nil {
		d.secret.GrantRead(fn.Role, nil)
		fn.Set(map[string]*string{"COMPANY_DATABASE_SECRET": jsii.String(d.name)})
		return
	}
	d.admit(fn, "dsql:DbConnect", DatabaseUser(function))
}

// Migrates lets a function change the schema.
func (d *Database) Migrates(fn *Function) {
	if d.cluster == nil {
		d.Serves(fn, "migrate")
		return
	}
	d.admit(fn, "dsql:DbConnectAdmin", "admin")
}

// Roles are the IAM roles that the migration admits to the database, by their names in it. Nil where a URL signs in.
func (d *Database) Roles(functions map[string]*Function) map[string]any {
	if d.cluster == nil {
		return nil
	}
	roles := map[string]any{}
	for name, fn := range functions {
		roles[DatabaseUser(name)] = fn.Role.RoleArn()
	}
	return roles
}

func (d *Database) admit(fn *Function, action, user string) {
	fn.Allow(awsiam.PolicyStatementProps{Actions: jsii.Strings(action), Resources: &[]*string{d.cluster.AttrResourceArn()}})
	fn.Set(map[string]*string{"COMPANY_DSQL_ENDPOINT": d.cluster.AttrEndpoint(), "COMPANY_DSQL_USER": jsii.String(user)})
}
