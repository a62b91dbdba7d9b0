package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/write"
)

// What one request verifies: as many pages as there is time for.
const (
	verifyPage = 100
	verifyTime = 10 * time.Second
)

func (a *api) verification() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Bind(httpapi.Route{
			Name: "scopes.verify", Summary: "Compare policies with their access documents, and mend what differs",
			Method: http.MethodPost, Pattern: "/v1/scopes/{scope}/verify", Permission: writes,
			Success: []int{http.StatusOK}, BodyOptional: true, Errors: []fault.Code{fault.BadCursor},
		}, inScope(a, a.verify)),
	}
}

type verification struct {
	Repair bool   `json:"repair,omitzero"`
	Cursor string `json:"cursor,omitzero"` // next_cursor of the answer before
}

// verify answers what it got through in its time; next_cursor says where to go
// on, and is left out when all was looked at. Each drift is an event.
func (a *api) verify(ctx context.Context, c *httpapi.Call, s write.Scope, body verification) (httpapi.Reply[recompute.Report], error) {
	end := a.clock.Now().Add(verifyTime)
	all := recompute.Report{Drifted: []recompute.Drift{}, Cursor: body.Cursor}
	for {
		r, err := a.engine.Verify(ctx, s.ID, verifyPage, all.Cursor, body.Repair)
		if err != nil {
			return httpapi.Reply[recompute.Report]{}, err
		}
		all.Checked += r.Checked
		all.Drifted = append(all.Drifted, r.Drifted...)
		all.Cursor = r.Cursor
		for _, d := range r.Drifted {
			if err := a.announceDrift(ctx, c, s, d); err != nil {
				return httpapi.Reply[recompute.Report]{}, err
			}
		}
		if all.Cursor == "" || len(all.Drifted) >= verifyPage || !a.clock.Now().Before(end) {
			return httpapi.Reply[recompute.Report]{Body: all, Revision: revision.OfMany(s.ID).String()}, nil
		}
	}
}

func (a *api) announceDrift(ctx context.Context, c *httpapi.Call, s write.Scope, d recompute.Drift) error {
	after, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return a.writer.Announce(ctx, a.request(c), s.Org, s.ID, events.Event{
		Type: events.AccessDriftDetected, Target: events.Target{Type: "policy", ID: d.Subject.String()}, After: after,
	})
}
