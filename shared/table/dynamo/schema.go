package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wardenhq/warden/shared/table/keys"
)

// Names of the attributes. table.Size counts them by these names.
const (
	attrPK        = "PK"
	attrSK        = "SK"
	attrType      = "Type"
	attrVersion   = "Version"
	attrFormat    = "Format"
	attrCreatedAt = "CreatedAt"
	attrUpdatedAt = "UpdatedAt"
	attrActor     = "Actor"
	attrRequestID = "RequestID"
	attrLastEvent = "LastEvent"
	attrTTL       = "TTL"
	attrBody      = "Body"
	attrBlob      = "Blob"
)

// indexAttrs are the names of an index's two key attributes.
func indexAttrs(index keys.Index) (pk, sk string) {
	if index == keys.Table {
		return attrPK, attrSK
	}
	return index.String() + attrPK, index.String() + attrSK
}

// Schema is the table as CreateTable takes it: on demand, four indexes that
// project what table.Project does, and a stream of old and new images.
func Schema(tableName string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:   &tableName,
		BillingMode: types.BillingModePayPerRequest,
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
	for index := range keys.Index(keys.Indexes + 1) {
		pk, sk := indexAttrs(index)
		for _, name := range []string{pk, sk} {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
				AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS,
			})
		}
		schema := []types.KeySchemaElement{
			{AttributeName: aws.String(pk), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sk), KeyType: types.KeyTypeRange},
		}
		if index == keys.Table {
			in.KeySchema = schema
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName:  aws.String(index.String()),
			KeySchema:  schema,
			Projection: projection(index),
		})
	}
	return in
}

func projection(index keys.Index) *types.Projection {
	shown := []string{attrType, attrVersion}
	if index != keys.GSI4 {
		shown = append(shown, attrFormat, attrCreatedAt, attrUpdatedAt, attrBody)
	}
	return &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: shown}
}

// TimeToLive turns the removal of items past their TTL on.
func TimeToLive(tableName string) *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{
		TableName: &tableName,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attrTTL), Enabled: aws.Bool(true),
		},
	}
}
