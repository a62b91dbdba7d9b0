package stack_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/wardenhq/warden/functions/topology"
	"github.com/wardenhq/warden/infra/stack"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// synthesize is the template as the CDK's command line makes it: with the
// feature flags of cdk.json.
func synthesize(t *testing.T, stage stack.Stage) assertions.Template {
	t.Helper()
	raw, err := os.ReadFile("../cdk.json")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Context map[string]any `json:"context"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{Context: &config.Context})
	return assertions.Template_FromStack(stack.New(app, stage), nil)
}

// holds fails the test where the assertion panics, as the CDK's do.
func holds(t *testing.T, assert func()) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Helper()
			t.Errorf("%v", r)
		}
	}()
	assert()
}

const tableType = "AWS::DynamoDB::GlobalTable"

func TestTableHasTheTopologysSchema(t *testing.T) {
	template := synthesize(t, stack.Dev)
	schema := topology.DataTable()

	var attributes, indexes []any
	attribute := func(name string) {
		attributes = append(attributes, map[string]any{"AttributeName": name, "AttributeType": "S"})
	}
	attribute(schema.PartitionKey)
	attribute(schema.SortKey)
	for _, index := range schema.Indexes {
		attribute(index.PartitionKey)
		attribute(index.SortKey)
		indexes = append(indexes, map[string]any{
			"IndexName":  index.Name,
			"KeySchema":  keySchema(index.PartitionKey, index.SortKey),
			"Projection": map[string]any{"ProjectionType": "INCLUDE", "NonKeyAttributes": index.Projects},
		})
	}
	holds(t, func() {
		template.HasResourceProperties(jsii.String(tableType), map[string]any{
			"KeySchema":               keySchema(schema.PartitionKey, schema.SortKey),
			"AttributeDefinitions":    attributes,
			"GlobalSecondaryIndexes":  indexes,
			"TimeToLiveSpecification": map[string]any{"AttributeName": schema.ExpiryAttribute, "Enabled": true},
		})
	})
}

func keySchema(partition, sort string) []any {
	return []any{
		map[string]any{"AttributeName": partition, "KeyType": "HASH"},
		map[string]any{"AttributeName": sort, "KeyType": "RANGE"},
	}
}

func TestTableKeepsItsPromisesInEveryStage(t *testing.T) {
	for _, stage := range []stack.Stage{stack.Dev, stack.Prod} {
		t.Run(string(stage), func(t *testing.T) {
			template := synthesize(t, stage)
			holds(t, func() { template.ResourceCountIs(jsii.String(tableType), jsii.Number(1)) })
			holds(t, func() {
				template.HasResourceProperties(jsii.String(tableType), map[string]any{
					"BillingMode":         "PAY_PER_REQUEST",
					"StreamSpecification": map[string]any{"StreamViewType": "NEW_AND_OLD_IMAGES"},
					"Replicas": []any{assertions.Match_ObjectLike(&map[string]any{
						"DeletionProtectionEnabled":        stage == stack.Prod,
						"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
					})},
				})
			})
		})
	}
}

func TestOnlyProdKeepsItsDataWhenTheStackGoes(t *testing.T) {
	for stage, policy := range map[stack.Stage]string{stack.Dev: "Delete", stack.Prod: "Retain"} {
		t.Run(string(stage), func(t *testing.T) {
			template := synthesize(t, stage)
			holds(t, func() {
				template.HasResource(jsii.String(tableType), map[string]any{
					"DeletionPolicy":      policy,
					"UpdateReplacePolicy": policy,
				})
			})
		})
	}
}

// A name of our own would keep CloudFormation from ever replacing the table.
func TestTableIsNamedByCloudFormation(t *testing.T) {
	template := synthesize(t, stack.Dev)
	holds(t, func() {
		template.HasResourceProperties(jsii.String(tableType), map[string]any{"TableName": assertions.Match_Absent()})
	})
}

func TestParseStage(t *testing.T) {
	for name, want := range map[string]stack.Stage{"": stack.Dev, "dev": stack.Dev, "prod": stack.Prod} {
		if got, err := stack.ParseStage(name); err != nil || got != want {
			t.Errorf("ParseStage(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"Prod", "production", " dev"} {
		if got, err := stack.ParseStage(name); err == nil {
			t.Errorf("ParseStage(%q) = %q, want an error", name, got)
		}
	}
}
