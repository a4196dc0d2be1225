package builtin

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/convoy-dev/convoy/live"
)

// Custom builds the schemas from the definition, as the server itself does.
func (Normalizer) Custom(crd *unstructured.Unstructured) (live.NormalKind, managedfields.TypeConverter, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, definition); err != nil {
		return nil, nil, fmt.Errorf("decode it: %w", err)
	}
	scheme.Default(definition)
	k := customKind{
		kind:    schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind},
		schemas: map[string]*structuralschema.Structural{},
	}
	var specs []*spec3.OpenAPI
	for _, version := range definition.Spec.Versions {
		structural, err := structuralOf(version)
		if err != nil {
			return nil, nil, fmt.Errorf("version %s: %w", version.Name, err)
		}
		k.schemas[version.Name] = structural
		if version.Storage {
			k.storage = version.Name
		}
		spec, err := builder.BuildOpenAPIV3(definition, version.Name, builder.Options{})
		if err != nil {
			return nil, nil, fmt.Errorf("version %s: %w", version.Name, err)
		}
		specs = append(specs, spec)
	}
	all, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return nil, nil, err
	}
	converter, err := managedfields.NewTypeConverter(all.Components.Schemas, definition.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, nil, err
	}
	return k, converter, nil
}

// structuralOf is the schema of a version; nil without one.
func structuralOf(version apiextensionsv1.CustomResourceDefinitionVersion) (*structuralschema.Structural, error) {
	if version.Schema == nil {
		return nil, nil
	}
	internal := &apiextensions.CustomResourceValidation{}
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	structural = structural.DeepCopy() // it shares defaults with the definition
	return structural, defaulting.PruneDefaults(structural)
}

// customKind is a kind of custom resources. Versions are converted as the server does without a webhook.
type customKind struct {
	kind    schema.GroupKind
	schemas map[string]*structuralschema.Structural // by version
	storage string                                  // the version in which the server stores objects
}

func (k customKind) New(version schema.GroupVersion) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(version.WithKind(k.kind.Kind))
	return obj, nil
}

// Normalize prunes and defaults by the schema of the version, and by that of the stored one.
func (k customKind) Normalize(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	normal := obj.DeepCopy()
	version := obj.GroupVersionKind().Version
	versions := []string{version}
	if k.storage != version {
		versions = append(versions, k.storage, version)
	}
	for _, v := range versions {
		if err := k.prune(v, normal); err != nil {
			return nil, err
		}
		defaulting.Default(normal.Object, k.schemas[v])
	}
	return normal, nil
}

// prune drops what a version does not have. Metadata is no matter of the schema.
func (k customKind) prune(version string, obj *unstructured.Unstructured) error {
	structural := k.schemas[version]
	metadata, found, err := objectmeta.GetObjectMeta(obj.Object, false)
	if err != nil {
		return err
	}
	apiVersion, kind := obj.Object["apiVersion"], obj.Object["kind"]
	pruning.Prune(obj.Object, structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj.Object, structural)
	if err := objectmeta.Coerce(nil, obj.Object, structural, false, false); err != nil {
		return err
	}
	obj.Object["apiVersion"], obj.Object["kind"] = apiVersion, kind
	if !found {
		return nil
	}
	return objectmeta.SetObjectMeta(obj.Object, metadata)
}

func (k customKind) Convert(obj *unstructured.Unstructured, version schema.GroupVersion) (*unstructured.Unstructured, error) {
	if _, ok := k.schemas[version.Version]; !ok || version.Group != k.kind.Group {
		return nil, fmt.Errorf("its CustomResourceDefinition has no version %s any more, which a manager in its managedFields wrote", version)
	}
	converted := obj.DeepCopy()
	converted.SetAPIVersion(version.String())
	return converted, k.prune(version.Version, converted)
}
