package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// log writes the request's line: an error for what is ours (5xx) and for answers
// that the route does not declare, else information. A caller that went away is
// no error of ours.
func (rt *Router) log(x *exchange, status int, err error) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", x.requestID),
		slog.String("method", x.r.Method),
		slog.Int("status", status),
		slog.Float64("duration_ms", float64(time.Since(x.began).Microseconds())/1000),
		slog.String("cost", x.meter.Cost().String()),
		slog.String("source", Source(x.r)),
	}
	if x.principal != nil {
		attrs = append(attrs, slog.String("principal", x.principal.ID()))
	}
	if x.endpoint == nil {
		attrs = append(attrs, slog.String("path_begins", beginning(x.r.URL.Path)))
	} else {
		attrs = append(attrs, slog.String("route", x.endpoint.Route.Name))
		if !x.endpoint.declares(status, err) {
			level = slog.LevelError
			attrs = append(attrs, slog.Bool("undeclared", true))
		}
	}
	if err != nil {
		attrs = append(attrs, slog.String("code", string(Fault(err).Code)))
	}
	switch gone := errors.Is(err, context.Canceled) && x.r.Context().Err() != nil; {
	case gone:
		attrs = append(attrs, slog.Bool("caller_gone", true))
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if x.stack != nil {
		attrs = append(attrs, slog.String("stack", string(x.stack)))
	}
	rt.config.Log.LogAttrs(context.WithoutCancel(x.r.Context()), level, "request", attrs...)
}

// maxBeginning is the longest first segment that a log shows.
const maxBeginning = 32

// beginning is the first segment of a path that leads nowhere: enough to tell a
// client's wrong address from a scanner, and never an id or a key. A segment that
// no API would begin with is shown as `…`.
func beginning(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if len(first) > maxBeginning || strings.Trim(first, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return "/…"
	}
	return "/" + first
}

// declares says whether the route's declaration has the answer.
func (e *endpoint) declares(status int, err error) bool {
	if err != nil {
		return e.errors[Fault(err).Code]
	}
	return slices.Contains(e.Route.Success, status)
}
