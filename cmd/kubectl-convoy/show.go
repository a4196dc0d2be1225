package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// showOptions are the flags of show.
type showOptions struct {
	*cli
	output *output
	render renderFlag
}

func newShow(c *cli) *cobra.Command {
	o := &showOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print the objects of a render, as the render store has them",
		Long: `Print the objects of a render, as the render store has them, in YAML. Values of Secrets are masked, so what is printed is to be read and not
to be applied.

-o json prints them as a List, -o name their names.`,
		Example: `  kubectl convoy release show podinfo
  kubectl convoy release show podinfo --render 3a5f0c9be1d2`,
		Args:              oneName,
		ValidArgsFunction: c.completeRelease,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.render.addTo(cmd, c, "The render: sha256:…, or at least the first 8 hex digits of one that the Release knows. "+
		"Default: the one that was last applied in full.")
	o.output = newOutput(cmd)
	return cmd
}

func (o *showOptions) run(cmd *cobra.Command, name string) error {
	if err := errors.Join(o.render.check(cmd), o.output.check(cmd)); err != nil {
		return err
	}
	o.output.format = cmp.Or(o.output.format, yamlFormat)
	k, err := o.connect()
	if err != nil {
		return err
	}
	done := o.busy("Reading a render of " + name)
	defer done()
	ref, err := o.choose(cmd.Context(), k, name)
	if err != nil {
		return err
	}
	object, _, err := observe[subresources.ReleaseRender](cmd.Context(), k, renderSubresource, name, map[string]string{"render": ref})
	done()
	if err != nil {
		return err
	}
	return o.write(object, fmt.Sprintf("render %s of Release %s in namespace %s", ref, name, k.namespace))
}

// choose finds the render to show.
func (o *showOptions) choose(ctx context.Context, k *cluster, name string) (string, error) {
	if o.render.ref != "" {
		return k.meant(ctx, name, o.render.ref)
	}
	_, release, err := k.release(ctx, name)
	if err != nil {
		return "", err
	}
	if applied := lastApplied(release.Status); applied != "" {
		return applied, nil
	}
	return "", fmt.Errorf("show Release %s in namespace %s: no render was applied in full yet. See what would be applied: %s",
		name, k.namespace, diffCommand(name, "", o.target(k)))
}

// write prints the objects, which the server has masked.
func (o *showOptions) write(render *unstructured.Unstructured, title string) error {
	list, err := objectsOf(render)
	if err != nil {
		return fmt.Errorf("read %s: %w", title, err)
	}
	caution := ""
	if hasSecrets(list) {
		caution = "Values of Secrets are masked: do not apply this."
	}
	return o.printObjects(o.output, list, []string{title}, caution)
}

// objectsOf are the objects of a render as a List.
func objectsOf(render *unstructured.Unstructured) (*unstructured.UnstructuredList, error) {
	objects, _ := render.Object["objects"].([]any)
	items := make([]unstructured.Unstructured, 0, len(objects))
	for i, object := range objects {
		content, ok := object.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("objects[%d] is no object", i)
		}
		items = append(items, unstructured.Unstructured{Object: content})
	}
	return listOf(items), nil
}
