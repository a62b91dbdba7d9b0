package e2e

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardenhq/warden/functions/admin"
	"github.com/wardenhq/warden/functions/audit"
	"github.com/wardenhq/warden/functions/check"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
)

var top = filepath.Join("..", "..", "..")

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fence is one fenced block.
var fence = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```\n")

// The README's commands work as they stand, and answer what it says.
func TestReadmeCommands(t *testing.T) {
	for _, tool := range []string{"base64", "bash", "curl", "sed", "tr"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
	text := readme(t)
	key := regexp.MustCompile(`WARDEN_OPERATOR_KEY=(\S+) make run`).FindStringSubmatch(text)
	if key == nil {
		t.Fatal("no command that starts the server with a key")
	}
	p := run(t, t.TempDir(), "WARDEN_OPERATOR_KEY="+key[1])
	const mark = "@@ end of block"
	script := "set -euo pipefail\n"
	var want []string // what each block prints, where the README says it
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		if block[1] == "json" {
			want[len(want)-1] = block[2]
			continue
		}
		script += strings.ReplaceAll(block[2], "http://127.0.0.1:8080", p.url) + "echo; echo '" + mark + "'\n"
		want = append(want, "")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.Split(string(out), mark)
	checked := 0
	for i, w := range want {
		if strings.Contains(got[i], `"code":`) {
			t.Errorf("block %d failed: %s", i, got[i])
		}
		if w == "" {
			continue
		}
		checked++
		if !reflect.DeepEqual(withoutRevisions(t, got[i]), withoutRevisions(t, w)) {
			t.Errorf("block %d answers %s, the README says %s", i, got[i], w)
		}
	}
	if checked < 3 {
		t.Errorf("only %d answers are shown", checked)
	}
	p.stop(os.Interrupt)
}

var revision = regexp.MustCompile(`"revision":\s*"[^"]+"`)

func withoutRevisions(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal(revision.ReplaceAll([]byte(text), []byte(`"revision":"any"`)), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// The README's table has every code with its status, and no other.
func TestReadmeCodes(t *testing.T) {
	listed := map[fault.Code]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([0-9]{3}) \\| .+ \\|$").FindAllStringSubmatch(readme(t), -1) {
		status, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatal(err)
		}
		listed[fault.Code(row[1])] = status
	}
	codes := declaredCodes(t)
	for _, c := range codes {
		if listed[c] != httpapi.Status(c) {
			t.Errorf("%s: the README says %d, it is %d", c, listed[c], httpapi.Status(c))
		}
		delete(listed, c)
	}
	if len(codes) == 0 || len(listed) > 0 {
		t.Errorf("codes that are none: %v", listed)
	}
}

// The README's table of the API is every route with the right it needs, and no other.
func TestReadmeRoutes(t *testing.T) {
	administration, err := admin.New(admin.Config{More: new(audit.Audit).Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, r := range slices.Concat(check.Routes(), administration.Routes()) {
		declared[fmt.Sprintf("| %s | `%s` | %s | %s |", r.Method, short.Replace(r.Pattern), r.Permission, r.Summary)] = true
	}
	for _, row := range regexp.MustCompile("(?m)^\\| [A-Z]+ \\| `.+` \\| .+ \\| .+ \\|$").FindAllString(readme(t), -1) {
		if !declared[row] {
			t.Errorf("no such route, or another one: %s", row)
		}
		delete(declared, row)
	}
	for row := range declared {
		t.Errorf("the README lacks %s", row)
	}
}

// short is how the README's table writes paths.
var short = strings.NewReplacer("/v1/scopes/{scope}/webhooks/{webhook}", "WEBHOOK", "/v1/scopes/{scope}", "SCOPE", "/v1/orgs/{org}", "ORG")

// declaredCodes are the constants of type Code in package fault.
func declaredCodes(t *testing.T) (codes []fault.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, "shared", "fault", "fault.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Code" {
			for _, value := range v.Values {
				if lit, ok := value.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					codes = append(codes, fault.Code(text))
				}
			}
		}
		return true
	})
	return codes
}

// The README's table of flags is what serve takes.
func TestReadmeFlags(t *testing.T) {
	cmd := command(t, "serve", "-h")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`(WARDEN_[A-Z_]+)`|–) \\|").FindAllStringSubmatch(readme(t), -1) {
		documented[row[1]] = row[2]
	}
	for _, f := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(string(out), -1) {
		variable, ok := documented[f[1]]
		if !ok || (variable != "" && !strings.Contains(string(out), "("+variable+")")) {
			t.Errorf("--%s is documented with %q: %s", f[1], documented[f[1]], out)
		}
		delete(documented, f[1])
	}
	if len(documented) > 0 {
		t.Errorf("no such flags: %v", documented)
	}
}
