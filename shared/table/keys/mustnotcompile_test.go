package keys_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// preamble is in front of every snippet; it compiles.
const preamble = `package outside

import (
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table/keys"
)

var (
	org        rbac.OrgID
	scope      rbac.ScopeID
	role       rbac.RoleID
	permission rbac.PermissionID
	subject    rbac.SubjectID

	roleKey                           = keys.Role(scope, role)
	roles                             = keys.Roles(scope)
	_       keys.Key[entity.Role]     = roleKey
	_       keys.Range[entity.Role]   = roles
	_                                 = roleKey == keys.Role(scope, role)
	_                                 = role == rbac.Must(rbac.ParseRoleID("a"))
)

func read[E any](keys.Key[E]) (e E)    { return e }
func list[E any](keys.Range[E]) (e []E) { return e }

`

// TestMustNotCompile holds what the type system has to refuse. Each snippet
// stands outside of the packages that make ids and keys.
func TestMustNotCompile(t *testing.T) {
	imports := compiled(t, "github.com/wardenhq/warden/shared/table/keys")
	if errs := check(t, imports, ""); len(errs) > 0 {
		t.Fatalf("the preamble does not compile: %v", errs)
	}
	for name, c := range map[string]struct{ code, want string }{
		"converting an id to another kind":  {`var _ = rbac.RoleID(permission)`, "cannot convert permission"},
		"assigning an id of another kind":   {`var _ rbac.RoleID = permission`, "cannot use permission"},
		"comparing ids of two kinds":        {`var _ = role == permission`, "mismatched types"},
		"an id from a text":                 {`var _ = rbac.RoleID("admin")`, `cannot convert "admin"`},
		"an id from a text, implicitly":     {`var _ rbac.RoleID = "admin"`, `cannot use "admin"`},
		"an id by a literal":                {`var _ = rbac.RoleID{s: "admin"}`, "cannot refer to unexported field s"},
		"an id by an unnamed literal":       {`var _ = rbac.RoleID{[0]*int{}, "admin"}`, "implicit assignment to unexported field"},
		"a kind of one's own":               {`type mine struct{}; var _ rbac.ID[mine]`, "mine does not satisfy"},
		"an id converted through its text":  {`var _ rbac.RoleID = permission.String()`, "cannot use permission.String()"},
		"a definition's name by a literal":  {`var _ = rbac.DefinitionID{"role", "admin"}`, "implicit assignment to unexported field"},
		"swapping the parts of a key":       {`var _ = keys.Role(rbac.ScopeID(role), role)`, "cannot convert role"},
		"swapped ids in a key":              {`var _ = keys.RoleMember(scope, subject, role)`, "cannot use subject"},
		"a permission's id in a role's key": {`var _ = keys.Role(scope, permission)`, "cannot use permission"},
		"an org's id for a scope's":         {`var _ = keys.Role(org, role)`, "cannot use org"},
		"a text in a key":                   {`var _ = keys.Role("acme", role)`, `cannot use "acme"`},
		"a key for another entity":          {`var _ keys.Key[entity.Policy] = roleKey`, "cannot use roleKey"},
		"converting a key":                  {`var _ = keys.Key[entity.Policy](roleKey)`, "cannot convert roleKey"},
		"comparing keys of two entities":    {`var _ = roleKey == keys.Policy(scope, subject)`, "mismatched types"},
		"reading a role into a policy":      {`var _ entity.Policy = read(roleKey)`, "cannot use read(roleKey)"},
		"reading a role key as a policy's":  {`var _ = read[entity.Policy](roleKey)`, "cannot use roleKey"},
		"a range for a key":                 {`var _ = read(roles)`, "type keys.Range[entity.Role] of roles does not match"},
		"a key for a range":                 {`var _ = list(roleKey)`, "type keys.Key[entity.Role] of roleKey does not match"},
		"converting a range to a key":       {`var _ = keys.Key[entity.Role](roles)`, "cannot convert roles"},
		"converting a range":                {`var _ = keys.Range[entity.Policy](roles)`, "cannot convert roles"},
		"listing roles as policies":         {`var _ []entity.Policy = list(roles)`, "cannot use list(roles)"},
		"forging a key":                     {`var _ = keys.Key[entity.Role]{raw: keys.Raw{}}`, "cannot refer to unexported field raw"},
		"forging a raw key":                 {`var _ = keys.Raw{pk: "SCOPE#a", sk: "ROLE#b"}`, "cannot refer to unexported field pk"},
		"forging a raw key without names":   {`var _ = keys.Raw{"SCOPE#a", "ROLE#b"}`, "implicit assignment to unexported field"},
		"forging a raw key from a struct":   {`var _ = keys.Raw(struct{ pk, sk string }{"SCOPE#a", "ROLE#b"})`, "cannot convert struct"},
		"a typed key from a raw one":        {`var _ = keys.Key[entity.Policy](roleKey.Raw())`, "cannot convert roleKey.Raw()"},
		"forging a range":                   {`var _ = keys.Range[entity.Role]{pk: "SCOPE#a"}`, "cannot refer to unexported field pk"},
		"a place in an index for a key":     {`var _ = read(keys.OrgByName("acme", org))`, "type keys.IndexKey of keys.OrgByName"},
		"forging a place in an index":       {`var _ = keys.IndexKey{"ORG_NAME", "acme"}`, "implicit assignment to unexported field"},
	} {
		errs := check(t, imports, c.code)
		if len(errs) == 0 {
			t.Errorf("%s compiles: %s", name, c.code)
			continue
		}
		if !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("%s is refused for another reason: %s\n%v, want %q", name, c.code, errs[0], c.want)
		}
	}
}

// check type-checks the preamble and a snippet, and returns what is wrong.
func check(t *testing.T, imports types.Importer, code string) (errs []error) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "snippet.go", preamble+code, 0)
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	conf := types.Config{Importer: imports, Error: func(err error) { errs = append(errs, err) }}
	if _, err := conf.Check("outside", files, []*ast.File{file}, nil); (err != nil) != (len(errs) > 0) {
		t.Fatalf("%s: %v without an error, or the other way round: %v", code, err, errs)
	}
	return errs
}

// compiled imports a package and all it needs as the compiler left them.
func compiled(t *testing.T, pkg string) types.Importer {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", pkg).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not among the packages that %s needs", path, pkg)
		}
		return os.Open(exports[path])
	})
}
