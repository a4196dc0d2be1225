package controllers

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
	"github.com/convoy-dev/convoy/source"
)

// rendersKept is for how many Releases the last render is kept in memory, in its encoded form.
const rendersKept = 500

// render makes objects of the files. Unchanged inputs are not rendered again, and neither is what failed.
func (r *ReleaseReconciler) render(ctx context.Context, p pass, artifact *source.Artifact) (render.Render, *Failure) {
	defer r.Metrics.step("render")()
	rendered, err := r.renders.of(p.release, artifact, func() (render.Render, error) {
		return render.Build(ctx, artifact.FS, pathOf(p.release.Spec.Source), p.release.Spec.Render)
	})
	if ctx.Err() != nil {
		r.renders.forget(p.release.UID)
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, Backoff, "Rendering did not end in time: %w", ctx.Err())
	}
	if err != nil {
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, OnChange, "%s does not render: %w", artifact.Summary(), err)
	}
	if rendered.Len() == 0 && !p.release.Spec.AllowEmpty {
		return render.Render{}, notRendered(v1alpha1.ReasonRenderFailed, OnChange,
			"%s renders no objects: check the path, or set spec.allowEmpty to deploy nothing", artifact.Summary())
	}
	return rendered, nil
}

// pathOf is the folder of the source that is rendered.
func pathOf(src v1alpha1.Source) string {
	if src.Git != nil {
		return src.Git.Path
	}
	return ""
}

// renders remembers the last render of each Release by its inputs.
type renders struct{ cache *lru.Cache }

type rendered struct {
	inputs string
	render render.Render
	err    error
}

func newRenders() *renders { return &renders{lru.New(rendersKept)} }

func (c *renders) of(release *v1alpha1.Release, artifact *source.Artifact, build func() (render.Render, error)) (render.Render, error) {
	inputs, err := json.Marshal([]any{artifact.Origin, artifact.Revision, pathOf(release.Spec.Source), release.Spec.Render})
	if err != nil {
		return render.Render{}, err
	}
	if last, ok := c.cache.Get(release.UID); ok && last.(rendered).inputs == string(inputs) {
		return last.(rendered).render, last.(rendered).err
	}
	next := rendered{inputs: string(inputs)}
	next.render, next.err = build()
	c.cache.Add(release.UID, next)
	return next.render, next.err
}

func (c *renders) forget(uid types.UID) { c.cache.Remove(uid) }
