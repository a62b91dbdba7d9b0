package dynamo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/wardenhq/warden/shared/table"
)

// StreamsAPI is what the feed calls of *dynamodbstreams.Client.
type StreamsAPI interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Feed is a table.Feed over DynamoDB Streams: for tools and tests; the stream
// functions are given their records by Lambda. Safe for concurrent use.
//
// A shard's changes come before those of its successors; whoever needs an
// item's changes in order reads the shards in the order that Shards gives.
type Feed struct {
	client StreamsAPI
	stream string

	mu        sync.Mutex
	iterators map[position]iterator
}

// position is a shard's sequence to go on after.
type position struct{ shard, after string }

// iterator is the stream's own place for a position. It moves on even where no
// record shows: a sparse shard's empty stretches are long, and asking for the
// position anew would never get past them.
type iterator struct {
	token string
	ended bool // the shard is closed and was read to its end
}

// maxRecords is the most that GetRecords returns.
const maxRecords = 1000

// NewFeed is the feed of a table's stream.
func NewFeed(client StreamsAPI, streamARN string) *Feed {
	return &Feed{client: client, stream: streamARN, iterators: map[position]iterator{}}
}

// Shards implements table.Feed: the shards kept, parents before children.
func (f *Feed) Shards(ctx context.Context) ([]string, error) {
	var shards []streamtypes.Shard
	var from *string
	for {
		out, err := f.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{
			StreamArn: &f.stream, ExclusiveStartShardId: from,
		})
		if err != nil {
			return nil, fmt.Errorf("dynamo: describe stream: %w", err)
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if from = out.StreamDescription.LastEvaluatedShardId; from == nil {
			return parentsFirst(shards), nil
		}
	}
}

func parentsFirst(shards []streamtypes.Shard) []string {
	parent := make(map[string]string, len(shards))
	for _, s := range shards {
		parent[aws.ToString(s.ShardId)] = aws.ToString(s.ParentShardId)
	}
	names, placed := make([]string, 0, len(shards)), make(map[string]bool, len(shards))
	var place func(string)
	place = func(name string) {
		above, kept := parent[name]
		if !kept || placed[name] {
			return
		}
		placed[name] = true
		place(above)
		names = append(names, name)
	}
	for _, s := range shards {
		place(aws.ToString(s.ShardId))
	}
	return names
}

// Changes implements table.Feed.
func (f *Feed) Changes(ctx context.Context, shard, after string, limit int) ([]table.Change, string, error) {
	at := position{shard, after}
	it, err := f.iterator(ctx, at)
	if err != nil || it.ended || limit < 1 {
		return nil, after, err
	}
	out, err := f.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: &it.token, Limit: aws.Int32(int32(min(limit, maxRecords))),
	})
	if err != nil {
		f.forget(at)
		if as[*streamtypes.ExpiredIteratorException](err) {
			return nil, after, nil // the next call asks for the position anew
		}
		return nil, after, fmt.Errorf("dynamo: read shard: %w", err)
	}
	changes := make([]table.Change, len(out.Records))
	for i, r := range out.Records {
		if changes[i], err = change(shard, r); err != nil {
			return nil, after, err
		}
	}
	next := after
	if len(changes) > 0 {
		next = changes[len(changes)-1].Sequence
	}
	f.keep(at, position{shard, next}, iterator{token: aws.ToString(out.NextShardIterator), ended: out.NextShardIterator == nil})
	return changes, next, nil
}

func (f *Feed) iterator(ctx context.Context, at position) (iterator, error) {
	f.mu.Lock()
	it, known := f.iterators[at]
	f.mu.Unlock()
	if known {
		return it, nil
	}
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &f.stream, ShardId: &at.shard, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	if at.after != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &at.after
	}
	out, err := f.client.GetShardIterator(ctx, in)
	if err != nil {
		return iterator{}, fmt.Errorf("dynamo: shard position: %w", err)
	}
	return iterator{token: aws.ToString(out.ShardIterator)}, nil
}

func (f *Feed) keep(read, next position, it iterator) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.iterators, read)
	f.iterators[next] = it
}

func (f *Feed) forget(at position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.iterators, at)
}

// errRecord: a record that is not of a table's stream with both images.
var errRecord = errors.New("dynamo: incomplete stream record")

func change(shard string, r streamtypes.Record) (table.Change, error) {
	d := r.Dynamodb
	if d == nil || d.SequenceNumber == nil {
		return table.Change{}, errRecord
	}
	c := table.Change{Shard: shard, Sequence: *d.SequenceNumber, At: aws.ToTime(d.ApproximateCreationDateTime)}
	var err error
	if c.Old, err = image(d.OldImage); err != nil {
		return table.Change{}, err
	}
	c.New, err = image(d.NewImage)
	return c, err
}

// image reads an image; the two services have types of their own for the same attributes.
func image(m map[string]streamtypes.AttributeValue) (*table.Item, error) {
	same := make(attributes, len(m))
	for name, v := range m {
		switch v := v.(type) {
		case *streamtypes.AttributeValueMemberS:
			same[name] = &types.AttributeValueMemberS{Value: v.Value}
		case *streamtypes.AttributeValueMemberN:
			same[name] = &types.AttributeValueMemberN{Value: v.Value}
		case *streamtypes.AttributeValueMemberB:
			same[name] = &types.AttributeValueMemberB{Value: v.Value}
		default:
			return nil, fmt.Errorf("%w: attribute %s", table.ErrFormat, name)
		}
	}
	return decodeFound(same)
}
