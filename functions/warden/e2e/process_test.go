package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binaries is where the command is built for the tests of this package.
var binaries string

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "warden-e2e-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(binaries) // the system clears its temporary files too
	os.Exit(code)
}

// binary builds the command once.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "warden")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, "..").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "WARDEN_ADDR=", "WARDEN_DATA=", "WARDEN_OPERATOR_KEY=", "WARDEN_BACKEND=")
	return cmd
}

// process is the server in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  []string // of standard output, until it listens
	rest   *bufio.Reader
	stderr *bytes.Buffer
	url    string
}

func run(t *testing.T, data string, env ...string) *process {
	t.Helper()
	return launch(t, env, "--data", data)
}

// launch is run with any flags.
func launch(t *testing.T, env []string, flags ...string) *process {
	t.Helper()
	args := append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)
	p := &process{t: t, cmd: command(t, args...), stderr: new(bytes.Buffer)}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill() // the test failed before it ended the process
			_ = p.cmd.Wait()
		}
	})
	p.rest = bufio.NewReader(out)
	for p.url == "" {
		line, err := p.rest.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended before it listened: %v\n%s", err, p.stderr)
		}
		p.lines = append(p.lines, strings.TrimSuffix(line, "\n"))
		if url, ok := strings.CutPrefix(line, "warden: listening on "); ok {
			p.url = strings.TrimSuffix(url, "\n")
		}
	}
	return p
}

func (p *process) client(key string) *client { return &client{p.t, p.url, key} }

// stop sends a signal, and returns the exit code once the process has ended and
// said nothing more on standard output.
func (p *process) stop(signal os.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	if rest, err := io.ReadAll(p.rest); err != nil || len(rest) > 0 {
		p.t.Errorf("on standard output after it listened: %q (%v)", rest, err)
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func TestFirstStartMakesAnOperatorKey(t *testing.T) {
	data := filepath.Join(t.TempDir(), "made", "on demand")
	p := run(t, data)
	if len(p.lines) != 2 {
		t.Fatalf("standard output: %q", p.lines)
	}
	key, ok := strings.CutPrefix(p.lines[0], "warden: operator key: ")
	if !ok || !regexp.MustCompile(`^http://127\.0\.0\.1:[1-9][0-9]*$`).MatchString(p.url) {
		t.Fatalf("standard output: %q", p.lines)
	}
	p.client(key).provision("acme")
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
	if strings.Contains(p.stderr.String(), key) {
		t.Error("the key is logged")
	}

	p = run(t, data)
	if len(p.lines) != 1 {
		t.Errorf("a key was made again: %q", p.lines)
	}
	p.client(key).do("GET", "/v1/orgs/acme", nil).want(200)
	if code := p.stop(os.Interrupt); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
	for _, file := range files(t, data) {
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte(key)) {
			t.Errorf("%s holds the key (%v)", file, err)
		}
	}

	// A given key holds beside it, for this run.
	p = run(t, data, "WARDEN_OPERATOR_KEY="+operatorKey)
	p.client(operatorKey).do("GET", "/v1/orgs/acme", nil).want(200)
	p.client(key).do("GET", "/v1/orgs/acme", nil).want(200)
	p.stop(syscall.SIGTERM)
	p = run(t, data)
	p.client(operatorKey).do("GET", "/v1/orgs/acme", nil).want(401)
	p.stop(syscall.SIGTERM)
}

func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v: %v", paths, err)
	}
	return paths
}

func TestMemoryKeepsNothing(t *testing.T) {
	p := run(t, ":memory:")
	if len(p.lines) != 2 {
		t.Errorf("standard output: %q", p.lines)
	}
	p.client(strings.TrimPrefix(p.lines[0], "warden: operator key: ")).provision("acme")
	p.stop(syscall.SIGTERM)
	if _, err := os.Stat(filepath.Join(p.cmd.Dir, ":memory:")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left something: %v", err)
	}
}

func TestStopFinishesWhatIsInFlight(t *testing.T) {
	p := run(t, t.TempDir(), "WARDEN_OPERATOR_KEY="+operatorKey)
	body, send := io.Pipe()
	answered := make(chan reply, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() {
		r, err := p.client(operatorKey).stream(ctx, "/v1/orgs", body)
		if err != nil {
			r.body = []byte(err.Error())
		}
		answered <- r
	}()
	const text = `{"id":"acme","name":"Acme","owner":"ada"}`
	if _, err := io.WriteString(send, text[:10]); err != nil { // it is being sent: the connection is open
		t.Fatal(err)
	}
	p.client(operatorKey).do("GET", "/healthz", nil).want(200)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for { // until it takes no more
		if _, err := p.client(operatorKey).call(ctx, "GET", "/healthz", nil); err != nil {
			break
		}
	}
	if _, err := io.WriteString(send, text[10:]); err != nil {
		t.Fatal(err)
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-answered; r.status != 201 {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.stderr)
	}
}

func TestOneProcessADirectory(t *testing.T) {
	data := t.TempDir()
	p := run(t, data)
	second := command(t, "serve", "--addr", "127.0.0.1:0", "--data", data)
	out, err := second.CombinedOutput()
	if second.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "in use by another process") {
		t.Errorf("%v: %s", err, out)
	}
	taken := command(t, "serve", "--addr", strings.TrimPrefix(p.url, "http://"), "--data", t.TempDir())
	out, err = taken.CombinedOutput()
	if taken.ProcessState.ExitCode() != 1 || strings.Contains(string(out), "operator key") {
		t.Errorf("%v: %s", err, out)
	}
	p.stop(syscall.SIGTERM)
}
