package httpapi

import (
	"context"
	"reflect"

	"github.com/wardenhq/warden/shared/httpapi/wire"
)

// Endpoint is a route with the handler that serves it. Bind makes one.
type Endpoint struct {
	Route Route
	serve func(ctx context.Context, c *Call, body []byte) (Answer, error)
}

// Bind ties a handler to its route, whose body types are those of the handler.
// Req is a struct (see package wire for what its tags mean), or None for a route
// without a body; Resp likewise.
func Bind[Req, Resp any](route Route, handle func(context.Context, *Call, Req) (Reply[Resp], error)) Endpoint {
	route.Request, route.Response = bodyType[Req](), bodyType[Resp]()
	e := Endpoint{Route: route}
	e.serve = func(ctx context.Context, c *Call, body []byte) (Answer, error) {
		var req Req
		if route.Request != nil {
			if err := wire.Decode(body, &req); err != nil {
				return Answer{}, err
			}
		}
		reply, err := handle(ctx, c, req)
		if err != nil {
			return Answer{}, err
		}
		return reply.Encode(c.route)
	}
	return e
}

func bodyType[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[None]() {
		return nil
	}
	return t
}
