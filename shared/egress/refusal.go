package egress

import (
	"errors"
	"net/netip"
)

// ErrRefusedTarget is every *RefusedError: Warden does not call that target.
var ErrRefusedTarget = errors.New("egress: refused target")

// Reason is the part of a target for which it is refused; a stable word.
type Reason string

// The reasons to refuse a target.
const (
	ReasonURL      Reason = "url"      // no URL in the one form that all parsers read alike
	ReasonScheme   Reason = "scheme"   // not https
	ReasonUserinfo Reason = "userinfo" // credentials in the URL
	ReasonFragment Reason = "fragment" // never sent, so it can only mislead
	ReasonHost     Reason = "host"     // no host name, or an address in another than its canonical form
	ReasonPort     Reason = "port"     // no port from 1 to 65535
	ReasonName     Reason = "name"     // a name that the public DNS does not serve
	ReasonAddress  Reason = "address"  // an address that is not public
)

// RefusedError says why a target is refused. It repeats nothing of the URL,
// whose path and query may hold secrets.
type RefusedError struct {
	Reason Reason
	Detail string     // a sentence for whoever named the target
	Addr   netip.Addr // for ReasonAddress; for the operator's log only: it tells what an internal name resolves to
}

func (e *RefusedError) Error() string {
	return ErrRefusedTarget.Error() + ": " + string(e.Reason) + ": " + e.Detail
}

// Is makes every RefusedError an ErrRefusedTarget.
func (e *RefusedError) Is(target error) bool { return target == ErrRefusedTarget }

func refuse(reason Reason, detail string) error { return &RefusedError{Reason: reason, Detail: detail} }
