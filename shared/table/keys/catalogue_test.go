package keys_test

import (
	"crypto/sha256"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table/keys"
)

// sample ids: each is its placeholder's name in DOMAIN_MODELS.md, and hostile.
var (
	org        = rbac.Must(rbac.ParseOrgID("o#%"))
	scope      = rbac.Must(rbac.ParseScopeID("s#%"))
	subject    = rbac.Must(rbac.ParseSubjectID("u#%"))
	permission = rbac.Must(rbac.ParsePermissionID("p#%"))
	role       = rbac.Must(rbac.ParseRoleID("r#%"))
	apiKey     = rbac.Must(rbac.ParseAPIKeyID("k#%"))
	webhook    = rbac.Must(rbac.ParseWebhookID("w#%"))
	at         = time.Date(2026, 11, 30, 1, 2, 3, 4, time.UTC)
)

// built are the constructors by the catalogue's type.
var built = map[string]keys.Raw{
	"Org":             keys.Org(org).Raw(),
	"Unique":          keys.Unique(keys.UniqueOrgName, "name").Raw(),
	"Scope":           keys.Scope(org, scope).Raw(),
	"Head":            keys.Head(scope).Raw(),
	"Fence":           keys.Fence(scope, 7).Raw(),
	"Permission":      keys.Permission(scope, permission).Raw(),
	"Role":            keys.Role(scope, role).Raw(),
	"Policy":          keys.Policy(scope, subject).Raw(),
	"RoleMember":      keys.RoleMember(scope, role, subject).Raw(),
	"SubjectScope":    keys.SubjectScope(org, subject, scope).Raw(),
	"Access":          keys.Access(scope, subject).Raw(),
	"APIKey":          keys.APIKey(org, apiKey).Raw(),
	"OperatorKey":     keys.OperatorKey(apiKey).Raw(),
	"Member":          keys.Member(org, subject).Raw(),
	"ScopeEvent":      keys.ScopeEvent(scope, 3, at, "evt_1").Raw(),
	"OrgEvent":        keys.OrgEvent(org, at, "evt_1").Raw(),
	"Recompute":       keys.Recompute(scope, 1).Raw(),
	"Task":            keys.Task("k#%").Raw(),
	"Webhook":         keys.Webhook(org, scope, webhook).Raw(),
	"WebhookState":    keys.WebhookState(scope, webhook).Raw(),
	"Delivery":        keys.Delivery(scope, webhook, at, "evt_1").Raw(),
	"ScopeAudit":      keys.ScopeAudit(scope, 7).Raw(),
	"OrgAudit":        keys.OrgAudit(org, 7).Raw(),
	"ScopeChain":      keys.ScopeChain(scope).Raw(),
	"OrgChain":        keys.OrgChain(org).Raw(),
	"ScopeCheckpoint": keys.ScopeCheckpoint(scope, 7, at).Raw(),
	"OrgCheckpoint":   keys.OrgCheckpoint(org, 7, at).Raw(),
	"Suspicion":       keys.Suspicion("shard", "7").Raw(),
	"Idempotency":     keys.Idempotency(sha256.Sum256(nil)).Raw(),
}

type row struct{ kind, pk, sk, state string }

// catalogue reads the table of entities.
func catalogue(t *testing.T) (rows []row) {
	t.Helper()
	text, err := os.ReadFile("../../DOMAIN_MODELS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n## Entities\n")
	body, _, ends := strings.Cut(after, "\n## ")
	if !found || !ends {
		t.Fatal("DOMAIN_MODELS.md has no section Entities")
	}
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 7 || strings.TrimSpace(cells[0]) == "type" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		rows = append(rows, row{cells[0], cells[1], cells[2], cells[5]})
	}
	return rows
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}|<[a-z]+>`)

// pattern makes an expression of a catalogue's pattern: an id matches what an
// escaped id can be, which a separator is never part of.
func pattern(p string) *regexp.Regexp {
	var b strings.Builder
	at := 0
	for _, m := range placeholder.FindAllStringIndex(p, -1) {
		b.WriteString(regexp.QuoteMeta(p[at:m[0]]))
		b.WriteString(map[bool]string{true: `([^#]+)`, false: `([0-9a-zA-Z_.:TZ-]+)`}[p[m[0]] == '{'])
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(p[at:]))
	return regexp.MustCompile("^" + b.String() + "$")
}

