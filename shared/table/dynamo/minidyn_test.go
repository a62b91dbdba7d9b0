package dynamo_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	minidyn "github.com/truora/minidyn/server"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/tabletest"
)

// inProcess answers requests by a handler without a socket between.
type inProcess struct{ http.Handler }

func (p inProcess) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestOverMinidyn(t *testing.T) {
	tabletest.Run(t, tabletest.Harness{
		New: func(t *testing.T) (table.Store, table.Feed) {
			return backend{endpoint: "http://minidyn", http: inProcess{minidyn.NewServer()}}.open(t)
		},
		CannotProve: map[string]string{
			"SnapshotGet":     "TransactGetItems takes the lock for each item anew, so transactions get between",
			"QueryCursor":     "a page after a key that was removed meanwhile is empty",
			"QueryPageSize":   "pages have no size limit",
			"TransactReasons": "only the first failed condition is told, and puts and deletes show no item",
			"TransactToken":   "ClientRequestToken is ignored",
			"FeedImages":      "no streams",
			"FeedOrder":       "no streams",
			"FeedResume":      "no streams",
			"Units":           "no ConsumedCapacity, so the cost of a write over an unknown item is an estimate",
		},
	})
}
