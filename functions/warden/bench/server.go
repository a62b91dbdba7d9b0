package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wardenhq/warden/functions/warden/bench/process"
)

// server is a server in a process of its own, on a port of the loopback
// address that it chose.
type server struct {
	addr    string
	started time.Time
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	stderr  *os.File
}

// stopWithin bounds how long a server may take to stop.
const stopWithin = 20 * time.Second

// start starts a program and waits until it prints where it listens. What it
// logs goes to a file in the directory logs.
func start(ctx context.Context, logs, program string, args ...string) (_ *server, err error) {
	s := &server{}
	if s.stderr, err = os.CreateTemp(logs, filepath.Base(program)+"-*.log"); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, program, args...) //nolint:gosec // the programs that this command was told to measure
	s.cmd.Stderr = s.stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopWithin
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, s.stderr.Close())
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, s.stderr.Close())
	}
	s.stdout = bufio.NewReader(out)
	s.started = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, s.stderr.Close())
	}
	if s.addr, err = s.listening(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), errors.Join(err, s.stop(), s.complaint()))
	}
	return s, nil
}

// listening reads the server's output until it says where it listens.
func (s *server) listening() (addr string, err error) {
	for {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("it never said where it listens: %w", err)
		}
		if _, addr, ok := strings.Cut(strings.TrimSpace(line), "listening on http://"); ok {
			return addr, nil
		}
	}
}

// complaint is the end of what the server logged, as an error.
func (s *server) complaint() error {
	const last = 2000
	text, err := os.ReadFile(s.stderr.Name())
	if err != nil {
		return err
	}
	return fmt.Errorf("its log ends: %s", text[max(0, len(text)-last):])
}

// usage is what the server has used since it was started.
func (s *server) usage() (process.Usage, error) { return process.Of(s.cmd.Process.Pid) }

// The server is idle when it uses less than that share of a processor over
// that time.
const (
	idleShare = 0.02
	idleOver  = time.Second
)

// settle waits until the server is idle, having done all that follows from what
// it was asked, and is how long that took it and what processor time.
func (s *server) settle(ctx context.Context) (waited, cpu time.Duration, err error) {
	began := time.Now()
	first, err := s.usage()
	if err != nil {
		return 0, 0, err
	}
	tick := time.NewTicker(idleOver)
	defer tick.Stop()
	for last := first; ; {
		select {
		case <-ctx.Done():
			return 0, 0, fmt.Errorf("the server does not come to rest: %w", ctx.Err())
		case <-tick.C:
		}
		now, err := s.usage()
		if err != nil {
			return 0, 0, err
		}
		if now.CPU-last.CPU < time.Duration(idleShare*float64(idleOver)) {
			return time.Since(began) - idleOver, last.CPU - first.CPU, nil
		}
		last = now
	}
}

// heap is the memory of a probed server, see runProbed.
func (s *server) heap() (h heap, err error) {
	if _, err := io.WriteString(s.stdin, "heap\n"); err != nil {
		return h, err
	}
	line, err := s.stdout.ReadBytes('\n')
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(line, &h)
}

// stop ends the server as an operator does, and waits for it.
func (s *server) stop() error {
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	kill := time.AfterFunc(stopWithin, func() { _ = s.cmd.Process.Kill() }) // it may just have ended
	defer kill.Stop()
	return errors.Join(err, s.cmd.Wait(), s.stderr.Close())
}

// fleet is servers that are stopped together.
type fleet []*server

func (f *fleet) start(ctx context.Context, logs, program string, args ...string) (*server, error) {
	s, err := start(ctx, logs, program, args...)
	if err == nil {
		*f = append(*f, s)
	}
	return s, err
}

func (f *fleet) stop() (err error) {
	for _, s := range *f {
		err = errors.Join(err, s.stop())
	}
	return err
}