func TestCatalogue(t *testing.T) {
	rows := catalogue(t)
	seen := map[string]bool{}
	for _, r := range rows {
		t.Run(r.kind, func(t *testing.T) {
			if seen[r.kind] {
				t.Fatal("listed twice")
			}
			seen[r.kind] = true
			k, ok := built[r.kind]
			if r.state == "planned" {
				if ok {
					t.Fatal("has a constructor, and the catalogue says planned")
				}
				return
			}
			if r.state != "built" || !ok {
				t.Fatalf("state %q, constructor: %v", r.state, ok)
			}
			pk, sk := pattern(r.pk).FindStringSubmatch(k.PK()), pattern(r.sk).FindStringSubmatch(k.SK())
			if pk == nil || sk == nil {
				t.Fatalf("key %s does not have the pattern %s / %s", k, r.pk, r.sk)
			}
			// Each id stands where the catalogue says: the samples are named like the placeholders.
			check := func(p string, got []string) {
				for i, name := range placeholder.FindAllString(p, -1) {
					if name[0] == '{' && got[i+1] != name[1:len(name)-1]+"%1%0" {
						t.Errorf("%s holds %q", name, got[i+1])
					}
				}
			}
			check(r.pk, pk)
			check(r.sk, sk)
		})
	}
	for kind := range built {
		if !seen[kind] {
			t.Errorf("%s has a constructor and no row in the catalogue", kind)
		}
	}
	if len(rows) < 30 {
		t.Errorf("only %d rows were read", len(rows))
	}
}

// TestCatalogueApart: no key of one entity can be a key of another.
func TestCatalogueApart(t *testing.T) {
	rows := catalogue(t)
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			if overlap(a.pk, b.pk) && overlap(a.sk, b.sk) {
				t.Errorf("%s and %s can have one key: %s / %s, %s / %s", a.kind, b.kind, a.pk, a.sk, b.pk, b.sk)
			}
		}
	}
}

// overlap says whether a text can have both patterns. An id may be anything, so
// a placeholder meets every fixed part between the same separators.
func overlap(a, b string) bool {
	as, bs := strings.Split(a, "#"), strings.Split(b, "#")
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		fixedA, fixedB := !placeholder.MatchString(as[i]), !placeholder.MatchString(bs[i])
		if fixedA && fixedB && as[i] != bs[i] {
			return false
		}
	}
	return true
}

func TestLongestKeys(t *testing.T) {
	id := strings.Repeat("#", rbac.MaxID)
	long := strings.Repeat("#", rbac.MaxLongID)
	o, s := rbac.Must(rbac.ParseOrgID(id)), rbac.Must(rbac.ParseScopeID(id))
	u, r := rbac.Must(rbac.ParseSubjectID(long)), rbac.Must(rbac.ParseRoleID(id))
	longest := map[string]struct {
		key    keys.Raw
		pk, sk int
	}{
		"Access":       {keys.Access(s, u).Raw(), len("ACCESS#") + 256 + 1 + 512, len("ACCESS")},
		"SubjectScope": {keys.SubjectScope(o, u, s).Raw(), len("SUBJECT#") + 256 + 1 + 512, len("SCOPE#") + 256},
		"RoleMember":   {keys.RoleMember(s, r, u).Raw(), len("SCOPE#") + 256, len("ROLE_MEMBER#") + 256 + 1 + 512},
		"Policy":       {keys.Policy(s, u).Raw(), len("SCOPE#") + 256, len("POLICY#") + 512},
		"Event":        {keys.ScopeEvent(s, 0, at, strings.Repeat("e", 30)).Raw(), len("EVENT#SCOPE##00") + 256, len("EVENT##") + 30 + 30},
	}
	for name, l := range longest {
		if !l.key.Valid() || len(l.key.PK()) != l.pk || len(l.key.SK()) != l.sk {
			t.Errorf("%s: valid %v, PK %d bytes (want %d), SK %d bytes (want %d)", name, l.key.Valid(), len(l.key.PK()), l.pk, len(l.key.SK()), l.sk)
		}
	}
	name := keys.OrgByName(strings.Repeat("#", rbac.MaxNameBytes), o)
	if len(name.SK()) != 512+1+256 || len(name.SK()) > keys.MaxSK {
		t.Errorf("GSI1 sort key of an org: %d bytes", len(name.SK()))
	}
}

