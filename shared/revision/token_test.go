package revision_test

import (
	"testing"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
)

var (
	scope   = rbac.Must(rbac.ParseScopeID("acme"))
	other   = rbac.Must(rbac.ParseScopeID("Acme"))
	org     = rbac.Must(rbac.ParseOrgID("acme"))
	subject = rbac.Must(rbac.ParseSubjectID("alice"))
)

func TestRoundTrip(t *testing.T) {
	for name, tok := range map[string]revision.Token{
		"no scope":   {},
		"definition": revision.OfDefinition(scope, 0),
		"large":      revision.OfDefinition(scope, 1<<63),
		"many":       revision.OfMany(scope),
		"org":        revision.OfOrg(org),
		"unrelated":  revision.OfScope(scope),
		"policy":     revision.OfPolicy(scope, 3, subject, 1<<63),
	} {
		got, err := revision.Parse(tok.String())
		if err != nil || got != tok {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestBelongs(t *testing.T) {
	tok := revision.OfPolicy(scope, 3, subject, 9)
	if !tok.Of(scope) || tok.Of(other) || !tok.About(subject) || tok.About(rbac.Must(rbac.ParseSubjectID("bob"))) {
		t.Errorf("%+v belongs to the wrong ones", tok)
	}
	if revision.OfDefinition(scope, 3).About(subject) || (revision.Token{}).Of(scope) {
		t.Error("a token without subject or scope belongs to none")
	}
}

func TestManyIsAboutNobody(t *testing.T) {
	tok := revision.OfMany(scope)
	if !tok.Many() || !tok.Of(scope) || tok.Of(other) || tok.About(subject) {
		t.Errorf("%+v", tok)
	}
	if revision.OfPolicy(scope, 3, subject, 9).Many() || revision.OfDefinition(scope, 3).Many() {
		t.Error("a token of one write is of many")
	}
}

func TestOrgWideIsOfNoScope(t *testing.T) {
	tok := revision.OfOrg(org)
	if !tok.OrgWide() || !tok.OfOrg(org) || tok.OfOrg(rbac.Must(rbac.ParseOrgID("other"))) {
		t.Errorf("%+v", tok)
	}
	if tok.Of(scope) || tok.About(subject) || tok.Many() {
		t.Errorf("a token of an org is of something in it: %+v", tok)
	}
	if tok := revision.OfDefinition(scope, 3); tok.OrgWide() || tok.OfOrg(org) {
		t.Errorf("a scope's token is of an org: %+v", tok)
	}
}

func TestRefused(t *testing.T) {
	good := revision.OfPolicy(scope, 3, subject, 9).String()
	for name, s := range map[string]string{
		"empty": "", "text": "revision", "cut": good[:len(good)-2], "padded": good + "==", "changed": "B" + good[1:], "longer": good + "AAAA",
	} {
		if tok, err := revision.Parse(s); err == nil {
			t.Errorf("%s: read as %+v", name, tok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(revision.OfPolicy(scope, 3, subject, 9).String())
	f.Add(revision.OfDefinition(scope, 3).String())
	f.Add(revision.OfOrg(org).String())
	f.Fuzz(func(t *testing.T, s string) {
		tok, err := revision.Parse(s)
		if err != nil {
			return
		}
		if again, err := revision.Parse(tok.String()); err != nil || again != tok {
			t.Fatalf("%q gives %+v, which reads back as %+v, %v", s, tok, again, err)
		}
	})
}
