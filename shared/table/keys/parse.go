package keys

import (
	"fmt"
	"strings"

	"github.com/wardenhq/warden/shared/rbac"
)

var unescaper = strings.NewReplacer("%0", "%", "%1", "#")

// ParseHead reads the scope off a HEAD's key.
func ParseHead(r Raw) (rbac.ScopeID, error) {
	parts, err := split(r.pk, "HEAD", 1)
	if err != nil {
		return rbac.ScopeID{}, err
	}
	return rbac.ParseScopeID(parts[0])
}

// ParseAccess reads scope and subject off an access document's key.
func ParseAccess(r Raw) (s rbac.ScopeID, u rbac.SubjectID, err error) {
	parts, err := split(r.pk, "ACCESS", 2)
	if err != nil {
		return s, u, err
	}
	if s, err = rbac.ParseScopeID(parts[0]); err != nil {
		return s, u, err
	}
	u, err = rbac.ParseSubjectID(parts[1])
	return s, u, err
}

// split undoes join.
func split(key, name string, n int) ([]string, error) {
	parts := strings.Split(key, "#")
	if parts[0] != name || len(parts) != n+1 {
		return nil, fmt.Errorf("keys: %q is no key of %s", key, name)
	}
	for i := range parts {
		parts[i] = unescaper.Replace(parts[i])
	}
	return parts[1:], nil
}

// ParsePolicy reads the scope off a policy's key.
func ParsePolicy(r Raw) (rbac.ScopeID, error) {
	parts, err := split(r.pk, "SCOPE", 1)
	if err != nil {
		return rbac.ScopeID{}, err
	}
	return rbac.ParseScopeID(parts[0])
}
