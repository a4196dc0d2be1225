package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/source"
)

// render makes objects of the files. Unchanged inputs are not rendered again, and neither is what failed.
func (r *ReleaseReconciler) render(ctx context.Context, p pass, artifact *source.Artifact) (render.Render, *Failure) {
	defer r.Metrics.step("render")()
	in, err := r.Inputs.Read(ctx, p.release, artifact.FS)
	if err != nil {
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, Backoff, "What the spec names cannot be read: %w", err)
	}
	rendered, err := r.build(ctx, p.release, artifact, in)
	if ctx.Err() != nil {
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, Backoff, "Rendering did not end in time: %w", ctx.Err())
	}
	if fromDisk(err) {
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, Backoff, "The files of %s cannot be read: %w", artifact.Summary(), err)
	}
	if errors.Is(err, render.ErrUnfinished) {
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, Interval, "%s does not render: %w", artifact.Summary(), err)
	}
	if err != nil {
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, OnChange, "%s does not render: %w", artifact.Summary(), err)
	}
	return rendered, nil
}

// build renders the files, unless the last render of the Release had the same inputs. What did not end is tried again after an interval, and
// not in every pass: it may hold a worker for half a minute.
func (r *ReleaseReconciler) build(
	ctx context.Context, release *v1alpha1.Release, artifact *source.Artifact, in render.Inputs,
) (render.Render, error) {
	spec := release.Spec
	key, err := json.Marshal([]any{artifact.Origin, artifact.Revision, spec.Source.Path(), spec.Render, spec.Mutations, spec.AllowEmpty, in})
	if err != nil {
		return render.Render{}, err
	}
	sum := sha256.Sum256(key) // they may be large, and hold secrets
	now := r.Clock.Now()
	if last, ok := r.built.get(release.UID, string(sum[:])); ok && last.counts(now) {
		return last.render, last.err
	}
	var next built
	next.render, next.err = render.FromSpec(ctx, artifact.FS, spec, in)
	if errors.Is(next.err, render.ErrUnfinished) {
		next.until = now.Add(spec.Interval.Duration)
	}
	if ctx.Err() == nil && !fromDisk(next.err) { // else the error says nothing of the files
		r.built.put(release.UID, string(sum[:]), next)
	}
	return next.render, next.err
}

// ofFiles are the errors of the operating system that files themselves are at fault for.
var ofFiles = []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL}

// fromDisk says that an error is about where the files are kept, not about the files.
func fromDisk(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && !slices.Contains(ofFiles, errno)
}

// built is what became of files.
type built struct {
	render render.Render // in its encoded form
	err    error
	until  time.Time // when it is to be tried again; zero: when the inputs change
}

// counts says whether the same inputs would give the same now.
func (b built) counts(now time.Time) bool { return b.until.IsZero() || now.Before(b.until) }
