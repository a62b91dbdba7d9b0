package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Query implements table.Reader. Pages end where DynamoDB ends them, at 1 MB.
func (s *Store) Query(ctx context.Context, q table.Query) (table.Page, error) {
	in, err := s.queryInput(q)
	if err != nil {
		return table.Page{}, err
	}
	out, err := s.client.Query(ctx, in)
	if err != nil {
		return table.Page{}, readError(err)
	}
	page, size := table.Page{Items: make([]*table.Item, len(out.Items))}, 0
	for i, m := range out.Items {
		if page.Items[i], err = decode(m); err != nil {
			return table.Page{}, err
		}
		size += table.Size(page.Items[i])
	}
	if page.Cursor, err = cursor(q, out.LastEvaluatedKey); err != nil {
		return table.Page{}, err
	}
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.QueryUnits(size, q.Consistency)})
	return page, nil
}

func (s *Store) queryInput(q table.Query) (*dynamodb.QueryInput, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	after, resumed, err := table.DecodeCursor(q)
	if err != nil {
		return nil, err
	}
	pk, sk := indexAttrs(q.Index)
	condition, values := pk+" = :pk", attributes{":pk": text(q.PK)}
	switch {
	case q.To != "":
		condition += " AND " + sk + " BETWEEN :from AND :to"
		values[":from"], values[":to"] = text(q.From), text(q.To)
	case q.Prefix != "":
		condition += " AND begins_with(" + sk + ", :prefix)"
		values[":prefix"] = text(q.Prefix)
	}
	in := &dynamodb.QueryInput{
		TableName:                 s.table,
		KeyConditionExpression:    &condition,
		ExpressionAttributeValues: values,
		Limit:                     aws.Int32(int32(q.Limit)),
		ScanIndexForward:          aws.Bool(!q.Descending),
		ConsistentRead:            aws.Bool(bool(q.Consistency)),
	}
	if q.Index != keys.Table {
		in.IndexName = aws.String(q.Index.String())
	}
	if resumed {
		in.ExclusiveStartKey = startKey(q, after)
	}
	return in, nil
}

// startKey is a position as DynamoDB takes it: the whole key of the item, and
// for an index its key there as well.
func startKey(q table.Query, p table.Position) attributes {
	if q.Index == keys.Table {
		return encodeKey(keys.Stored(q.PK, p.SK))
	}
	start := encodeKey(p.Base)
	pk, sk := indexAttrs(q.Index)
	start[pk], start[sk] = text(q.PK), text(p.SK)
	return start
}

// cursor of the page that ended at the key; empty when nothing follows.
func cursor(q table.Query, last attributes) (string, error) {
	if len(last) == 0 {
		return "", nil
	}
	r := decoder{m: last}
	_, sk := indexAttrs(q.Index)
	p := table.Position{SK: r.text(sk)}
	if q.Index != keys.Table {
		p.Base = keys.Stored(r.text(attrPK), r.text(attrSK))
	}
	if r.err != nil {
		return "", r.err
	}
	return table.EncodeCursor(q, p), nil
}
