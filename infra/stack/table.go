package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/wardenhq/warden/functions/topology"
)

// newTable makes the one table. It has no name of its own: CloudFormation can
// replace only what it named itself.
func newTable(scope constructs.Construct, schema topology.Table, stage Stage) awsdynamodb.TableV2 {
	removal := awscdk.RemovalPolicy_DESTROY
	if stage == Prod {
		removal = awscdk.RemovalPolicy_RETAIN
	}
	indexes := make([]*awsdynamodb.GlobalSecondaryIndexPropsV2, len(schema.Indexes))
	for i, index := range schema.Indexes {
		indexes[i] = &awsdynamodb.GlobalSecondaryIndexPropsV2{
			IndexName:        jsii.String(index.Name),
			PartitionKey:     key(index.PartitionKey),
			SortKey:          key(index.SortKey),
			ProjectionType:   awsdynamodb.ProjectionType_INCLUDE,
			NonKeyAttributes: jsii.Strings(index.Projects...),
		}
	}
	return awsdynamodb.NewTableV2(scope, jsii.String("Table"), &awsdynamodb.TablePropsV2{
		PartitionKey:           key(schema.PartitionKey),
		SortKey:                key(schema.SortKey),
		GlobalSecondaryIndexes: &indexes,
		TimeToLiveAttribute:    jsii.String(schema.ExpiryAttribute),
		DynamoStream:           awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES,
		Billing:                awsdynamodb.Billing_OnDemand(nil),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		DeletionProtection: jsii.Bool(stage == Prod),
		RemovalPolicy:      removal,
	})
}

func key(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
}
