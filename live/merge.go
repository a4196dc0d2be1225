package live

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// merger merges objects of one kind as the server does.
type merger struct {
	normal NormalKind // nil if the kind is known by its schema only

	// schemaOf is the schema of a version; nil if there is none.
	schemaOf func(context.Context, schema.GroupVersion) (managedfields.TypeConverter, error)

	// webhook says that a webhook converts the versions of the kind, which a prediction does not ask.
	webhook bool
}

// refusal says that the server would refuse an apply.
type refusal struct{ cause error }

func (r refusal) Error() string { return r.cause.Error() }
func (r refusal) Unwrap() error { return r.cause }

// apply predicts what an apply of the desired object by convoy, by force, makes of the live one, which is nil if it is not there. The
// result is normal, shares nothing with them, and has the managedFields of the merge. The error is a refusal if the server would refuse.
func (m merger) apply(ctx context.Context, live, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := desired.GroupVersionKind()
	schemas, err := m.schemasFor(ctx, gvk.GroupVersion(), live)
	if err != nil {
		return nil, err
	}
	conversion := conversion{m.normal, schemas}
	if live == nil {
		empty, err := conversion.New(gvk)
		if err != nil {
			return nil, fmt.Errorf("begin an object: %w", err)
		}
		live, _ = empty.(*unstructured.Unstructured)
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(schemas, conversion, conversion, conversion, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	merged, err := manager.Apply(live, desired, v1alpha1.FieldManager, true)
	if err != nil {
		return nil, refusal{err}
	}
	next, ok := merged.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merge made a %T", merged)
	}
	if next, err = m.normalize(next); err != nil {
		return nil, refusal{err}
	}
	return next, nil
}

// normalize returns a copy that is normal.
func (m merger) normalize(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if m.normal == nil {
		return obj.DeepCopy(), nil
	}
	return m.normal.Normalize(obj)
}

// schemasFor are the schemas of a version, and of those in which the managers of the live object wrote.
func (m merger) schemasFor(ctx context.Context, version schema.GroupVersion, live *unstructured.Unstructured) (schemasByVersion, error) {
	converters := schemasByVersion{}
	converter, err := m.schemaOf(ctx, version)
	if err != nil {
		return nil, err
	}
	if converter == nil {
		return nil, fmt.Errorf("the server publishes no schema of %s", version)
	}
	converters[version] = converter
	if live == nil {
		return converters, nil
	}
	for _, e := range live.GetManagedFields() {
		version, err := schema.ParseGroupVersion(e.APIVersion)
		if err != nil || converters[version] != nil {
			continue
		}
		if converter, err = m.schemaOf(ctx, version); err != nil {
			return nil, err
		}
		if converter != nil {
			converters[version] = converter
		}
	}
	return converters, nil
}

// schemasByVersion convert objects of several versions to the values that are merged, and back.
type schemasByVersion map[schema.GroupVersion]managedfields.TypeConverter

func (s schemasByVersion) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	converter := s[gvk.GroupVersion()]
	if converter == nil { // what a manager did in a version that the server does not have any more is forgotten by the server too
		return nil, runtime.NewNotRegisteredErrForKind("schema", gvk)
	}
	return converter.ObjectToTyped(obj, opts...)
}

func (s schemasByVersion) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return managedfields.NewDeducedTypeConverter().TypedToObject(value)
}

// conversion converts, begins and defaults objects for the merge.
type conversion struct {
	normal  NormalKind
	schemas schemasByVersion
}

// ConvertToVersion may return the object itself.
func (c conversion) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	obj, ok := in.(*unstructured.Unstructured)
	version, isVersion := target.(schema.GroupVersion)
	if !ok || !isVersion {
		return nil, fmt.Errorf("convert a %T to %v", in, target)
	}
	if obj.GroupVersionKind().GroupVersion() == version {
		return obj, nil
	}
	if c.normal != nil {
		converted, err := c.normal.Convert(obj, version)
		// A version that the server has, and this program does not know, is better taken as it is than forgotten.
		if !runtime.IsNotRegisteredError(err) || c.schemas[version] == nil {
			return converted, err
		}
	}
	converted := obj.DeepCopy()
	converted.SetAPIVersion(version.String())
	return converted, nil
}

func (c conversion) Convert(in, _, _ any) error { return fmt.Errorf("convert a %T in place", in) }

func (c conversion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (c conversion) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if c.normal != nil {
		return c.normal.New(gvk.GroupVersion())
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

// Default leaves it to Normalize.
func (c conversion) Default(runtime.Object) {}
