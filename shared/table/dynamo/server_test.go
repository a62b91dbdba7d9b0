package dynamo_test

import (
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/table/tabletest"
)

// TestOverEndpoint runs the suite over the server that the environment names.
func TestOverEndpoint(t *testing.T) {
	endpoint := os.Getenv("WARDEN_TEST_DYNAMODB_ENDPOINT")
	if endpoint == "" {
		t.Skip("WARDEN_TEST_DYNAMODB_ENDPOINT is not set")
	}
	tabletest.Run(t, tabletest.Harness{New: backend{endpoint: endpoint, http: plain(), streams: true}.open})
}

// TestOverMoto runs the suite over moto_server where it is installed.
func TestOverMoto(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: moto_server is slow")
	}
	path, err := exec.LookPath("moto_server")
	if err != nil {
		t.Skip("moto_server is not in PATH")
	}
	fewerSequences(t)
	tabletest.Run(t, tabletest.Harness{
		New: backend{endpoint: startMoto(t, path), http: plain(), streams: true}.open,
		CannotProve: map[string]string{
			"SnapshotGet":       "TransactGetItems takes no lock, so transactions get between",
			"TransactAbsent":    "transactions take no lock: two that create one item at once can both win",
			"TransactVersionIs": "transactions take no lock: two on one version can both win",
			"TransactToken":     "ClientRequestToken is ignored",
			"ItemSize":          "its limit is 405,000 bytes, DynamoDB's 409,600",
			"Units":             "no ConsumedCapacity of transactions, and items of 400 KB are refused",
		},
	})
}

// fewerSequences makes the random tests short: the server copies every table
// for each transaction.
func fewerSequences(t *testing.T) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	set := func(n string) {
		if err := checks.Value.Set(n); err != nil {
			t.Error(err)
		}
	}
	set("10")
	t.Cleanup(func() { set(before) })
}

// startMoto runs the server on a free port until the test ends.
func startMoto(t *testing.T, path string) (endpoint string) {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(context.WithoutCancel(t.Context()), path, "-H", "127.0.0.1", "-p", port)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.Logf("moto_server: %v", server.Wait()) // killed, in the end
	}()
	t.Cleanup(func() {
		if err := server.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	awaitServer(t, "http://"+address, ended)
	return "http://" + address
}

// awaitServer asks until the server answers.
func awaitServer(t *testing.T, endpoint string, ended <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint+"/moto-api/data.json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := plain().Do(req); err == nil {
			if err := answer.Body.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
		select {
		case <-ended:
			t.Fatal("moto_server ended")
		case <-deadline:
			t.Fatal("moto_server does not answer")
		case <-tick.C:
		}
	}
}
