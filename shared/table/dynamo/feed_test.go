package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/dynamo"
)

// stream is one shard whose records lie between empty stretches: each iterator
// is the index of what GetRecords answers next.
type stream struct {
	shards   [][]types.Shard // pages of DescribeStream
	stretch  [][]string      // sequences of the records of each answer
	closed   bool            // nothing comes after the last stretch
	expire   bool            // the next GetRecords finds its iterator expired
	asked    []string        // positions asked for anew
	iterated []string        // iterators read
}

type streamOptions = func(*dynamodbstreams.Options)

func (s *stream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...streamOptions) (*dynamodbstreams.DescribeStreamOutput, error) {
	page := 0
	if in.ExclusiveStartShardId != nil {
		page = slices.IndexFunc(s.shards, func(shards []types.Shard) bool {
			return *shards[len(shards)-1].ShardId == *in.ExclusiveStartShardId
		}) + 1
	}
	d := &types.StreamDescription{Shards: s.shards[page]}
	if page+1 < len(s.shards) {
		d.LastEvaluatedShardId = s.shards[page][len(s.shards[page])-1].ShardId
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (s *stream) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...streamOptions) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.asked = append(s.asked, aws.ToString(in.SequenceNumber))
	at := 0
	for i, stretch := range s.stretch {
		if slices.Contains(stretch, aws.ToString(in.SequenceNumber)) {
			at = i + 1
		}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(fmt.Sprint(at))}, nil
}

func (s *stream) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...streamOptions) (*dynamodbstreams.GetRecordsOutput, error) {
	if s.expire {
		s.expire = false
		return nil, &types.ExpiredIteratorException{}
	}
	s.iterated = append(s.iterated, *in.ShardIterator)
	var at int
	if _, err := fmt.Sscan(*in.ShardIterator, &at); err != nil {
		return nil, err
	}
	out := &dynamodbstreams.GetRecordsOutput{NextShardIterator: aws.String(fmt.Sprint(at + 1))}
	if at < len(s.stretch) {
		for _, sequence := range s.stretch[at] {
			out.Records = append(out.Records, types.Record{Dynamodb: &types.StreamRecord{
				SequenceNumber: aws.String(sequence),
				NewImage: map[string]types.AttributeValue{
					"PK":      &types.AttributeValueMemberS{Value: "P"},
					"SK":      &types.AttributeValueMemberS{Value: sequence},
					"Version": &types.AttributeValueMemberN{Value: "1"},
				},
			}})
		}
	}
	if s.closed && at+1 >= len(s.stretch) {
		out.NextShardIterator = nil
	}
	return out, nil
}

func TestShardsParentsFirst(t *testing.T) {
	shard := func(id, parent string) types.Shard {
		return types.Shard{ShardId: &id, ParentShardId: &parent}
	}
	feed := dynamo.NewFeed(&stream{shards: [][]types.Shard{
		{shard("c", "b"), shard("d", "trimmed")}, {shard("a", ""), shard("b", "a")},
	}}, "arn")
	got, err := feed.Shards(t.Context())
	if err != nil || !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("shards %v, %v", got, err)
	}
}

// read polls the feed from a position and returns the sequences it tells.
func read(t *testing.T, feed *dynamo.Feed, after string, polls int) []string {
	t.Helper()
	var got []string
	for range polls {
		changes, next, err := feed.Changes(t.Context(), "shard", after, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			got = append(got, c.Sequence)
		}
		if len(changes) > 0 && next != changes[len(changes)-1].Sequence || len(changes) == 0 && next != after {
			t.Fatalf("to go on after %q, %d changes after %q", next, len(changes), after)
		}
		after = next
	}
	return got
}

func TestChangesPassEmptyStretches(t *testing.T) {
	s := &stream{stretch: [][]string{nil, nil, {"1", "2"}, nil, nil, {"3"}}}
	feed := dynamo.NewFeed(s, "arn")
	if got := read(t, feed, "", 7); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("told %v", got)
	}
	if !slices.Equal(s.asked, []string{""}) {
		t.Errorf("positions asked for: %q, want the first only", s.asked)
	}
	if got := read(t, feed, "2", 4); !slices.Equal(got, []string{"3"}) || s.asked[1] != "2" {
		t.Errorf("after 2: told %v, asked for %q", got, s.asked)
	}
}

func TestChangesOfAClosedShard(t *testing.T) {
	s := &stream{stretch: [][]string{{"1"}, nil}, closed: true}
	if got := read(t, dynamo.NewFeed(s, "arn"), "", 5); !slices.Equal(got, []string{"1"}) {
		t.Errorf("told %v", got)
	}
	if len(s.iterated) != 2 {
		t.Errorf("read %v: a closed shard is not read past its end", s.iterated)
	}
}

func TestChangesAfterAnExpiredIterator(t *testing.T) {
	s := &stream{stretch: [][]string{{"1"}, {"2"}}}
	feed := dynamo.NewFeed(s, "arn")
	first := read(t, feed, "", 1)
	s.expire = true
	rest := read(t, feed, "1", 2)
	if got := append(first, rest...); !slices.Equal(got, []string{"1", "2"}) || !slices.Equal(s.asked, []string{"", "1"}) {
		t.Errorf("told %v, asked for %q", got, s.asked)
	}
}

func TestForeignRecordsAreRefused(t *testing.T) {
	foreign := &broken{Record: types.Record{Dynamodb: &types.StreamRecord{
		SequenceNumber: aws.String("1"),
		OldImage:       map[string]types.AttributeValue{"PK": &types.AttributeValueMemberBOOL{Value: true}},
	}}}
	if _, _, err := dynamo.NewFeed(foreign, "arn").Changes(t.Context(), "shard", "", 10); !errors.Is(err, table.ErrFormat) {
		t.Errorf("error %v of a foreign image", err)
	}
	foreign.Dynamodb = nil
	if _, _, err := dynamo.NewFeed(foreign, "arn").Changes(t.Context(), "shard", "", 10); err == nil {
		t.Error("a record without its change was taken")
	}
}

// broken answers one record.
type broken struct {
	stream
	types.Record
}

func (b *broken) GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...streamOptions) (*dynamodbstreams.GetRecordsOutput, error) {
	return &dynamodbstreams.GetRecordsOutput{Records: []types.Record{b.Record}}, nil
}
