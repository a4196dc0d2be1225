package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// fromStdin is the name of a file that stands for the standard input.
const fromStdin = "-"

// The kinds that are taken from files. Other objects in them are left alone.
var (
	releaseKind   = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "Release"}
	configMapKind = schema.GroupKind{Kind: string(v1alpha1.FromConfigMap)}
	secretKind    = schema.GroupKind{Kind: string(v1alpha1.FromSecret)}
)

// given are the objects of files, each with a namespace.
type given map[render.ObjectID]*unstructured.Unstructured

// read reads files of manifests. Errors name the file, the document and the line.
func (c *cli) read(ctx context.Context, names []string) (given, error) {
	objects, places := given{}, map[render.ObjectID]string{}
	for _, name := range names {
		list, err := c.readFile(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", placeOf(name), err)
		}
		for _, object := range list {
			if !slices.Contains([]schema.GroupKind{releaseKind, configMapKind, secretKind}, render.IDOf(object).GroupKind()) {
				continue
			}
			if err := c.place(object); err != nil {
				return nil, err
			}
			id := render.IDOf(object)
			if before, ok := places[id]; ok {
				return nil, fmt.Errorf("%s is in %s and in %s: keep one of them", id, before, placeOf(name))
			}
			objects[id], places[id] = object, placeOf(name)
		}
	}
	return objects, nil
}

// placeOf names a file in messages.
func placeOf(name string) string {
	if name == fromStdin {
		return "the standard input"
	}
	return name
}

// readFile reads a file as the renderer reads manifests, which is how kubectl reads them.
func (c *cli) readFile(ctx context.Context, name string) ([]*unstructured.Unstructured, error) {
	var content []byte
	var err error
	base := strings.TrimLeft(filepath.Base(name), ".")
	if name == fromStdin {
		base = "stdin"
		content, err = io.ReadAll(c.In)
	} else {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(base)) {
		base += ".yaml"
	}
	file := fstest.MapFS{base: {Data: content}}
	manifests, err := render.Build(ctx, file, ".", v1alpha1.RenderSpec{Type: v1alpha1.RenderPlain})
	if err != nil {
		return nil, err
	}
	return manifests.Objects()
}

// place gives an object without a namespace the one of the flags or the kubeconfig, as kubectl does. Another one than that of the flag is
// an error.
func (c *cli) place(object *unstructured.Unstructured) error {
	wanted := *c.config.Namespace
	switch has := object.GetNamespace(); {
	case has == "":
		namespace, err := c.namespace()
		if err != nil {
			return err
		}
		object.SetNamespace(namespace)
	case wanted != "" && wanted != has:
		return fmt.Errorf("%s is in another namespace than --namespace %s", render.IDOf(object), wanted)
	}
	return nil
}

// releases are the Releases of the files, in order.
func (g given) releases() []render.ObjectID {
	var ids []render.ObjectID
	for id := range g {
		if id.GroupKind() == releaseKind {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, render.ObjectID.Compare)
	return ids
}

// release finds the Release of a name; without one, the only one.
func (g given) release(name string) (*v1alpha1.Release, error) {
	all := g.releases()
	meant := slices.DeleteFunc(slices.Clone(all), func(id render.ObjectID) bool { return name != "" && id.Name != name })
	if len(meant) == 1 {
		return releaseOf(g[meant[0]])
	}
	var names []string
	for _, id := range all {
		names = append(names, id.Namespace+"/"+id.Name)
	}
	list := strings.Join(names, ", ")
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("the files hold no Release: want an object of apiVersion %s and kind %s", v1alpha1.GroupVersion, releaseKind.Kind)
	case len(meant) == 0:
		return nil, fmt.Errorf("the files hold no Release %s: they hold %s", name, list)
	case name == "":
		return nil, fmt.Errorf("the files hold %d Releases: name one of %s", len(all), list)
	default:
		return nil, fmt.Errorf("the files hold %d Releases %s: leave all but one out of %s", len(meant), name, list)
	}
}

// get reads an object of the files as a server would have it.
func (g given) get(id render.ObjectID, into client.Object) (found bool, err error) {
	object, found := g[id]
	if !found {
		return false, nil
	}
	if err := strictly(object, into); err != nil {
		return true, err
	}
	if secret, ok := into.(*corev1.Secret); ok {
		for key, value := range secret.StringData {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[key] = []byte(value)
		}
	}
	return true, nil
}

// givenFirst reads ConfigMaps and Secrets of files, and what the files do not have from elsewhere.
type givenFirst struct {
	client.Reader
	files given
}

// Get implements client.Reader.
func (r givenFirst) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	kind := schema.GroupKind{}
	switch into.(type) {
	case *corev1.ConfigMap:
		kind = configMapKind
	case *corev1.Secret:
		kind = secretKind
	}
	found, err := r.files.get(render.ObjectID{Group: kind.Group, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name}, into)
	if found || err != nil {
		return err
	}
	return r.Reader.Get(ctx, key, into, options...)
}

// nowhere has no objects.
type nowhere struct{}

// Get implements client.Reader.
func (nowhere) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List implements client.Reader.
func (nowhere) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("there is no cluster to list objects of")
}
