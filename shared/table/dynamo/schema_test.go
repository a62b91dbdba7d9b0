package dynamo_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/dynamo"
	"github.com/wardenhq/warden/shared/table/keys"
)

func TestSchema(t *testing.T) {
	in := dynamo.Schema("T")
	if *in.TableName != "T" || in.BillingMode != types.BillingModePayPerRequest {
		t.Errorf("table %s, billing %s", *in.TableName, in.BillingMode)
	}
	if s := in.StreamSpecification; !*s.StreamEnabled || s.StreamViewType != types.StreamViewTypeNewAndOldImages {
		t.Errorf("stream %+v", s)
	}
	if len(in.AttributeDefinitions) != 10 || len(in.GlobalSecondaryIndexes) != keys.Indexes {
		t.Errorf("%d key attributes, %d indexes", len(in.AttributeDefinitions), len(in.GlobalSecondaryIndexes))
	}
	list := []string{"Type", "Version", "Format", "CreatedAt", "UpdatedAt", "Body"}
	for i, shown := range [][]string{list, list, list, {"Type", "Version"}} {
		index := in.GlobalSecondaryIndexes[i]
		name := keys.Index(i + 1).String()
		if *index.IndexName != name || *index.KeySchema[0].AttributeName != name+"PK" || *index.KeySchema[1].AttributeName != name+"SK" {
			t.Errorf("index %d: %s by %s and %s", i, *index.IndexName, *index.KeySchema[0].AttributeName, *index.KeySchema[1].AttributeName)
		}
		if p := index.Projection; p.ProjectionType != types.ProjectionTypeInclude || !slices.Equal(p.NonKeyAttributes, shown) {
			t.Errorf("%s projects %v", name, p.NonKeyAttributes)
		}
	}
	if ttl := dynamo.TimeToLive("T"); *ttl.TimeToLiveSpecification.AttributeName != "TTL" || !*ttl.TimeToLiveSpecification.Enabled {
		t.Errorf("TTL %+v", ttl.TimeToLiveSpecification)
	}
}

// TestSizeIsThatOfTheAttributes holds table.Size to what is written: names and
// values by DynamoDB's rules ("Item sizes and formats").
func TestSizeIsThatOfTheAttributes(t *testing.T) {
	var written attributes
	store := dynamo.New(fake{write: func(in *dynamodb.TransactWriteItemsInput) (*dynamodb.TransactWriteItemsOutput, error) {
		written = in.TransactItems[0].Put.Item
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}}, "T", dynamo.Options{})
	text := rapid.StringN(1, 20, 60)
	rapid.Check(t, func(t *rapid.T) {
		it := item(text.Draw(t, "sk"), rapid.Uint64Min(1).Draw(t, "version"))
		it.Format = rapid.IntRange(0, 1_000_000).Draw(t, "format")
		it.Actor = rapid.String().Draw(t, "actor")
		it.LastEvent = rapid.String().Draw(t, "event")
		it.TTL = rapid.Int64Min(0).Draw(t, "ttl")
		it.Body = []byte(rapid.String().Draw(t, "body"))
		it.Blob = rapid.SliceOf(rapid.Byte()).Draw(t, "blob")
		if i := rapid.IntRange(0, keys.Indexes).Draw(t, "index"); i > 0 {
			it.Index[i-1] = keys.StoredIndexKey(text.Draw(t, "index pk"), text.Draw(t, "index sk"))
		}
		if err := store.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Put(it, table.Any())}}); err != nil {
			t.Fatal(err)
		}
		size := 0
		for name, v := range written {
			size += len(name)
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				size += len(v.Value)
				if !utf8.ValidString(v.Value) {
					t.Fatalf("%s is not UTF-8", name)
				}
			case *types.AttributeValueMemberB:
				size += len(v.Value)
			case *types.AttributeValueMemberN:
				size += (len(v.Value)+1)/2 + 1
			default:
				t.Fatalf("%s is a %T", name, v)
			}
		}
		if got := table.Size(it); got != size {
			t.Fatalf("size %d, its attributes have %d: %v", got, size, written)
		}
	})
}
