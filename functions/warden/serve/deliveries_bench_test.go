package serve

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/webhook"
)

// receiverVariable makes this test binary a receiver of webhooks instead: a
// process of its own, as the ones out there are.
const receiverVariable = "WARDEN_BENCH_RECEIVER"

func TestMain(m *testing.M) {
	if os.Getenv(receiverVariable) != "" {
		receive()
		return
	}
	os.Exit(m.Run())
}

// receive answers every webhook with 200 and counts them; it prints where it
// listens and ends with its standard input.
func receive() {
	var count atomic.Int64
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = fmt.Fprint(w, count.Load())
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			count.Add(1)
		}))
	}()
	fmt.Println(listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startReceiver starts one and returns its address.
func startReceiver(b *testing.B) (addr string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), receiverVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

func received(b *testing.B, addr string) int {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+addr, nil)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkDeliveries changes a role as fast as deliveries come through to 10
// endpoints at a receiver in a process of its own, attempts recorded, for 20
// seconds a run: deliveries a second (goal: 1,000), and the heap in use.
func BenchmarkDeliveries(b *testing.B) {
	const endpoints, length = 10, 20 * time.Second
	addr := startReceiver(b)
	target, err := egress.ParseTarget(b.Context(), net.DefaultResolver, addr)
	if err != nil {
		b.Fatal(err)
	}
	t := newTenant(b, egress.Guard{}.Allow(target))
	for i := range endpoints {
		id := rbac.Must(rbac.ParseWebhookID(fmt.Sprintf("wh_%d", i)))
		secret, err := webhook.NewSecret(rand.Reader)
		if err != nil {
			b.Fatal(err)
		}
		sealed, err := t.secrets.vault.SealSecret(b.Context(), t.scope.ID, id, secret)
		if err != nil {
			b.Fatal(err)
		}
		_, err = t.writer.CreateWebhook(b.Context(), t.request(), t.scope, entity.Webhook{
			ID: id, Org: t.scope.Org, Scope: t.scope.ID, URL: fmt.Sprintf("http://%s/%d", addr, i), Events: webhook.Filter{"role.*"}, Secret: sealed,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	var sent atomic.Int64
	for b.Loop() {
		ctx, stop := context.WithTimeout(b.Context(), length)
		from, began := received(b, addr), time.Now()
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if int(sent.Load())*endpoints > received(b, addr)+2000 { // no more than the receiver keeps up with
						<-time.After(20 * time.Millisecond)
						continue
					}
					if err := t.putRole(fmt.Sprintf("role-%d", w), fmt.Sprint(i, began)); err != nil {
						b.Error(err)
						return
					}
					sent.Add(1)
				}
			})
		}
		<-ctx.Done()
		n, took := received(b, addr)-from, time.Since(began)
		stop()
		wg.Wait()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(n)/took.Seconds(), "deliveries/s")
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heap-MB")
	}
}
