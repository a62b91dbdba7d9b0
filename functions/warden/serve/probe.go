package serve

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
)

// health is what a probe answers when all is well.
type health struct {
	Status string `json:"status"` // "ok"
}

// newProbes serves /healthz, which says that the process answers, and /readyz,
// which says that its store does.
func newProbes(ready func(context.Context) error, log *slog.Logger) (http.Handler, error) {
	probe := func(name, summary, pattern string, test func(context.Context) error) httpapi.Endpoint {
		route := httpapi.Route{
			Name: name, Summary: summary, Method: http.MethodGet, Pattern: pattern,
			Permission: httpapi.Public, Success: []int{http.StatusOK},
		}
		return httpapi.Bind(route, func(ctx context.Context, _ *httpapi.Call, _ httpapi.None) (httpapi.Reply[health], error) {
			if err := test(ctx); err != nil {
				return httpapi.Reply[health]{}, fault.BusyAfter(time.Second, err)
			}
			return httpapi.Reply[health]{Body: health{Status: "ok"}}, nil
		})
	}
	return httpapi.NewRouter(httpapi.Config{Log: log},
		probe("health.live", "Tell that the process answers", "/healthz", func(context.Context) error { return nil }),
		probe("health.ready", "Tell that the store answers", "/readyz", ready),
	)
}
