package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"unsafe" //nolint:depguard // the kernel takes its structures by address

	"golang.org/x/sys/unix"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
)

// bbolt syncs by system calls of its own, so the tests of durability stand
// between the process and the kernel: a seccomp filter hands every sync to the
// test, which counts it, holds it, lets it through or makes it fail.

// syncs are the syncs of this process, from watchSyncs on.
type syncs struct{ held chan heldSync }

type heldSync struct {
	fd int
	id uint64
}

// seccompNotif and seccompResp are the kernel's (seccomp_unotify(2)).
type seccompNotif struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type seccompResp struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

func watchSyncs(t *testing.T) syncs {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 2, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_FSYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // both calls must be one thread's; the second takes in all others
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Skip("no seccomp here: ", err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		t.Skip("no seccomp notifications here: ", errno)
	}
	s := syncs{make(chan heldSync)}
	go func() {
		for {
			var n seccompNotif
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
			if errno == 0 {
				s.held <- heldSync{int(fd), n.id}
			}
		}
	}()
	return s
}

// through lets the kernel carry it out.
func (h heldSync) through(t *testing.T) {
	t.Helper()
	h.respond(t, seccompResp{id: h.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
}

// fail makes it an error of the disk.
func (h heldSync) fail(t *testing.T) {
	t.Helper()
	h.respond(t, seccompResp{id: h.id, error: -int32(unix.EIO)})
}

func (h heldSync) respond(t *testing.T, r seccompResp) {
	t.Helper()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(h.fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r))); errno != 0 {
		t.Fatal(errno)
	}
}

// next is the sync that a transaction's answer waits for.
func (s syncs) next(t *testing.T, result <-chan error) heldSync {
	t.Helper()
	select {
	case h := <-s.held:
		return h
	case err := <-result:
		t.Fatalf("answered without a sync: %v", err)
		return heldSync{}
	}
}

// during lets all syncs through until the work is done, and counts them.
func (s syncs) during(t *testing.T, work func()) int {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for n := 0; ; n++ {
		select {
		case h := <-s.held:
			h.through(t)
		case <-done:
			return n
		}
	}
}

// start begins to put an item.
func start(ctx context.Context, s *embedded.Store, sk string) <-chan error {
	result := make(chan error, 1)
	go func() { result <- s.Transact(ctx, tx(item(sk, 1))) }()
	return result
}

func unanswered(t *testing.T, when string, result <-chan error) {
	t.Helper()
	select {
	case err := <-result:
		t.Fatalf("answered %s: %v", when, err)
	default:
	}
}

func TestAcknowledgedAfterItsSyncs(t *testing.T) {
	inChild(t, func(t *testing.T) {
		s := open(t, embedded.Options{Dir: t.TempDir()})
		watch := watchSyncs(t)

		result := start(t.Context(), s, "A")
		pages := watch.next(t, result)
		unanswered(t, "before its pages were synced", result)
		want(t, s, "A", 0)
		pages.through(t)
		meta := watch.next(t, result)
		unanswered(t, "before its commit was synced", result)
		meta.through(t)
		if err := <-result; err != nil {
			t.Fatal(err)
		}

		ctx, end := context.WithCancel(t.Context())
		result = start(ctx, s, "B")
		pages = watch.next(t, result)
		end()
		if err := <-result; !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
			t.Errorf("context ended during the commit: %v, want ErrUnknownOutcome", err)
		}
		pages.through(t)
		watch.next(t, result).through(t)

		const alone = 10
		n := watch.during(t, func() {
			for v := range alone {
				if err := s.Transact(t.Context(), tx(item("C", uint64(v+1)))); err != nil {
					t.Error(err)
				}
			}
		})
		if n != 2*alone {
			t.Errorf("%d syncs for %d transactions in turn, want two for each", n, alone)
		}
	})
}

func TestManyShareTheirSyncs(t *testing.T) {
	inChild(t, func(t *testing.T) {
		s := open(t, embedded.Options{Dir: t.TempDir()})
		watch := watchSyncs(t)
		const writers, each = 16, 10
		n := watch.during(t, func() {
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					for i := range each {
						if err := s.Transact(t.Context(), tx(item(fmt.Sprint(w, "#", i), 1))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
		if n == 0 || n > writers*each/2 {
			t.Errorf("%d syncs for %d transactions of %d writers", n, writers*each, writers)
		}
	})
}

func TestFailedSyncIsNoSuccess(t *testing.T) {
	inChild(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, embedded.Options{Dir: dir})
		watch := watchSyncs(t)

		// The pages fail: nothing refers to them, so the store goes on.
		result := start(t.Context(), s, "A")
		watch.next(t, result).fail(t)
		if err := <-result; !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, unix.EIO) {
			t.Errorf("pages not synced: %v, want ErrUnknownOutcome", err)
		}
		if err := s.Health(); err != nil {
			t.Error(err)
		}
		watch.during(t, func() {
			want(t, s, "A", 0)
			put(t, s, item("B", 1))
		})

		// The commit itself fails: nobody knows, so nothing may build on it.
		result = start(t.Context(), s, "C")
		watch.next(t, result).through(t)
		watch.next(t, result).fail(t)
		if err := <-result; !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, unix.EIO) {
			t.Errorf("commit not synced: %v, want ErrUnknownOutcome", err)
		}
		watch.during(t, func() {
			var stopped *embedded.StoppedError
			if err := s.Transact(t.Context(), tx(item("D", 1))); !errors.As(err, &stopped) || !errors.Is(err, table.ErrThrottled) {
				t.Errorf("error %v, want a StoppedError", err)
			}
			s = reopen(t, s, embedded.Options{Dir: dir})
			want(t, s, "A", 0)
			want(t, s, "B", 1)
			want(t, s, "D", 0)
			put(t, s, item("E", 1))
		})
	})
}

func TestMemoryIsNotSynced(t *testing.T) {
	inChild(t, func(t *testing.T) {
		s := open(t, embedded.Options{Dir: embedded.Memory}) // bbolt syncs its first pages
		watch := watchSyncs(t)
		n := watch.during(t, func() {
			for i := range 20 {
				it := item(fmt.Sprint("A#", i), 1)
				it.Blob = make([]byte, 300<<10)
				put(t, s, it)
			}
		})
		if n != 0 {
			t.Errorf("%d syncs of a store that keeps nothing", n)
		}
	})
}
