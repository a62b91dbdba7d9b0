package decide

import (
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/table/keys"
)

// caller is a bearer's credential, and where that is stored which proves it.
type caller struct {
	cred   auth.Credential
	key    keys.Raw
	stored bool // false: nothing that could prove it is stored; what was given for this run may
}

func (c *Checker) caller(cred auth.Credential) caller {
	switch {
	case c.GivenKey != nil && cred.Is(c.GivenKey):
	case cred.Kind == auth.KindAPIKey:
		return caller{cred, keys.APIKey(cred.Org, cred.ID).Raw(), true}
	case cred.Kind == auth.KindOperator:
		return caller{cred, keys.OperatorKey(cred.ID).Raw(), true}
	}
	return caller{cred: cred}
}

// verify says who the caller is by what was found under its key, and that it may ask.
func (c *Checker) verify(who *caller, found any) (p auth.Principal, err error) {
	switch k := found.(type) {
	case *entity.APIKey:
		p, err = auth.OfAPIKey(who.cred, k, c.Clock.Now())
	case *entity.OperatorKey:
		p, err = auth.OfOperator(who.cred, k.ID.String(), k.Hash)
	default:
		p, err = auth.OfOperator(who.cred, auth.GivenOperator, c.GivenKey)
	}
	switch {
	case err != nil:
		return auth.Principal{}, err
	case !p.May(entity.RightCheck):
		return auth.Principal{}, fault.New(fault.Forbidden, "the key lacks the permission %s", entity.RightCheck)
	}
	return p, nil
}
