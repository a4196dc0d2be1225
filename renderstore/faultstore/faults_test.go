package faultstore_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/renderstore"
	"github.com/convoy-dev/convoy/renderstore/faultstore"
)

func wrap(t *testing.T) (*renderstore.Archive, *faultstore.Faults) {
	t.Helper()
	store, faults, err := faultstore.Wrap(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	return store.Archive("team", "app"), faults
}

func newRender(t *testing.T, name string) render.Render {
	t.Helper()
	r, err := render.New([]*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWithoutAFaultTheStoreWorks(t *testing.T) {
	archive, faults := wrap(t)
	r := newRender(t, "a")
	if err := archive.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got, err := archive.Get(t.Context(), r.Ref()); err != nil || got.Ref() != r.Ref() {
		t.Errorf("got %s, %v", got.Ref(), err)
	}
	if faults.Broken() != 0 {
		t.Errorf("%d operations were broken", faults.Broken())
	}
}

func TestFaultBreaksTheCallsThatItSays(t *testing.T) {
	mine := errors.New("mine")
	for name, c := range map[string]struct {
		fault faultstore.Fault
		want  []error // of one Put after the other
	}{
		"every call":             {faultstore.Fault{}, []error{faultstore.ErrInjected, faultstore.ErrInjected, faultstore.ErrInjected}},
		"the second call":        {faultstore.Fault{Op: renderstore.OpWrite, Skip: 1, Times: 1}, []error{nil, faultstore.ErrInjected, nil}},
		"two calls, mine":        {faultstore.Fault{Times: 2, Err: mine}, []error{mine, mine, nil}},
		"another operation":      {faultstore.Fault{Op: renderstore.OpDelete}, []error{nil, nil, nil}},
		"keys of renders":        {faultstore.Fault{Key: "/blobs/"}, []error{faultstore.ErrInjected, faultstore.ErrInjected, faultstore.ErrInjected}},
		"keys of the history":    {faultstore.Fault{Key: "/history/"}, []error{nil, nil, nil}},
		"garbled, but no object": {faultstore.Fault{Effect: faultstore.Garble, Times: 1}, []error{faultstore.ErrInjected, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			archive, faults := wrap(t)
			faults.Inject(c.fault)
			broken := 0
			for i, want := range c.want {
				if err := archive.Put(t.Context(), newRender(t, string(rune('a'+i)))); !errors.Is(err, want) {
					t.Errorf("call %d: got %v, want %v", i+1, err, want)
				}
				if want != nil {
					broken++
				}
			}
			if faults.Broken() != broken {
				t.Errorf("%d operations were broken, want %d", faults.Broken(), broken)
			}
			faults.Clear()
			if err := archive.Put(t.Context(), newRender(t, "z")); err != nil {
				t.Errorf("after Clear: %v", err)
			}
		})
	}
}

func TestEffects(t *testing.T) {
	archive, faults := wrap(t)
	r := newRender(t, "a")

	faults.Inject(faultstore.Fault{Times: 1, Effect: faultstore.LoseAnswer})
	if err := archive.Put(t.Context(), r); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("LoseAnswer: got %v", err)
	}
	if _, err := archive.Get(t.Context(), r.Ref()); err != nil {
		t.Errorf("LoseAnswer wrote nothing: %v", err)
	}

	faults.Inject(faultstore.Fault{Times: 1, Effect: faultstore.Half})
	if _, err := archive.Get(t.Context(), r.Ref()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Half of an object: got %v", err)
	}
	faults.Inject(faultstore.Fault{Times: 1, Effect: faultstore.Garble})
	if _, err := archive.Get(t.Context(), r.Ref()); !errors.Is(err, renderstore.ErrCorrupt) {
		t.Errorf("Garble: got %v", err)
	}
	if got, err := archive.Get(t.Context(), r.Ref()); err != nil || string(got.Bytes()) != string(r.Bytes()) {
		t.Errorf("the object itself was garbled: %v", err)
	}

	for i, name := range []string{"a", "b", "c", "d"} {
		record := renderstore.Record{Ref: newRender(t, name).Ref(), SyncedAt: time.Unix(int64(i), 0)}
		if _, err := archive.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	faults.Inject(faultstore.Fault{Times: 1, Effect: faultstore.Half})
	if n, err := archive.Count(t.Context()); n != 2 || err != nil {
		t.Errorf("Half of a listing: got %d, %v, want 2", n, err)
	}
}

func TestHangLastsUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		archive, faults := wrap(t)
		faults.Inject(faultstore.Fault{Effect: faultstore.Hang})
		start := time.Now()
		if err := archive.Put(t.Context(), newRender(t, "a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != renderstore.OperationTimeout {
			t.Errorf("took %v", took)
		}
	})
}

func TestOnCallSeesEachOperationWithItsKey(t *testing.T) {
	archive, faults := wrap(t)
	var calls []string
	faults.OnCall(func(op, key string) { calls = append(calls, op+" "+key) })
	r := newRender(t, "a")
	if err := archive.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	faults.Inject(faultstore.Fault{})
	_, _ = archive.Count(t.Context())
	if len(calls) != 2 || calls[0] != "write team/app/blobs/"+r.Ref().String() || calls[1] != "list team/app/history/" {
		t.Errorf("got %q", calls)
	}
}

func TestFaultsAreSwitchedWhileTheStoreIsUsed(t *testing.T) {
	archive, faults := wrap(t)
	renders := []render.Render{newRender(t, "a"), newRender(t, "b"), newRender(t, "c"), newRender(t, "d")}
	var group sync.WaitGroup
	for _, r := range renders {
		group.Go(func() {
			for range 200 {
				if err := archive.Put(t.Context(), r); err != nil && !errors.Is(err, faultstore.ErrInjected) {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		faults.Inject(faultstore.Fault{Times: 1})
		faults.Broken()
		faults.Clear()
	}
	group.Wait()
	for _, r := range renders {
		if _, err := archive.Get(t.Context(), r.Ref()); err != nil {
			t.Error(err)
		}
	}
}

func TestWrapOfAURLThatCannotBeOpenedIsAnError(t *testing.T) {
	if _, _, err := faultstore.Wrap(t.Context(), "ftp://x"); err == nil {
		t.Error("no error")
	}
}
