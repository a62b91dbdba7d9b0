package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/wardenhq/warden/functions/admin"
	"github.com/wardenhq/warden/functions/check"
	"github.com/wardenhq/warden/functions/topology"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/decide"
)

// newHandler puts all functions behind one handler. given is the hash of the
// operator key of this run, nil for none.
func newHandler(p parts, b *background, ready func(context.Context) error, given []byte, log *slog.Logger) (http.Handler, error) {
	administration, err := admin.New(admin.Config{
		Table: p.store, Writer: p.writer, Clock: clock.System{},
		Auth: &auth.Authenticator{Table: p.store, Clock: clock.System{}, Given: given, Charge: p.charge},
		Log:  log,

		Vault: p.secrets.vault, Targets: p.guard, Deliveries: b.queues[topology.Deliveries], Engine: p.engine, More: b.audit.Endpoints(),
	})
	if err != nil {
		return nil, err
	}
	probes, err := newProbes(ready, log)
	if err != nil {
		return nil, err
	}
	return newMux(topology.Functions(), map[string]http.Handler{
		"admin": administration,
		"check": check.New(check.Config{
			Checker: &decide.Checker{Table: p.store, Snapshots: p.snapshots, Clock: clock.System{}, Cache: p.cache, GivenKey: given, Charge: p.charge},
			Log:     log,
		}),
	}, probes)
}

// mux gives each request to the function whose path it is.
type mux struct {
	routes []mounted
	other  http.Handler // probes, and paths that are nobody's
}

type mounted struct {
	topology.Route
	handler http.Handler
}

func newMux(functions []topology.Function, handlers map[string]http.Handler, other http.Handler) (*mux, error) {
	m := &mux{other: other}
	for _, f := range functions {
		h := handlers[f.Name]
		if h == nil && len(f.Routes) > 0 {
			return nil, fmt.Errorf("serve: no handler for the function %s", f.Name)
		}
		for _, r := range f.Routes {
			m.routes = append(m.routes, mounted{r, h})
		}
	}
	return m, nil
}

// ServeHTTP takes the path as it came, decoded, as API Gateway does.
func (m *mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for i := range m.routes {
		if m.routes[i].Covers(r.URL.Path) {
			m.routes[i].handler.ServeHTTP(w, r)
			return
		}
	}
	m.other.ServeHTTP(w, r)
}