func TestEmptyPartsMakeInvalidKeys(t *testing.T) {
	for name, k := range map[string]keys.Raw{
		"no subject": keys.Policy(scope, rbac.SubjectID{}).Raw(),
		"no scope":   keys.Policy(rbac.ScopeID{}, subject).Raw(),
		"no role":    keys.RoleMember(scope, rbac.RoleID{}, subject).Raw(),
		"no event":   keys.OrgEvent(org, at, "").Raw(),
		"zero":       {},
	} {
		if k.Valid() {
			t.Errorf("%s: %s counts as valid", name, k)
		}
	}
	if p := keys.RoleMembers(scope, rbac.RoleID{}).Prefix(); p != "" {
		t.Errorf("a range of no role has the prefix %q", p)
	}
}

// FuzzKeys: building is injective, over entities and ids, and a prefix covers
// exactly its own items.
func FuzzKeys(f *testing.F) {
	for _, seed := range [][4]string{{"a", "b", "a#b", ""}, {"a", "%0", "a%", "0"}, {"r", "u#x", "r#u", "x"}, {"a", "ab", "ab", "b"}, {"%1", "#", "#", "%1"}} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		s1, err1 := rbac.ParseScopeID(a)
		u1, err2 := rbac.ParseSubjectID(b)
		r1, err3 := rbac.ParseRoleID(b)
		s2, err4 := rbac.ParseScopeID(c)
		u2, err5 := rbac.ParseSubjectID(d)
		r2, err6 := rbac.ParseRoleID(d)
		for _, err := range []error{err1, err2, err3, err4, err5, err6} {
			if err != nil {
				return
			}
		}
		same := a == c && b == d
		pairs := [][2]keys.Raw{
			{keys.Access(s1, u1).Raw(), keys.Access(s2, u2).Raw()},
			{keys.Policy(s1, u1).Raw(), keys.Policy(s2, u2).Raw()},
			{keys.Role(s1, r1).Raw(), keys.Role(s2, r2).Raw()},
			{keys.RoleMember(s1, r1, u2).Raw(), keys.RoleMember(s2, r2, u2).Raw()},
		}
		for _, p := range pairs {
			if (p[0] == p[1]) != same {
				t.Fatalf("%q %q and %q %q: keys %s and %s", a, b, c, d, p[0], p[1])
			}
		}
		all := []keys.Raw{pairs[0][0], pairs[1][0], pairs[2][0], pairs[3][0], keys.Head(s1).Raw(), keys.Fence(s1, 0).Raw()}
		for i, k := range all {
			if slices.Index(all, k) != i {
				t.Fatalf("two entities have the key %s", k)
			}
		}
		members := keys.RoleMembers(s1, r1)
		other := keys.RoleMember(s1, r2, u1).Raw()
		if strings.HasPrefix(other.SK(), members.Prefix()) != (r1 == r2) {
			t.Fatalf("range %s and member %s of roles %q and %q", members.Prefix(), other.SK(), b, d)
		}
		if roles := keys.Roles(s1).Prefix(); strings.HasPrefix(other.SK(), roles) || !strings.HasPrefix(keys.Role(s1, r1).Raw().SK(), roles) {
			t.Fatalf("range %s does not tell roles from members", roles)
		}
	})
}

func TestParse(t *testing.T) {
	if s, err := keys.ParseHead(keys.Head(scope).Raw()); err != nil || s != scope {
		t.Errorf("got %q, %v", s, err)
	}
	if s, u, err := keys.ParseAccess(keys.Access(scope, subject).Raw()); err != nil || s != scope || u != subject {
		t.Errorf("got %q %q, %v", s, u, err)
	}
	if s, err := keys.ParsePolicy(keys.Policy(scope, subject).Raw()); err != nil || s != scope {
		t.Errorf("got %q, %v", s, err)
	}
	if _, err := keys.ParseHead(keys.Org(org).Raw()); err == nil {
		t.Error("an org's key was read as a HEAD's")
	}
	if _, _, err := keys.ParseAccess(keys.Head(scope).Raw()); err == nil {
		t.Error("a HEAD's key was read as a document's")
	}
}
