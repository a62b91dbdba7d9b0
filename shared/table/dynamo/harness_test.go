package dynamo_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/dynamo"
)

// backend is a server that speaks DynamoDB's protocol.
type backend struct {
	endpoint string
	http     aws.HTTPClient
	streams  bool
}

var tables atomic.Int64

// open makes a table of its own for the test.
func (b backend) open(t *testing.T) (table.Store, table.Feed) {
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &b.endpoint, HTTPClient: b.http,
		Credentials: aws.CredentialsProviderFunc(credentials),
	})
	name := fmt.Sprintf("warden-%d-%d", time.Now().UnixNano(), tables.Add(1))
	made, err := client.CreateTable(t.Context(), dynamo.Schema(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	if made.TableDescription.TableStatus == types.TableStatusCreating {
		wait := dynamodb.NewTableExistsWaiter(client)
		if err := wait.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	store := dynamo.New(client, name, dynamo.Options{})
	if !b.streams {
		return store, nil
	}
	streams := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "us-east-1", BaseEndpoint: &b.endpoint, HTTPClient: b.http,
		Credentials: aws.CredentialsProviderFunc(credentials),
	})
	return store, dynamo.NewFeed(streams, *made.TableDescription.LatestStreamArn)
}

func credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
}

// plain is a client that proxies and certificate settings of the environment don't reach.
func plain() *http.Client { return &http.Client{Transport: &http.Transport{}, Timeout: time.Minute} }
